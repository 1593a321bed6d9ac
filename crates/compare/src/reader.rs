//! Findings on one run → the figures that are compared.

use std::collections::BTreeMap;

use model::event::Ending;
use model::operation::{IntervalRecord, ROUND};
use model::run::RunDescription;

use super::counters::per_work;
use super::facts::facts;
use super::figures::{Amount, Better, Figure, RunFigures, StallFigure};
use explain::blame::{Explanation, Unfinished, Untraced};
use explain::series::SeriesSet;
use explain::summary::{OperationSummary, PhaseSummary, Summary};
use statistics::steadiness;

/// Percentiles that are compared.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.50), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Rates of the summary: work, and events that delay work; the most important first.
const RATES: [(&str, &str, Better); 6] = [
    ("work", "/s", Better::Higher),
    ("files", "/s", Better::Higher),
    ("mails", "/s", Better::Higher),
    ("bytes", "bytes/s", Better::Higher),
    ("alloc_stalls", "/s", Better::Lower),
    ("memcg_reclaims", "/s", Better::Lower),
];

/// Collects a run's rows as they are read.
#[derive(Debug, Default)]
pub struct RunReader {
    /// Rounds, other operations and end of each interval, by start and phase.
    intervals: BTreeMap<(u64, String), (u64, u64, u64)>,
}

impl RunReader {
    /// Adds a row of the table `intervals`.
    pub fn interval(&mut self, record: &IntervalRecord) {
        let (rounds, operations, end_ns) =
            self.intervals.entry((record.start_ns, record.phase.clone())).or_insert((0, 0, record.end_ns));
        *end_ns = record.end_ns;
        if record.class == ROUND { *rounds += record.count } else { *operations += record.count }
    }

    /// Of a run whose rows are several nodes': the operations of its phases over time.
    pub(super) fn of_phases(summary: &Summary) -> RunReader {
        let mut reader = RunReader::default();
        for phase in &summary.phases {
            for progress in &phase.progress {
                let at_ns = |ns: u64| summary.started_ns.saturating_add(ns);
                let row = (0, progress.operations, at_ns(progress.end_ns));
                reader.intervals.insert((at_ns(progress.start_ns), phase.name.clone()), row);
            }
        }
        reader
    }

    /// The figures of the run, from its other findings.
    pub fn figures(
        &self,
        name: &str,
        run: &RunDescription,
        summary: &Summary,
        series: &SeriesSet,
        explanation: Option<&Explanation>,
    ) -> RunFigures {
        let seconds = summary.duration_ns as f64 / 1e9;
        let mut metrics = rates(summary, seconds);
        metrics.extend(of_model(summary).into_iter().chain(printed(summary)));
        metrics.extend(elapsed(run, summary, seconds));
        metrics.extend(phases(summary));
        let cautions = cautions(summary, explanation);
        for operation in &summary.operations {
            metrics.extend(latencies(operation, seconds));
        }
        for operation in &summary.operations {
            let slow = summary.slow.iter().find(|slow| slow.class == operation.class).map_or(0, |slow| slow.count);
            let count = Amount::Count { events: slow as f64, over: seconds };
            metrics.push(figure(format!("{}.slow", operation.class), "/s", Better::Lower, count));
        }
        let window = window(summary, series);
        let work = self.work(run, summary, seconds);
        RunFigures {
            name: name.to_owned(),
            simulated: run.origin(),
            started_wall_ns: (run.started.wall_ns > 0).then_some(run.started.wall_ns as u64),
            measured_ns: (summary.duration_ns > 0).then_some(summary.duration_ns),
            metrics,
            counters: window.map_or_else(Vec::new, |window| per_work(series, run, window, work)),
            stalls: explanation.map(stalls),
            facts: facts(run),
            steadiness: steadiness(&self.rates(summary)),
            unfinished_ns: explanation.map(|of| of.unfinished.longest_ns).filter(|&ns| ns > 0),
            cautions,
            ..RunFigures::default()
        }
    }

