//! What a rule reports.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: PathBuf,
    line: usize,
    /// What is wrong, and the remedy.
    what: String,
}

impl Finding {
    pub(super) fn new(path: impl AsRef<Path>, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.as_ref().to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}
