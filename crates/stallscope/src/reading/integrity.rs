//! What the runs that a command reads lack: above its text, in its document, and in its exit code.

use std::path::Path;

use archive::Run;
use explain::blame::{Explanation, Untraced};
use explain::summary::Summary;
use model::damage::Damage;
use model::lost::Lost;
use report::damage::{OfRun, added, banner, untraced_words};
use report::style::Style;
use serde_json::Value;

use crate::ui::failure::Exit;
use crate::ui::screen::Screen;

/// What one run lacks.
#[derive(Debug, Clone, Default)]
struct Lack {
    run: String,
    damage: Vec<Damage>,
    lost: Vec<Lost>,
    untraced: Vec<Untraced>,
}

impl Lack {
    /// One sentence each.
    fn lacks(&self) -> impl Iterator<Item = String> {
        let damage = self.damage.iter().map(ToString::to_string);
        let lost = self.lost.iter().map(ToString::to_string);
        let untraced = self.untraced.iter().map(|untraced| untraced_words(untraced.subject).to_owned());
        damage.chain(lost).chain(untraced)
    }
}

/// The runs that were read, and what they lack.
#[derive(Debug, Clone, Default)]
pub struct Integrity {
    runs: Vec<Lack>,
}

impl Integrity {
    /// A run, after it was read.
    pub fn of(run: &Run) -> Integrity {
        let mut integrity = Integrity::default();
        integrity.add(run.dir(), run.damage(), run.lost());
        integrity
    }

    /// A run that was just recorded.
    pub fn of_recorded(run: &Path, summary: &Summary) -> Integrity {
        let mut integrity = Integrity::default();
        integrity.add(run, Vec::new(), Lost::of(&summary.remarks));
        integrity
    }

    /// Adds a run.
    pub fn add(&mut self, run: &Path, damage: Vec<Damage>, lost: Vec<Lost>) {
        self.runs.push(Lack { run: run.display().to_string(), damage, lost, untraced: Vec::new() });
    }

    /// Adds the runs of another one.
    pub fn join(&mut self, other: &Integrity) {
        self.runs.extend(other.runs.iter().cloned());
    }

    /// With what the explanation of the last run excludes, or would rest on and was not traced.
    #[must_use]
    pub fn explained(mut self, explanation: Option<&Explanation>) -> Integrity {
        if let Some(run) = self.runs.last_mut() {
            run.lost.extend(explanation.and_then(excluded));
            run.untraced.extend(explanation.into_iter().flat_map(|explanation| explanation.untraced.clone()));
        }
        self
    }

    /// What is lacking, one sentence each.
    pub fn lacks(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(Lack::lacks)
    }

    /// Warns of what is lacking, where no text or document does: with `-q`, or in the format of another tool. Standard
    /// output may go nowhere.
    pub fn warn(&self, screen: &Screen) {
        for run in &self.runs {
            run.lacks().for_each(|lack| screen.warning(&format!("{}: incomplete: {lack}", run.run)));
        }
    }

    /// Whether nothing is lacking.
    pub fn is_whole(&self) -> bool {
        self.of_runs().iter().all(OfRun::is_whole)
    }

    /// The lines above a text.
    pub fn banner(&self, style: Style) -> String {
        banner(&self.of_runs(), style)
    }

    /// The document with `complete`, `damage` and `lost`.
    pub fn added(&self, document: Value) -> Value {
        added(document, &self.of_runs())
    }

    /// The exit code of a command that succeeded.
    pub fn exit(&self) -> Exit {
        if self.is_whole() { Exit::Done } else { Exit::FoundErrors }
    }

    fn of_runs(&self) -> Vec<OfRun<'_>> {
        self.runs.iter().map(|Lack { run, damage, lost, untraced }| OfRun { run, damage, lost, untraced }).collect()
    }
}

/// Rows that contradict themselves: the explanation is without them.
pub fn excluded(explanation: &Explanation) -> Option<Lost> {
    let count = explanation.losses.damaged;
    let lost =
        || Lost { what: "rows with impossible timestamps".to_owned(), count: Some(count), at_ns: None, why: None };
    (count > 0).then(lost)
}
