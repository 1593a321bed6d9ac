//! Disks, bios and requests of the simulation.

use std::collections::VecDeque;

use model::block::{DeviceNumber, Kind};

use super::true_bio::TrueBio;

/// A bio, or a piece of one.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) disk: usize,
    pub(super) kind: Kind,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) pid: u32,
    pub(super) cgroup: u64,
    pub(super) queued_ns: u64,
    pub(super) entered_ns: u64,
    pub(super) merged: bool,
    /// The bio of the stacked device that waits for this one.
    pub(super) above: Option<Above>,
}

/// A bio of the stacked device, remapped whole.
#[derive(Debug, Clone)]
pub(super) struct Above {
    pub(super) sector: u64,
    pub(super) queued_ns: u64,
    pub(super) remapped_ns: u64,
}

impl Piece {
    pub(super) fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}

/// A request's state in the flush machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushStep {
    /// Does not go through it.
    None,
    /// Waits for the flush before its data; without data, this is the only step.
    Before,
    /// Its data is written.
    Data,
    /// Waits for the flush after its data.
    After,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) disk: usize,
    pub(super) kind: Kind,
    pub(super) pid: u32,
    pub(super) cpu: u32,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// The first is the bio that it was allocated for.
    pub(super) pieces: Vec<Piece>,
    pub(super) inserted_ns: Option<u64>,
    pub(super) issued_ns: u64,
    pub(super) flush: FlushStep,
    pub(super) flush_after: bool,
    /// It has been requeued or completed in part once, and will not be again.
    pub(super) troubled: bool,
}

impl Request {
    pub(super) fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    /// The ground truth of one of its bios, which completes now.
    pub(super) fn truth(&self, piece: &Piece, device: DeviceNumber, now_ns: u64) -> TrueBio {
        let got_request = !piece.merged;
        let directly = self.inserted_ns.is_none();
        let some = |condition: bool, from: u64, to: u64| condition.then(|| to - from);
        TrueBio {
            device,
            kind: piece.kind,
            sector: piece.sector,
            sectors: piece.sectors,
            pid: piece.pid,
            cgroup: piece.cgroup,
            queued_ns: piece.queued_ns,
            completed_ns: now_ns,
            q2g_ns: some(got_request, piece.queued_ns, piece.entered_ns),
            g2i_ns: self.inserted_ns.filter(|_| got_request).map(|at| at - piece.entered_ns),
            g2d_ns: some(got_request && directly, piece.entered_ns, self.issued_ns),
            q2m_ns: some(piece.merged, piece.queued_ns, piece.entered_ns),
            i2d_ns: self.inserted_ns.filter(|_| got_request).map(|at| self.issued_ns - at),
            m2d_ns: some(piece.merged, piece.entered_ns, self.issued_ns),
            d2c_ns: Some(now_ns - self.issued_ns),
            q2a_ns: None,
            a2c_ns: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub(super) number: DeviceNumber,
    pub(super) scheduler: bool,
    pub(super) reads_first: bool,
    /// Whether durable writes need no flush after them.
    pub(super) durable: bool,
    pub(super) at_work: u32,
    pub(super) queue: VecDeque<usize>,
    /// Requests waiting for the next flush, and for the one under way.
    pub(super) flush_pending: Vec<usize>,
    pub(super) flush_running: Vec<usize>,
    pub(super) flush_issued_ns: u64,
}
