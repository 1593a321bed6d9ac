//! Answers to the queries of the report.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use archive::RunState;
use page::Limits;
use serde_json::{Value, json};

use super::advisor::Advisor;
use super::http::{Answer, Request};
use crate::reading::document::{self, RunDocument};
use crate::reading::request_index::RequestQuery;
use crate::reading::scope::ScopeArgs;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Maximum requests in one answer.
const MAX_REQUESTS: usize = 2_000;

/// The runs, read again when they have grown.
pub struct Answers {
    paths: Vec<PathBuf>,
    runs: Vec<RunDocument>,
    /// One for each run.
    advisors: Vec<Advisor>,
    state: String,
    screen: Screen,
}

type Answered = Result<Value, Answer>;

impl Answers {
    pub fn new(paths: &[PathBuf], screen: Screen) -> Result<Answers, Failure> {
        let mut answers = Answers {
            paths: paths.to_vec(),
            runs: Vec::new(),
            advisors: paths.iter().map(|_| Advisor::default()).collect(),
            state: String::new(),
            screen,
        };
        answers.read()?;
        Ok(answers)
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.state = state(&self.paths);
        let screen = &self.screen;
        let read = |path: &PathBuf| RunDocument::read(path, (Limits::SERVER, &ScopeArgs::default()), |_| true, screen);
        self.runs = self.paths.iter().map(read).collect::<Result<_, _>>()?;
        self.advise();
        Ok(())
    }

    fn advise(&self) {
        for (run, advisor) in self.runs.iter().zip(&self.advisors) {
            advisor.predict(&self.state, || run.prediction());
        }
    }

    /// Changes when a run grows, and when more is known of what would help. `None` when neither will happen any more.
    fn version(&self) -> Option<String> {
        self.advise();
        if !self.is_live() && self.advisors.iter().all(|advisor| advisor.knows(&self.state)) {
            return None;
        }
        let advice: u64 = self.advisors.iter().map(|advisor| advisor.advice().1).sum();
        Some(format!("{} {advice}", state(&self.paths)))
    }

    /// Answers a query by its name.
    pub fn answer(&mut self, question: &str, request: &Request) -> Answered {
        match question {
            "document" => self.document(),
            "state" => Ok(self.version().map_or(Value::Null, Value::from)),
            "stall" => self.stall(request),
            "requests" => self.requests(request),
            "metrics" => Ok(metrics(self.run(request)?)),
            "series" => self.series(request),
            _ => Err(Answer::refused(404, "unknown query")),
        }
    }

    fn is_live(&self) -> bool {
        self.runs.iter().any(|run| run.run.state() == RunState::Live)
    }

    fn run(&self, request: &Request) -> Result<&RunDocument, Answer> {
        let number = usize::try_from(request.number("run")?).unwrap_or(usize::MAX);
        self.runs.get(number).ok_or_else(|| Answer::refused(404, "no run with that number"))
    }

    fn document(&mut self) -> Answered {
        if state(&self.paths) != self.state {
            self.read().map_err(|failure| Answer::refused(500, &failure.to_string()))?;
        }
        let advised = self.runs.iter().zip(&self.advisors).map(|(run, advisor)| (run, advisor.advice().0));
        Ok(document::document(&advised.collect::<Vec<_>>()))
    }

    fn stall(&self, request: &Request) -> Answered {
        let run = self.run(request)?;
        let number = usize::try_from(request.number("number")?).unwrap_or(usize::MAX);
        let found = run.accounting.as_deref().and_then(|accounting| page::stall(accounting, number));
        found.ok_or_else(|| Answer::refused(404, "no stall with that number"))
    }

    /// The longest requests in a time; `find` is searched for in kind, device, task and sector.
    fn requests(&self, request: &Request) -> Answered {
        let run = self.run(request)?;
        let description = run.run.description();
        let at = |ms: u64| description.started.monotonic_ns.saturating_add(ms.saturating_mul(1_000_000));
        let (from_ns, to_ns) = (at(request.number("from_ms")?), at(request.number("to_ms")?));
        let text = request.value("find").unwrap_or_default().to_lowercase().into();
        let query = RequestQuery { from_ns, to_ns, text };
        let (found, all) = run.requests.search(&run.run, run.accounting.as_deref(), &query, MAX_REQUESTS);
        let left_out = all - found.len() as u64;
        let mut value = page::requests(found, description, run.accounting.as_deref());
        value["left_out"] = json!(left_out);
        Ok(value)
    }

    fn series(&self, request: &Request) -> Answered {
        let run = self.run(request)?;
        let metric = request.number("metric")?;
        let mut all = run.series.prefixed("");
        let found = all.find(|series| u64::from(series.descriptor.id.0) == metric);
        let found = found.ok_or_else(|| Answer::refused(404, "no counter with that number"))?;
        Ok(page::counter(&run.series, found, run.run.description()))
    }
}

/// Number and name of every counter.
fn metrics(run: &RunDocument) -> Value {
    let named = |series: &explain::series::Series| {
        let (name, instance) = (&series.descriptor.name, series.descriptor.shown_instance());
        let words = if instance.is_empty() { name.clone() } else { format!("{name} {instance}") };
        json!([series.descriptor.id.0, words])
    };
    run.series.prefixed("").map(named).collect()
}

/// A hash of the names and lengths of all files, which changes when a run grows.
fn state(paths: &[PathBuf]) -> String {
    let of = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let file = |entry: std::fs::DirEntry| {
            Some(format!("{} {}", entry.file_name().to_string_lossy(), entry.metadata().ok()?.len()))
        };
        let mut files: Vec<String> = entries.filter_map(file).collect();
        files.sort();
        files
    };
    let mut hasher = DefaultHasher::new();
    paths.iter().for_each(|path| of(path).hash(&mut hasher));
    hasher.finish().to_string()
}
