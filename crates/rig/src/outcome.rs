//! The result of a removal.

use std::fmt;

/// The result of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// In one sentence, without a full stop.
    pub sentence: String,
    /// `false`: it is still there, and stays registered for the next run.
    pub complete: bool,
}

impl Removed {
    pub(crate) fn done(sentence: String) -> Removed {
        Removed { sentence, complete: true }
    }

    pub(crate) fn left(sentence: String) -> Removed {
        Removed { sentence, complete: false }
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Outcome of [`undo`]; sentences as in [`Removed`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// There was nothing to remove.
    Gone,
    /// Removed.
    Removed(String),
    /// Still there.
    Left(String),
    /// Still there, and another program uses it.
    InUse(String),
}

/// `Ok(None)`: nothing was there. `Ok(Some(verb))`: removed. `Err`: still there, and why.
pub(crate) type Outcome = Result<Option<&'static str>, String>;
