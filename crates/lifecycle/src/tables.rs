//! Counts and distributions per device.

use model::block::{DeviceNumber, Kind, Operation};

use super::certainty::Certainty;
use super::histogram::Histogram;
use super::phase::{PerPhase, Phase};
use super::tally::OfDevice;
use super::timeline::Timeline;

/// Distances between the end of one I/O and the start of the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeks {
    /// Absolute distances in sectors; 0 is sequential.
    pub distance: Histogram,
    /// Number of seeks towards lower sectors.
    pub backward: u64,
}

/// Plugging: tasks that collect requests to submit them together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plugs {
    /// Plugs.
    pub plugs: u64,
    /// Unplugs by the task itself.
    pub unplugs: u64,
    /// Unplugs by a timer.
    pub timer_unplugs: u64,
    /// Requests released by the task's unplugs.
    pub unplugged: u64,
    /// Requests released by timers.
    pub timer_unplugged: u64,
    /// Time during which at least one task was plugged.
    pub plugged_ns: u64,
}

/// Latencies of one kind of I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindTimes {
    /// Bios queued.
    pub queued: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Q2C.
    pub q2c: Histogram,
    /// D2C.
    pub d2c: Histogram,
}

/// Bios excluded from all figures, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedOut {
    /// The clock jumped while they were in flight.
    pub across_clock_jump: u64,
    /// Events were lost while they were in flight, possibly theirs.
    pub after_loss: u64,
    /// One event was lost while they were in flight: they count, except for the phases that it could belong to.
    pub in_part: u64,
}

/// Counts and distributions of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTables {
    /// Events.
    pub events: u64,
    /// Events by action's number.
    pub actions: [u64; 20],
    /// Each phase's distribution.
    pub phases: PerPhase<Histogram>,
    /// Sums of the phases over the bios whose phases are all known, and their Q2C.
    pub overhead_ns: PerPhase<u128>,
    /// Q2C of the bios whose phases are not all known.
    pub undivided_ns: u128,
    /// By kind's number, in order of first appearance.
    pub kinds: Vec<(Kind, KindTimes)>,
    /// Bios queued, plus one for each split.
    pub bios: u64,
    /// Issues, except those after a requeue.
    pub requests: u64,
    /// Bios completed.
    pub completed: u64,
    /// Bios completed with an error.
    pub errors: u64,
    /// Bios merged into a request.
    pub merges: u64,
    /// Requests merged into a request.
    pub request_merges: u64,
    /// Splits.
    pub splits: u64,
    /// Requeues.
    pub requeues: u64,
    /// Time that requeued requests spent at the driver.
    pub requeued_ns: u64,
    /// Waits for a request (tag).
    pub sleeps: u64,
    /// Bios remapped from another device, by that device.
    pub remapped_from: Vec<(DeviceNumber, u64)>,
    /// Distances between bios.
    pub q2q_seeks: Seeks,
    /// Distances between issues.
    pub d2d_seeks: Seeks,
    /// Length of issued requests in sectors: reads, writes, discards, others.
    pub sizes: [Histogram; 4],
    /// Bios in flight when another is queued.
    pub depth_at_queue: Histogram,
    /// Requests at the driver when a bio is queued.
    pub issued_at_queue: Histogram,
    /// Flushes of the device's cache by the flush machinery: D2C.
    pub flushes: Histogram,
    /// Passed-through commands: D2C.
    pub passthrough: Histogram,
    /// Plugging.
    pub plugs: Plugs,
    /// Lengths of times with I/O in flight.
    pub active: Histogram,
    /// Lengths of idle times between them.
    pub idle: Histogram,
    /// Bios excluded from all figures.
    pub counted_out: CountedOut,
    /// Gaps in the sequence numbers, and the events lost in them.
    pub lost: (u64, u64),
    /// Over time.
    pub timeline: Timeline,
}

pub(super) fn size_column(operation: Operation) -> usize {
    (operation as usize).wrapping_sub(1).min(3)
}

impl Seeks {
    pub(super) fn count(&mut self, end: u64, start: u64) {
        self.distance.record(start.abs_diff(end));
        self.backward += u64::from(start < end);
    }
}

impl DeviceTables {
    pub(super) fn new(now_ns: u64) -> DeviceTables {
        DeviceTables {
            events: 0,
            actions: [0; 20],
            phases: PerPhase::default(),
            overhead_ns: PerPhase::default(),
            undivided_ns: 0,
            kinds: Vec::new(),
            bios: 0,
            requests: 0,
            completed: 0,
            errors: 0,
            merges: 0,
            request_merges: 0,
            splits: 0,
            requeues: 0,
            requeued_ns: 0,
            sleeps: 0,
            remapped_from: Vec::new(),
            q2q_seeks: Seeks::default(),
            d2d_seeks: Seeks::default(),
            sizes: Default::default(),
            depth_at_queue: Histogram::default(),
            issued_at_queue: Histogram::default(),
            flushes: Histogram::default(),
            passthrough: Histogram::default(),
            plugs: Plugs::default(),
            active: Histogram::default(),
            idle: Histogram::default(),
            counted_out: CountedOut::default(),
            lost: (0, 0),
            timeline: Timeline::new(now_ns),
        }
    }

    /// Counts a completed bio.
    pub(super) fn count_completion(&mut self, certainty: Certainty, failed: bool) {
        self.completed += 1;
        self.errors += u64::from(failed);
        match certainty {
            Certainty::Exact => {}
            Certainty::AcrossJump => self.counted_out.across_clock_jump += 1,
            Certainty::Likely => self.counted_out.after_loss += 1,
            Certainty::Part => self.counted_out.in_part += 1,
        }
    }

    /// Takes the distributions of completed bios.
    pub(super) fn take(&mut self, tally: OfDevice) {
        for phase in Phase::PARTS.into_iter().filter(|phase| *phase != Phase::D2C) {
            self.phases[phase].merge(&tally.phases[phase]);
        }
        (self.overhead_ns, self.undivided_ns) = (tally.overhead_ns, tally.undivided_ns);
        for (kind, [q2c, d2c]) in tally.kinds {
            self.phases[Phase::Q2C].merge(&q2c);
            self.phases[Phase::D2C].merge(&d2c);
            let times = self.kind(kind);
            (times.q2c, times.d2c) = (q2c, d2c);
        }
    }

    /// Times of one kind; at most 256 kinds exist, few occur.
    pub(super) fn kind(&mut self, kind: Kind) -> &mut KindTimes {
        let at = match self.kinds.iter().position(|(counted, _)| *counted == kind) {
            Some(at) => at,
            None => {
                self.kinds.push((kind, KindTimes::default()));
                self.kinds.len() - 1
            }
        };
        &mut self.kinds[at].1
    }
}
