//! What the writer has given up so far, and why.

use crate::options::FlushState;

/// The tables that were given up.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    dropped: Vec<&'static str>,
    why: String,
    full: bool,
}

impl Trouble {
    /// The state that a flush returns.
    pub(super) fn state(&self) -> FlushState {
        match self.full {
            true => FlushState::Full { why: self.why.clone() },
            false if self.dropped.is_empty() => FlushState::Whole,
            false => FlushState::Degraded { dropped: self.dropped.clone(), why: self.why.clone() },
        }
    }

    /// Whether no rows are accepted any more.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Notes a table that was given up.
    pub(super) fn dropped(&mut self, table: &'static str) {
        self.dropped.push(table);
    }

    /// Notes the error behind it, and whether any table is left.
    pub(super) fn caused_by(&mut self, why: String, nothing_left: bool) {
        self.full |= nothing_left;
        self.why = why;
    }
}
