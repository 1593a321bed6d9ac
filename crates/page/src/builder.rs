//! Collects a run's rows into its part of the document.

use explain::blame::{Accounting, Cause, Explanation};
use explain::series::SeriesSet;
use explain::summary::Summary;
use model::operation::{IntervalRecord, OperationRecord};
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, RequestRecord};
use serde_json::{Value, json};

use crate::blamed::{blamed, blamed_of_command};
use crate::counters::SampledCounters;
use crate::latencies::LoadCharts;
use crate::limits::Limits;
use crate::marks::{StuckOperations, marks};
use crate::requests::RequestCharts;
use crate::sleeps::sleep_stalls;
use crate::stalls::{StallCharts, stalls, untraced};

/// Collects the rows of one run.
#[derive(Debug)]
pub struct RunPage {
    description: RunDescription,
    limits: Limits,
    latencies: LoadCharts,
    requests: RequestCharts,
    stuck: StuckOperations,
}

impl RunPage {
    /// An empty page of a run.
    pub fn new(description: &RunDescription, limits: Limits) -> RunPage {
        let started_ns = description.started.monotonic_ns;
        RunPage {
            description: description.clone(),
            limits,
            latencies: LoadCharts::new(started_ns),
            requests: RequestCharts::new(started_ns, limits.requests),
            stuck: StuckOperations::default(),
        }
    }

    /// Adds an interval's operations.
    pub fn interval(&mut self, record: &IntervalRecord) {
        self.latencies.interval(record);
    }

    /// Adds an operation that was recorded individually.
    pub fn operation(&mut self, record: &OperationRecord) {
        self.stuck.add(record);
    }

    /// Adds a block request.
    pub fn request(&mut self, record: &RequestRecord) {
        self.requests.add(record);
    }

    /// Adds an interval's block requests.
    pub fn request_interval(&mut self, record: &RequestIntervalRecord) {
        self.requests.interval(record);
    }

    /// The run's part of the document. `explained` is `None` without a kernel trace.
    pub fn finish(
        self,
        name: &str,
        summary: &Summary,
        series: &SeriesSet,
        explained: Option<(&Explanation, &Accounting)>,
    ) -> Value {
        let RunPage { description: ref run, limits, ref latencies, .. } = self;
        let samples = SampledCounters::new(series, run);
        let span_ns = samples.axis.at_ns.last().copied().unwrap_or(0).max(latencies.end_ns());
        let accounting = explained.map(|(_, accounting)| accounting);
        let sleeps = explained.map_or_else(Vec::new, |(found, _)| sleep_stalls(&found.sleeps, found.command.is_some()));
        let StallCharts { list, axis, charts } = accounting.map_or_else(untraced, |accounting| {
            let (started_ns, interval_ns) = (run.started.monotonic_ns, run.sample_interval_ns);
            stalls((accounting, &sleeps), started_ns, span_ns, interval_ns, limits)
        });
        let charts = self.charts(&samples, charts, span_ns);
        json!({
            "name": name,
            "title": title(run),
            "command": run.command,
            "host": summary.host,
            "badge": run.origin().map(|origin| report::simulation::badge(&origin)),
            "configuration": run.configuration.as_ref().map(|configuration| &configuration.name),
            "started_wall_ms": run.started.wall_ns / 1_000_000,
            "limits": run.limits,
            "span_ms": span_ns / 1_000_000,
            "interval_ms": run.sample_interval_ns / 1_000_000,
            "summary": report::json::summary(name, summary),
            "explanation": explained.map(|(explanation, _)| in_short(name, explanation)),
            "blamed": accounting.map(blamed),
            "blamed_of_command": explained.and_then(of_command),
            "causes": Cause::ALL.map(|cause| [cause.name(), cause.words()]),
            "marks": marks(summary, &self.stuck),
            "axes": { "samples": samples.axis.to_value(), "intervals": latencies.axis().to_value(), "stalls": axis },
            "charts": charts,
            "stalls": list,
            "requests": self.requests.into_value(&self.description, accounting),
        })
    }

    /// All charts, in the order of the page.
    fn charts(&self, samples: &SampledCounters<'_>, causes: Vec<Value>, span_ns: u64) -> Vec<Value> {
        let run = &self.description;
        let mut charts = self.latencies.charts(run.report_interval_ns.unwrap_or(run.sample_interval_ns), span_ns);
        charts.extend(causes);
        let requests = self.requests.charts(run, span_ns);
        if run.simulated.is_some() {
            charts.extend(samples.of_model());
            // A model without a disk has no requests, and the reader can do nothing about it.
            charts.extend(requests.into_iter().filter(|chart| chart["kind"] != "absent"));
        } else {
            charts.extend(samples.charts());
            charts.extend(requests);
            charts.extend(samples.caches());
        }
        charts
    }
}

/// What people call the run: its label, else the recorded command line, else its workload.
fn title(run: &RunDescription) -> String {
    let label = run.configuration.as_ref().map(|configuration| configuration.name.clone());
    let recorded = || {
        let after = run.command.iter().position(|word| word == "--")?;
        Some(run.command[after + 1..].join(" ")).filter(|words| !words.is_empty())
    };
    label.or_else(recorded).unwrap_or_else(|| run.workload.clone())
}

/// Root blockers of the recorded command's operations, where these are a part of all.
fn of_command((found, accounting): (&Explanation, &Accounting)) -> Option<Value> {
    let is_part = found.command.is_some() && found.neighbours.is_some();
    is_part.then(|| blamed_of_command(accounting))
}

/// The explanation without the stalls, which are in the list.
fn in_short(name: &str, explanation: &Explanation) -> Value {
    let mut value = report::json::explanation(name, &Explanation { stalls: Vec::new(), ..explanation.clone() });
    if let Some(document) = value.as_object_mut() {
        document.remove("stalls");
        document.remove("stalls_listed");
    }
    value
}
