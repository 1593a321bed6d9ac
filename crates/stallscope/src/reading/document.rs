//! Run directories → the document of the page that shows them.

use std::path::{Path, PathBuf};

use archive::{Batches, Run, RunState};
use compare::{Group, Options, RunFigures, RunReader, compare};
use explain::blame::Accounting;
use explain::series::SeriesSet;
use model::metric::MetricDescriptor;
use page::{Limits, RunPage};
use serde_json::Value;

use crate::reading::request_index::RequestIndex;
use crate::reading::{archived_run, explanation, summary};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// A run as the page needs it, and what a server keeps of it for later questions.
pub struct RunDocument {
    /// The run.
    pub run: Run,
    /// Its part of the document.
    pub value: Value,
    /// The series that were wanted.
    pub series: SeriesSet,
    /// All slow operations; `None` where the kernel was not traced.
    pub accounting: Option<Accounting>,
    /// Where to look for requests.
    pub requests: RequestIndex,
    figures: RunFigures,
}

impl RunDocument {
    /// Reads a run, also while it is still being written.
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
        // What a model counts has names of its own, and is little.
        let is_simulated = run.description().simulated.is_some();
        let (summary, series) = summary::summary_and_series(
            &run,
            |metric| is_simulated || wanted(metric),
            |interval| {
                page.interval(interval);
                reader.interval(interval);
            },
            warn,
        );
        each(run.operations(), |row| page.operation(row));
        each(run.request_intervals(), |row| page.request_interval(row));
        let mut requests = RequestIndex::default();
        for rows in run.requests() {
            // Of a damaged batch it was told when the summary was made.
            let rows = rows.unwrap_or_default();
            requests.batch(&rows);
            rows.iter().for_each(|row| page.request(row));
        }
        let explained = run.has_trace().then(|| explanation::explanation_with_accounting(&run, None, warn));
        let explanation = explained.as_ref().map(|(explanation, _)| explanation);
        let figures = reader.figures(&name, run.description(), &summary, &series, explanation);
        let mut value = page.finish(
            &name,
            &summary,
            &series,
            explained.as_ref().map(|(explanation, accounting)| (explanation, accounting)),
        );
        value["live"] = (run.state() == RunState::Live).into();
        Ok(RunDocument {
            run,
            value,
            series,
            accounting: explained.map(|(_, accounting)| accounting),
            requests,
            figures,
        })
    }
}

/// Damaged batches were told of when the summary was made.
fn each<Row>(batches: Batches<Row>, mut take: impl FnMut(&Row)) {
    batches.filter_map(Result::ok).flatten().for_each(|row| take(&row));
}

/// The document of these runs: the first one, or all of its configuration, is the baseline.
pub fn document(runs: &[&RunDocument]) -> Value {
    let comparisons = compared(runs);
    page::document(runs.iter().map(|run| run.value.clone()).collect(), comparisons)
}

/// Runs of one configuration are repetitions of the same; where none differ in it, each run stands for itself.
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

/// The page draws counters over time; hundreds of ratios of them would drown what it says.
fn without_counters(mut comparison: Value) -> Value {
    if let Some(object) = comparison.as_object_mut() {
        object.remove("counters");
    }
    comparison
}

/// The same run twice would be compared with itself.
pub fn refuse_twice(paths: &[PathBuf]) -> Result<(), Failure> {
    let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    match real.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format_args!("{}: named twice; name each run once", pair[0].display()))),
        None => Ok(()),
    }
}
