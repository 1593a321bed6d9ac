//! A dump of blocked tasks: who waits for what, and what is likely at the root.

pub mod json;
pub mod text;

use hung::{Analysis, Dump};

/// A dump and what it means.
#[derive(Debug)]
pub struct HungFindings<'a> {
    /// The dump.
    pub dump: &'a Dump,
    /// What it means.
    pub analysis: &'a Analysis,
    /// What to collect next.
    pub advice: &'a [String],
}

impl HungFindings<'_> {
    /// The title of a blocked task, safe for a terminal.
    fn title(&self, blocked: usize) -> String {
        let task = &self.dump.tasks[self.analysis.blocked[blocked].task];
        crate::style::printable(&task.title())
    }
}

#[cfg(test)]
mod tests;
