//! Run directories → the document of the HTML report.

use std::path::{Path, PathBuf};

use archive::{Batches, Run, RunState};
use compare::{Group, Options, RunFigures, RunReader, compare};
use explain::blame::Accounting;
use explain::series::SeriesSet;
use model::metric::MetricDescriptor;
use model::operation::IntervalRecord;
use model::stall::RequestRecord;
use page::{Limits, RunPage};
use serde_json::Value;

use crate::reading::request_index::RequestIndex;
use crate::reading::{archived_run, explanation, summary};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// A run as the report needs it, and what a server keeps of it for later queries.
pub struct RunDocument {
    /// The run.
    pub run: Run,
    /// Its part of the document.
    pub value: Value,
    /// The wanted series.
    pub series: SeriesSet,
    /// All slow operations; `None` if the kernel was not traced.
    pub accounting: Option<Accounting>,
    /// Index of the requests.
    pub requests: RequestIndex,
    figures: RunFigures,
}

impl RunDocument {
    /// Reads a run; it may still be recording.
    pub fn read(
        path: &Path,
        limits: Limits,
        wanted: impl Fn(&MetricDescriptor) -> bool,
        screen: &Screen,
    ) -> Result<RunDocument, Failure> {
        let run = archived_run::open(path)?;
        let warn = |warning: &str| screen.warning(warning);
        let name = path.display().to_string();
        let mut page = RunPage::new(run.description(), limits);
        let mut reader = RunReader::default();
        // The metrics of a model have their own names, and are few.
        let is_simulated = run.description().simulated.is_some();
        let also_wanted = |metric: &MetricDescriptor| is_simulated || wanted(metric);
        let each_interval = |interval: &IntervalRecord| {
            page.interval(interval);
            reader.interval(interval);
        };
        let (summary, series) = summary::summary_and_series(&run, also_wanted, each_interval, warn);
        each(run.operations(), |row| page.operation(row));
        each(run.request_intervals(), |row| page.request_interval(row));
        let requests = indexed(&run, |row| page.request(row));
        let explained = run.has_trace().then(|| explanation::explanation_with_accounting(&run, None, warn));
        let explained_by = explained.as_ref().map(|(explanation, accounting)| (explanation, accounting));
        let explanation = explained_by.map(|(explanation, _)| explanation);
        let figures = reader.figures(&name, run.description(), &summary, &series, explanation);
        let mut value = page.finish(&name, &summary, &series, explained_by);
        value["live"] = (run.state() == RunState::Live).into();
        let accounting = explained.map(|(_, accounting)| accounting);
        Ok(RunDocument { run, value, series, accounting, requests, figures })
    }
}

/// Passes each request to `take`, and indexes them by batch. Damaged batches have been reported with the summary.
fn indexed(run: &Run, mut take: impl FnMut(&RequestRecord)) -> RequestIndex {
    let mut requests = RequestIndex::default();
    for rows in run.requests() {
        let rows = rows.unwrap_or_default();
        requests.batch(&rows);
        rows.iter().for_each(&mut take);
    }
    requests
}

/// Damaged batches have been reported with the summary.
fn each<Row>(batches: Batches<Row>, mut take: impl FnMut(&Row)) {
    batches.filter_map(Result::ok).flatten().for_each(|row| take(&row));
}

/// The document of these runs: the first run, or its configuration, is the baseline.
pub fn document(runs: &[&RunDocument]) -> Value {
    let comparisons = compared(runs);
    page::document(runs.iter().map(|run| run.value.clone()).collect(), comparisons)
}

/// Runs of one configuration are repetitions; if all have the same one, each run is a group.
fn compared(runs: &[&RunDocument]) -> Vec<Value> {
    let alone = |run: &&RunDocument| Group {
        name: run.figures.name.clone(),
        runs: vec![run.figures.clone()],
        ..Group::default()
    };
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let Some(configuration) = &run.run.description().configuration else {
            groups.push(alone(run));
            continue;
        };
        match groups.iter_mut().find(|group| group.name == configuration.name) {
            Some(group) => group.runs.push(run.figures.clone()),
            None => groups.push(Group {
                name: configuration.name.clone(),
                settings: configuration.settings.iter().cloned().collect(),
                varied: configuration.varied.clone(),
                runs: vec![run.figures.clone()],
            }),
        }
    }
    if groups.len() == 1 && runs.len() > 1 {
        groups = runs.iter().map(alone).collect();
    }
    let Some((baseline, others)) = groups.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let others: Vec<&Group> = others.iter().collect();
    let found = compare(baseline, &others, Options::default());
    found.iter().map(report::json::comparison).map(without_counters).collect()
}

/// The report plots counters over time; hundreds of ratios would drown its message.
fn without_counters(mut comparison: Value) -> Value {
    if let Some(object) = comparison.as_object_mut() {
        object.remove("counters");
    }
    comparison
}

/// Refuses a run that is named twice: it would be compared with itself.
pub fn refuse_twice(paths: &[PathBuf]) -> Result<(), Failure> {
    let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    match real.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format_args!("{}: named twice; name each run once", pair[0].display()))),
        None => Ok(()),
    }
}
