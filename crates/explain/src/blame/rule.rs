//! What an inference is: stated once, with the timeline that tests it.

/// A kind of inference. docs/RULES.md is generated from these, and `explain --why` names those that an answer rests on.
#[derive(Debug)]
pub struct Rule {
    /// It does not change: scripts and tests name a rule by it.
    pub id: &'static str,
    /// What follows, in a sentence.
    pub concludes: &'static str,
    /// From which facts.
    pub from: &'static str,
    /// Why it follows.
    pub because: &'static str,
    /// When it does not follow, or what it cannot know.
    pub unless: &'static str,
    /// The smallest case, which is also a test: the rule is needed for this answer.
    pub example: Example,
}

/// A drawn timeline (a column is a millisecond, a line is what one thread did) and its answer.
#[derive(Debug)]
pub struct Example {
    /// Lines of rows: kind, thread, time, facts.
    pub timeline: &'static str,
    /// Causes of the slow operations of thread 7, with their times in ms; empty: it was idle.
    pub causes: &'static str,
    /// The chain of its longest operation.
    pub chain: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}
