//! What is said of a moment: its findings.

use explain::snapshot::Snapshot;
use explain::whatif::advise;
use model::run::RunDescription;
use remedy::Remedies;
use report::findings::Sentence;
use serde_json::Value;

/// Writes the findings of moments.
pub(super) struct Findings(Remedies);

impl Findings {
    pub(super) fn new() -> Findings {
        Findings(Remedies::shipped())
    }

    /// The document of `explain --json` of the moment, with what would help.
    pub(super) fn document(&self, run: &RunDescription, snapshot: &Snapshot) -> Value {
        let advice = advise(&snapshot.explanation, &snapshot.waits, &self.0, run);
        report::findings::document("", &snapshot.explanation, &advice)
    }

    pub(super) fn of(&self, run: &RunDescription, snapshot: &Snapshot) -> Vec<Sentence> {
        report::findings::findings(&self.document(run, snapshot))
    }
}
