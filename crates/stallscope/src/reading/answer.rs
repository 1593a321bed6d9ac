//! What `show` and `explain` say of a run, before it is printed.

use std::path::Path;

use archive::Run;
use explain::blame::{Explanation, Scope};
use explain::summary::Summary;
use explain::whatif::Advice;
use model::preflight::Finding;
use remedy::Remedies;
use report::answer::Answer;
use serde_json::Value;

use crate::reading::archived_run;
use crate::reading::explanation::{advice, explanation_in};
use crate::reading::integrity::Integrity;
use crate::reading::summary;
use crate::ui::failure::Failure;

/// The summary of a run.
pub struct Shown {
    /// The run's directory.
    pub name: String,
    /// What happened.
    pub summary: Summary,
    /// What it lacks.
    pub integrity: Integrity,
}

impl Shown {
    /// Reads a run, which may still be recording.
    pub fn read(directory: &Path, warn: impl Fn(&str)) -> Result<Shown, Failure> {
        let run = archived_run::open(directory)?;
        let summary = summary::of_run(&run, warn);
        Ok(Shown { name: directory.display().to_string(), summary, integrity: Integrity::of(&run) })
    }

    /// The document.
    pub fn document(&self) -> Value {
        self.integrity.added(report::json::summary(&self.name, &self.summary))
    }
}

/// Which stalls are explained, and how many are described.
pub struct Question<'a> {
    /// Whose.
    pub scope: Scope,
    /// The shortest.
    pub slower_than_ns: Option<u64>,
    /// The worst of them are described.
    pub worst: usize,
    /// What is looked for against them.
    pub remedies: &'a Remedies,
}

/// The explanation of a run.
pub struct Explained {
    /// Why operations were slow.
    pub explanation: Explanation,
    /// What would help.
    pub advice: Advice,
    /// The same for people.
    pub answer: Answer,
    /// What the run lacks.
    pub integrity: Integrity,
    run: String,
}

impl Explained {
    /// Opens a run that was traced.
    pub fn open(directory: &Path) -> Result<Run, Failure> {
        let run = archived_run::open(directory)?;
        if run.has_trace() { Ok(run) } else { Err(untraced(&run)) }
    }

    /// Explains it.
    pub fn read(run: &Run, question: Question<'_>, warn: impl Fn(&str)) -> Explained {
        let Question { scope, slower_than_ns, worst, remedies } = question;
        let (explanation, accounting) = explanation_in(scope, run, slower_than_ns, worst, warn);
        let advice = advice(run, &explanation, &accounting, remedies);
        let integrity = Integrity::of(run).explained(Some(&explanation));
        let answer = Answer::of(&explanation, &advice);
        Explained { explanation, advice, answer, integrity, run: run.dir().display().to_string() }
    }

    /// The document.
    pub fn into_document(self) -> Value {
        let Explained { explanation, advice, answer, integrity, run } = self;
        integrity.added(report::document::document(&run, &explanation, &advice, &answer))
    }
}

/// The error of a run without a trace.
pub fn untraced(run: &Run) -> Failure {
    let missing = |finding: &&Finding| finding.is_missing() && finding.capability == record::TRACE_CAPABILITY;
    let finding = run.description().preflight.iter().find(missing);
    let why = match finding {
        Some(Finding { why: Some(why), remedy: Some(remedy), .. }) => format!("{why}; {remedy}"),
        _ => "with --no-trace, or by a version that could not trace; record it again as root, without that flag"
            .to_owned(),
    };
    Failure::usage(format_args!(
        "{}: cannot be explained: it was recorded without kernel tracing: {why}",
        run.dir().display()
    ))
}