    fn measured<'a>(&'a self, summary: &'a Summary) -> impl Iterator<Item = (u64, &'a (u64, u64, u64))> {
        let is_measured = |phase: &str| summary.phases.iter().any(|known| known.measured && known.name == phase);
        self.intervals
            .iter()
            .filter(move |((_, phase), _)| is_measured(phase))
            .map(|((start_ns, _), sums)| (*start_ns, sums))
    }

    /// Rates of the run's intervals: rounds or, without rounds, operations. A truncated last interval is omitted.
    fn rates(&self, summary: &Summary) -> Vec<f64> {
        let intervals: Vec<(u64, &(u64, u64, u64))> = self.measured(summary).collect();
        let has_rounds = intervals.iter().any(|(_, (rounds, ..))| *rounds > 0);
        let span = |start_ns: u64, end_ns: u64| end_ns.saturating_sub(start_ns);
        let longest = intervals.iter().map(|(start_ns, (.., end_ns))| span(*start_ns, *end_ns)).max().unwrap_or(0);
        let whole = |(start_ns, (.., end_ns)): &&(u64, &(u64, u64, u64))| 2 * span(*start_ns, *end_ns) > longest;
        let rate = |(start_ns, (rounds, operations, end_ns)): &(u64, &(u64, u64, u64))| {
            let done = if has_rounds { *rounds } else { *operations };
            done as f64 * 1e9 / span(*start_ns, *end_ns).max(1) as f64
        };
        intervals.iter().filter(whole).map(rate).collect()
    }

    /// The work done, and its unit.
    pub(super) fn work(&self, run: &RunDescription, summary: &Summary, seconds: f64) -> (f64, &'static str) {
        // What a command does until it ends is the same work in each run.
        if elapsed(run, summary, seconds).is_some() {
            return (1.0, "run");
        }
        let done = self.measured(summary).fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
        match done {
            (0, 0) => (seconds, "s"),
            (0, operations) => (operations as f64, "operation"),
            (rounds, _) => (rounds as f64, "round"),
        }
    }
}

fn figure(name: String, unit: &str, better: Better, amount: Amount) -> Figure {
    Figure { name, unit: unit.to_owned(), better, amount }
}

fn rates(summary: &Summary, seconds: f64) -> Vec<Figure> {
    let rate = |(name, unit, better): (&str, &str, Better)| {
        let (_, rate) = summary.rates.iter().find(|(rate, _)| rate == name)?;
        let amount = match better {
            Better::Lower => Amount::Count { events: (rate.mean_per_s * seconds).round(), over: seconds },
            _ => Amount::Level(rate.mean_per_s),
        };
        Some(figure(format!("{name}_per_s"), unit, better, amount))
    };
    RATES.into_iter().filter_map(rate).collect()
}

/// Rates of each phase, if several are measured: bytes or, without bytes, operations.
fn phases(summary: &Summary) -> Vec<Figure> {
    let measured: Vec<&PhaseSummary> = summary.phases.iter().filter(|phase| phase.measured).collect();
    let rate = |phase: &&PhaseSummary| {
        let seconds = phase.end_ns?.checked_sub(phase.start_ns).filter(|&ns| ns > 0)? as f64 / 1e9;
        let done: u64 = phase.operations.iter().map(|operation| operation.latencies.count()).sum();
        match phase.bytes {
            Some(bytes) if bytes > 0 => Some(("bytes_per_s", "bytes/s", bytes as f64 / seconds)),
            _ if done > 0 => Some(("per_s", "/s", done as f64 / seconds)),
            _ => None,
        }
        .map(|(what, unit, rate)| figure(format!("{}.{what}", phase.name), unit, Better::Higher, Amount::Level(rate)))
    };
    if measured.len() < 2 { Vec::new() } else { measured.iter().filter_map(rate).collect() }
}

/// Figures of a simulation. Negative figures cannot be compared as ratios and are omitted.
fn of_model(summary: &Summary) -> Vec<Figure> {
    let course = summary.simulated.as_ref().and_then(|simulated| simulated.course.as_ref());
    let compared = |figure: &model::simulation::Figure| {
        let better = match figure.more_is_better {
            Some(true) => Better::Higher,
            Some(false) => Better::Lower,
            None => Better::Neither,
        };
        let value = figure.value.filter(|value| *value >= 0.0)?;
        Some(self::figure(format!("model.{}", figure.name), figure.unit(), better, Amount::Level(value)))
    };
    course.iter().flat_map(|course| &course.figures).filter_map(compared).collect()
}

/// Figures that a recorded command printed. Only its user knows which direction is better, and negative ones cannot be
/// compared as ratios.
fn printed(summary: &Summary) -> Vec<Figure> {
    let comparable = summary.printed.iter().filter(|(_, value)| *value >= 0.0);
    comparable.map(|(name, value)| Figure::level(name.clone(), "", Better::Neither, *value)).collect()
}

/// A recorded command that ended by itself lasted as long as its work.
fn elapsed(run: &RunDescription, summary: &Summary, seconds: f64) -> Option<Figure> {
    let is_command = run.recipe.is_none() && run.command.iter().any(|word| word == "--");
    let is_limited = run.command.iter().take_while(|word| *word != "--").any(|word| word.starts_with("--runtime"));
    let done = is_command && !is_limited && summary.ending == Some(Ending::Done);
    done.then(|| figure("elapsed".to_owned(), "s", Better::Lower, Amount::Level(seconds)))
}

