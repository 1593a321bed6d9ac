//! A process: the call it is in, and the step within it.

use super::heuristic::OpenFile;
use super::wait::Waiting;
use crate::observer::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    ReadStart,
    ReadBlock,
    ReadDone,
    WriteStart,
    WriteLock,
    WriteBlock,
    Copied,
    /// It starts the writes in `pushes`.
    Push,
    WriteDone,
    /// It flushes its own file to get space, and continues with `after_help`.
    Help,
    Finished,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) tid: u32,
    pub(super) step: Step,
    pub(super) offset: u64,
    /// For reads, and for writes; only the first is used if they share it.
    pub(super) open: [OpenFile; 2],
    pub(super) start_ns: u64,
    pub(super) seqcount: u64,
    /// Bytes of the write call, and the bytes left to write.
    pub(super) call: u64,
    pub(super) left: u64,
    /// The block's buffer is new.
    pub(super) fresh: bool,
    /// Clusters to write: the first block, and how many.
    pub(super) pushes: Vec<(u64, u64)>,
    /// All dirty blocks must be written.
    pub(super) sync: bool,
    pub(super) help: u64,
    pub(super) after_help: Step,
    pub(super) waiting: Option<Waiting>,
}

impl Task {
    /// The call in progress.
    pub(super) fn unfinished(&self, end_ns: u64) -> Option<Operation> {
        let step = if self.step == Step::Help { self.after_help } else { self.step };
        let (class, bytes) = match step {
            Step::ReadStart | Step::WriteStart | Step::Finished => return None,
            Step::ReadBlock | Step::ReadDone => ("read", 0),
            _ => ("write", self.call - self.left),
        };
        Some(Operation { class, tid: self.tid, start_ns: self.start_ns, end_ns, bytes })
    }

    pub(super) fn new(tid: u32, dd: bool) -> Task {
        Task {
            tid,
            step: if dd { Step::WriteStart } else { Step::ReadStart },
            offset: 0,
            open: [OpenFile::new(), OpenFile::new()],
            start_ns: 0,
            seqcount: 0,
            call: 0,
            left: 0,
            fresh: false,
            pushes: Vec::new(),
            sync: false,
            help: 0,
            after_help: Step::Finished,
            waiting: None,
        }
    }
}
