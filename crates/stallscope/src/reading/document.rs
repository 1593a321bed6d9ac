//! Run directories → the document of the HTML report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Batches, Run, RunState};
use compare::{Group, Options, RunFigures, RunReader, compare};
use explain::blame::{Accounting, Explanation};
use explain::series::SeriesSet;
use explain::whatif::{Advice, advise};
use model::metric::MetricDescriptor;
use model::operation::IntervalRecord;
use model::run::RunDescription;
use model::stall::RequestRecord;
use page::{Limits, RunPage};
use remedy::Remedies;
use report::answer::{Answer, STALLS};
use serde_json::Value;

use crate::reading::integrity::Integrity;
use crate::reading::request_index::RequestIndex;
use crate::reading::scope::ScopeArgs;
use crate::reading::{archived_run, explanation, summary};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// A run as the report needs it, and what a server keeps of it for later queries.
pub struct RunDocument {
    /// The run.
    pub run: Run,
    /// What it lacks.
    pub integrity: Integrity,
    /// Its part of the document, without findings.
    value: Value,
    /// `None` if the kernel was not traced.
    explanation: Option<Explanation>,
    /// The wanted series.
    pub series: SeriesSet,
    /// All slow operations; `None` if the kernel was not traced.
    pub accounting: Option<Arc<Accounting>>,
    /// Index of the requests.
    pub requests: RequestIndex,
    figures: RunFigures,
}

impl RunDocument {
    /// Reads a run; it may still be recording.
    pub fn read(
        path: &Path,
        (limits, scope): (Limits, &ScopeArgs),
        wanted: impl Fn(&MetricDescriptor) -> bool,
        screen: &Screen,
    ) -> Result<RunDocument, Failure> {
        let run = archived_run::open(path)?;
        let scope = scope.of_traced(&run)?;
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
        let explained = run.has_trace().then(|| explanation::explanation_in(scope, &run, None, STALLS, warn));
        let explained_by = explained.as_ref().map(|(explanation, accounting)| (explanation, accounting));
        let explanation = explained_by.map(|(explanation, _)| explanation);
        let figures = reader.figures(&name, run.description(), &summary, &series, explanation);
        let integrity = Integrity::of(&run).explained(explanation);
        let mut value = integrity.added(page.finish(&name, &summary, &series, explained_by));
        if let Some(scope) = explained_by.and_then(|(explanation, _)| report::explain::scope_words(explanation)) {
            let words = [value["badge"].as_str().unwrap_or_default(), &scope].join(" ");
            value["badge"] = words.trim().into();
        }
        value["live"] = (run.state() == RunState::Live).into();
        let (explanation, accounting) = explained.unzip();
        let accounting = accounting.map(Arc::new);
        Ok(RunDocument { run, integrity, value, explanation, series, accounting, requests, figures })
    }

    /// What is needed to predict what would help; `None` if the kernel was not traced.
    pub fn prediction(&self) -> Option<PendingAdvice> {
        Some(PendingAdvice {
            run: self.run.description().clone(),
            explanation: self.explanation.clone()?,
            accounting: self.accounting.clone()?,
        })
    }

    /// Its part of the document: with the answer, and what would help as far as that is known.
    fn value(&self, advice: Option<&Advice>) -> Value {
        let mut value = self.value.clone();
        if let Some(explanation) = &self.explanation {
            let unknown = Advice::default();
            let answer = Answer::of(explanation, advice.unwrap_or(&unknown));
            let mut document = report::document::document("", explanation, advice.unwrap_or(&unknown), &answer);
            value["answer"] = document["answer"].take();
            if advice.is_some() {
                value["what_if"] = document["what_if"].take();
                value["behind"] = document["behind"].take();
            }
        }
        value
    }
}

/// What would help is not predicted yet: of a large run that takes a while.
pub struct PendingAdvice {
    run: RunDescription,
    explanation: Explanation,
    accounting: Arc<Accounting>,
}

impl PendingAdvice {
    /// Predicts it.
    pub fn predict(&self) -> Advice {
        let waits = self.accounting.all_waits(&self.explanation);
        advise(&self.explanation, &waits, &Remedies::shipped(), &self.run)
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

/// The document of these runs, each with what would help: the first run, or its configuration, is the baseline.
pub fn document(runs: &[(&RunDocument, Option<Advice>)]) -> Value {
    let values = runs.iter().map(|(run, advice)| run.value(advice.as_ref())).collect();
    page::document(values, compared(&runs.iter().map(|(run, _)| *run).collect::<Vec<_>>()))
}

/// The document of nodes' runs, each with a line that says which node it is. They are parts of one run, and are not
/// compared.
pub fn of_nodes(runs: &[(&RunDocument, Option<Advice>, String)]) -> Value {
    let value = |(run, advice, line): &(&RunDocument, Option<Advice>, String)| {
        let mut value = run.value(advice.as_ref());
        let words = [line.as_str(), value["badge"].as_str().unwrap_or_default()].join(" ");
        value["badge"] = words.trim().into();
        value
    };
    page::document(runs.iter().map(value).collect(), Vec::new())
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
        Some(pair) => Err(Failure::usage(format_args!(
            "{}: named twice, and a run cannot be compared with itself; name each run once",
            pair[0].display()
        ))),
        None => Ok(()),
    }
}