/// Rate and percentiles of a class.
fn latencies(operation: &OperationSummary, seconds: f64) -> Vec<Figure> {
    let (class, all) = (&operation.class, &operation.latencies);
    let mut figures = Vec::new();
    if all.count() > 0 && seconds > 0.0 {
        let per_s = Amount::Level(all.count() as f64 / seconds);
        figures.push(figure(format!("{class}.per_s"), "/s", Better::Higher, per_s));
    }
    for (name, quantile) in QUANTILES.into_iter().filter(|(_, quantile)| all.supports(*quantile)) {
        if let Some(ns) = all.smooth_quantile_ns(quantile) {
            figures.push(figure(format!("{class}.{name}"), "ns", Better::Lower, Amount::Level(ns)));
        }
    }
    figures
}

fn too_few(summary: &Summary) -> Option<String> {
    let (_, quantile) = QUANTILES[2];
    let lacks =
        |operation: &&OperationSummary| operation.latencies.count() > 0 && !operation.latencies.supports(quantile);
    let classes: Vec<&str> =
        summary.operations.iter().filter(lacks).map(|operation| operation.class.as_str()).collect();
    (!classes.is_empty())
        .then(|| format!("too few operations for a 99th percentile of {} (100 needed); run longer", classes.join(", ")))
}

fn cautions(summary: &Summary, explanation: Option<&Explanation>) -> Vec<String> {
    let unfinished = explanation.and_then(unfinished);
    let untraced = explanation.into_iter().flat_map(|explanation| &explanation.untraced).map(untraced);
    of_recording(summary).into_iter().chain(too_few(summary)).chain(unfinished).chain(untraced).collect()
}

fn unfinished(explanation: &Explanation) -> Option<String> {
    let Unfinished { waits, .. } = explanation.unfinished;
    (waits > 0).then(|| "waits had not ended with the recording: they took longer than these figures show".to_owned())
}

fn of_recording(summary: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    match summary.ending {
        Some(Ending::Done) => {}
        Some(Ending::Interrupted) => found.push("interrupted; its figures cover a shorter time".to_owned()),
        Some(Ending::LoadDied) => found.push("the load died; fix the cause, or exclude the run".to_owned()),
        Some(Ending::LoadFailed) => found.push("the load failed; fix the cause, or exclude the run".to_owned()),
        Some(Ending::ArchiveFull) => found.push("its archive's disk was full; repeat the run".to_owned()),
        None => found.push("unfinished, or still running; exclude it".to_owned()),
    }
    if summary.operations.iter().any(|operation| operation.latencies.errors() > 0) {
        found.push("operations failed, and a failed operation may be a fast one; see 'stallscope show'".to_owned());
    }
    let hang = summary.simulated.as_ref().and_then(|simulated| simulated.course.as_ref()?.hang.as_ref());
    if hang.is_some() {
        found.push("it HANGS: nothing happens after the hang; 'stallscope show' lists who waits for whom".to_owned());
    } else if summary.operations.iter().any(|operation| operation.stuck > 0) {
        found.push("operations unfinished at the end are excluded from the percentiles; run longer".to_owned());
    }
    let recording = &summary.recording;
    if recording.lost_events > 0 {
        found.push("the recording lost events: stalls may be missing; see 'stallscope show'".to_owned());
    }
    if recording.missing_samples > 0 {
        found.push("samples are missing: the machine was too busy to record, or was suspended".to_owned());
    }
    found
}

/// Stalls without their source have no cause, and do not count against those that have one.
fn untraced(untraced: &Untraced) -> String {
    let subject = untraced.subject.name();
    format!("not traced: {subject}; what rests on it is unexplained, not absent; compare runs of the same sources")
}

/// Those of a recorded command are compared alone: its neighbours are not the same in both runs.
fn stalls(explanation: &Explanation) -> Vec<StallFigure> {
    let of_command = explanation.command.as_ref().filter(|_| explanation.operations.is_none());
    let waits = of_command
        .map_or(&explanation.causes, |command| &command.causes)
        .iter()
        .filter(|time| time.cause.is_wait() || time.cause == explain::blame::Cause::Unexplained);
    waits
        .map(|time| StallFigure { cause: time.cause.name(), operations: time.most_of, time_ns: time.time_ns })
        .collect()
}

/// The measured time on the monotonic clock.
fn window(summary: &Summary, series: &SeriesSet) -> Option<(u64, u64)> {
    let measured = || summary.phases.iter().filter(|phase| phase.measured);
    match (measured().next(), measured().next_back()) {
        (Some(first), Some(last)) => Some((summary.started_ns + first.start_ns, summary.started_ns + last.end_ns?)),
        _ => Some((series.headers().first()?.at.monotonic_ns, series.headers().last()?.at.monotonic_ns)),
    }
}
