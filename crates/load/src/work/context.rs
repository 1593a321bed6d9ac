//! What all threads of the load share.

use std::sync::OnceLock;

use crate::board::Board;
use crate::data::{DirectoryLock, FileSet};
use crate::random_bytes::RandomBytes;
use crate::schedule::Repeat;
use crate::write_ledger::WriteLedger;

/// The board, the data, and the numbers of the plan that threads need.
pub(crate) struct LoadContext {
    pub(crate) board: Board,
    pub(crate) bytes: RandomBytes,
    /// Which writes were issued and acknowledged, where data is stamped.
    pub(crate) ledger: Option<WriteLedger>,
    pub(crate) seed: u64,
    /// The data directories, once they are locked. Held until the process ends: threads stuck in the kernel still use
    /// the data.
    pub(crate) held: OnceLock<Vec<DirectoryLock>>,
    pub(crate) file_sets: Vec<FileSet>,
    /// Number of phases, and the repeated ones.
    pub(crate) phases: usize,
    pub(crate) repeat: Option<Repeat>,
    /// Whether the load only reads back what an earlier run wrote.
    pub(crate) after_crash: bool,
    /// First thread of the actor whose ranks write until a time limit.
    pub(crate) first_timed_writer: Option<usize>,
}

impl LoadContext {
    /// The data directories.
    pub(crate) fn directories(&self) -> &[DirectoryLock] {
        self.held.get().map_or(&[], Vec::as_slice)
    }

    /// How often the phase with that sequence number was run before.
    pub(crate) fn repetition_of(&self, sequence: u32) -> u64 {
        self.repeat.map_or(0, |repeat| repeat.repetition_of(sequence, self.phases))
    }
}
