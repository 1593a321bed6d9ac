//! What is said of a moment: its answer.

use explain::snapshot::Snapshot;
use explain::whatif::{Advice, advise};
use model::run::RunDescription;
use remedy::Remedies;
use report::answer::Answer;

/// Answers of moments.
pub(super) struct Answers(Remedies);

impl Answers {
    pub(super) fn new() -> Answers {
        Answers(Remedies::shipped())
    }

    /// Why operations were slow, and what would help.
    pub(super) fn of(&self, run: &RunDescription, snapshot: &Snapshot) -> (Answer, Advice) {
        let advice = advise(&snapshot.explanation, &snapshot.waits, &self.0, run);
        (Answer::of(&snapshot.explanation, &advice), advice)
    }
}
