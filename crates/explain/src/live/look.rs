//! A look: the rows of a window, their explanation, and what is new of it.

use super::emitted::Emission;
use crate::blame::Accounting;
use crate::series::SeriesSet;
use crate::snapshot::{Snapshot, SnapshotBuilder};

/// What a look sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// The window.
    pub snapshot: Snapshot,
    /// Stalls that were not said before, or not so long.
    pub stalls: Vec<Emission>,
    /// Stalls of the window that are too short to be described beside so many longer ones.
    pub left_out: u64,
}

/// The rows of a window.
#[derive(Debug)]
pub struct Seen {
    pub(super) builder: SnapshotBuilder,
    pub(super) series: SeriesSet,
}

impl Seen {
    /// The second part of a look, which takes longest.
    pub fn explain(self) -> Explained {
        let (snapshot, accounting) = self.builder.finish_with_accounting(&self.series);
        Explained { snapshot, accounting }
    }
}

/// A window, explained.
#[derive(Debug)]
pub struct Explained {
    pub(super) snapshot: Snapshot,
    accounting: Accounting,
}

impl Explained {
    /// The last part of a look: who is to blame for what is new.
    pub fn look(self, mut news: Vec<Emission>) -> Look {
        let Explained { snapshot, accounting } = self;
        for one in &mut news {
            let number = accounting.number_of(&one.stall);
            one.culprit = number.and_then(|number| accounting.root_blockers(&[number]).pop().flatten());
        }
        let left_out = snapshot.explanation.slow_operations.saturating_sub(snapshot.explanation.stalls.len() as u64);
        Look { snapshot, stalls: news, left_out }
    }
}
