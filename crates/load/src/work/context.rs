//! What all threads of the load share.

use std::path::PathBuf;

use crate::board::Board;
use crate::data::FileSet;
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
    pub(crate) data_directories: Vec<PathBuf>,
    pub(crate) file_sets: Vec<FileSet>,
    /// How many phases the plan has, and which of them are run again.
    pub(crate) phases: usize,
    pub(crate) repeat: Option<Repeat>,
    /// Whether only what an earlier run wrote is read back.
    pub(crate) after_crash: bool,
    /// First thread of the actor whose ranks write until a time limit, not until all is written.
    pub(crate) first_timed_writer: Option<usize>,
}

impl LoadContext {
    /// How often the phase of that turn was run before.
    pub(crate) fn repetition_of(&self, sequence: u32) -> u64 {
        self.repeat.map_or(0, |repeat| repeat.repetition_of(sequence, self.phases))
    }
}
