//! What an explanation had to do without.

use model::preflight::Subject;

/// A subject that was not traced, and what that costs the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untraced {
    /// Which.
    pub subject: Subject,
    /// Why, where known.
    pub why: Option<String>,
    /// What to do.
    pub remedy: Option<String>,
    /// Time of slow operations that is unexplained for it, ns; `None`: which operations were slow is itself unknown.
    pub time_ns: Option<u64>,
}

/// What the rows lack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// What was lost, and its count.
    pub lost: Vec<(String, u64)>,
    /// Tables that were dropped, and why.
    pub tables: Vec<(String, String)>,
    /// What could not be traced: what, why, remedy.
    pub missing: Vec<(String, Option<String>, Option<String>)>,
    /// Inconsistent rows, ignored.
    pub damaged: u64,
    /// Waits that name a request missing from the run.
    pub unknown_requests: u64,
    /// Damaged or missing parts of the run's archive.
    pub parts: u64,
}

impl Losses {
    /// Whether shares may be too small.
    pub fn any(&self) -> bool {
        !self.lost.is_empty()
            || !self.tables.is_empty()
            || self.damaged > 0
            || self.unknown_requests > 0
            || self.parts > 0
    }
}
