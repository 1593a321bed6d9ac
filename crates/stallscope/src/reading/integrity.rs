//! Damage of the runs that a command reads: above its text, in its document, and in its exit code.

use std::path::Path;

use archive::Run;
use model::damage::Damage;
use report::damage::{OfRun, added, banner};
use report::style::Style;
use serde_json::Value;

use crate::ui::failure::Exit;

/// The runs that were read, and their damage.
#[derive(Debug, Clone, Default)]
pub struct Integrity {
    runs: Vec<(String, Vec<Damage>)>,
}

impl Integrity {
    /// A run, after it was read.
    pub fn of(run: &Run) -> Integrity {
        let mut integrity = Integrity::default();
        integrity.add(run.dir(), run.damage());
        integrity
    }

    /// Adds a run.
    pub fn add(&mut self, run: &Path, damage: Vec<Damage>) {
        self.runs.push((run.display().to_string(), damage));
    }

    /// The damage of all runs.
    pub fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.runs.iter().flat_map(|(_, damage)| damage)
    }

    /// Whether nothing is damaged.
    pub fn is_whole(&self) -> bool {
        self.damage().next().is_none()
    }

    /// The lines above a text.
    pub fn banner(&self, style: Style) -> String {
        banner(&self.of_runs(), style)
    }

    /// The document with `complete` and `damage`.
    pub fn added(&self, document: Value) -> Value {
        added(document, &self.of_runs())
    }

    /// The exit code of a command that succeeded.
    pub fn exit(&self) -> Exit {
        if self.is_whole() { Exit::Done } else { Exit::FoundErrors }
    }

    fn of_runs(&self) -> Vec<OfRun<'_>> {
        self.runs.iter().map(|(run, damage)| OfRun { run, damage }).collect()
    }
}
