//! What an answer consists of.

use explain::blame::Cause;
use serde_json::{Value, json};

use super::fix::Fix;
use super::line::Line;
use super::part::AnswerScope;

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Operations were slow.
    Slow,
    /// Most of what was slow is unexplained.
    Unexplained,
    /// A program hangs, or slept for long outside of operations.
    Asleep,
    /// Shorter waits cost a command more than its slow operations.
    ShortWaits,
    /// Nothing was slow, as far as that is known.
    Quiet,
}

impl Verdict {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Slow => "slow",
            Verdict::Unexplained => "unexplained",
            Verdict::Asleep => "asleep",
            Verdict::ShortWaits => "short_waits",
            Verdict::Quiet => "quiet",
        }
    }
}

/// Why operations were slow, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whose operations it is about.
    pub scope: AnswerScope,
    /// What it says.
    pub verdict: Verdict,
    /// What most of the time went to in the end; `None` where that is unknown.
    pub cause: Option<Cause>,
    /// Victim, loss, cause and culprit, in at most 100 columns where the names allow it.
    pub headline: Line,
    /// Who waited, and how long.
    pub who: Vec<Line>,
    /// The chain of waits, one level a line.
    pub why: Vec<Line>,
    /// Root blockers.
    pub blocker: Vec<Line>,
    /// What would help.
    pub fix: Fix,
    /// How well it is known.
    pub sure: Vec<Line>,
    /// That comes first: most is unexplained, or something was not traced.
    pub sure_first: bool,
    /// The whole machine, where the answer is about a part of it, and others were slow.
    pub machine: Option<Box<Answer>>,
}

impl Answer {
    /// The key `answer` of the document.
    pub fn json(&self) -> Value {
        let all = |lines: &[Line]| lines.iter().map(Line::json).collect::<Vec<_>>();
        json!({
            "scope": self.scope.name(),
            "verdict": self.verdict.name(),
            "cause": self.cause.map(Cause::name),
            "headline": self.headline.json(),
            "who": all(&self.who),
            "why": all(&self.why),
            "blocker": all(&self.blocker),
            "fix": self.fix.json(),
            "sure": all(&self.sure),
            "sure_first": self.sure_first,
            "machine": self.machine.as_ref().map(|machine| machine.json()),
        })
    }
}
