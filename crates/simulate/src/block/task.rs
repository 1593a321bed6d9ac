//! Tasks and their pending steps.

use std::collections::VecDeque;

use super::device::Piece;

pub(super) struct Task {
    pub(super) pid: u32,
    pub(super) cpu: u32,
    pub(super) steps: VecDeque<Step>,
    /// Requests under the plug, newest last.
    pub(super) plugged: Vec<usize>,
}

/// A step emits one event.
pub(super) enum Step {
    Plug(usize),
    Queue(Piece),
    /// A bio goes through a partition first.
    ComeFromPartition(Piece),
    QueueStacked(Piece),
    Remap(Piece),
    Split {
        piece: Piece,
        sectors: u32,
    },
    Enter(Piece),
    EnterFlush(Piece),
    Unplug(usize),
    Send(usize),
}

impl Task {
    pub(super) fn new(pid: u32, cpu: u32) -> Task {
        Task { pid, cpu, steps: VecDeque::new(), plugged: Vec::new() }
    }
}
