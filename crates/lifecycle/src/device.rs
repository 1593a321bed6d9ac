//! The state of a device during a trace: bios in flight, plugs, losses, and its tables.

use model::block::{BlockEvent, DeviceNumber};

use super::bio::UNSEEN;
use super::phase::{Phase, PhaseTimes};
use super::tables::{DeviceTables, size_column};

/// A device's tables, and the state that feeds them.
pub(super) struct Device {
    pub(super) number: DeviceNumber,
    pub(super) tables: DeviceTables,
    pub(super) in_flight: u32,
    pub(super) issued: u32,
    /// Issue time of the flush that completed last.
    pub(super) flush_issued_ns: u64,
    /// Number of that issue event: the clock may step back, event numbers do not.
    pub(super) flush_issued_event: u64,
    /// The newest discard request, and the number of its event.
    pub(super) newest_discard: (u32, u64),
    /// Whether flush sequences end with a separate completion on this device; see the complete event.
    pub(super) sequences_end: bool,
    losses: Losses,
    /// Losses before the last flushes of the disk ended, oldest first; see [`Device::losses_before_flushes`].
    flush_losses: [u32; 3],
    /// Remaps before the first queue event, which may stand for it.
    pub(super) pending_remaps: Vec<BlockEvent>,
    last_queue: Last,
    last_issue: Last,
    plugged: Vec<u32>,
    plugged_since_ns: u64,
    activity_since_ns: u64,
}

/// The previous I/O, for distances between two.
#[derive(Clone, Copy)]
struct Last {
    time_ns: u64,
    end: u64,
    losses: u32,
    epoch: u32,
}

/// Lost events; a loss is open while its interval lasts.
#[derive(Default)]
struct Losses {
    events: u32,
    open: Vec<(u64, u32)>,
}

impl Losses {
    /// Maximum number of open intervals; a sane trace has at most one per CPU.
    const OPEN: usize = 1024;

    /// Losses that ended before `now_ns`: a bio queued now cannot have lost events to them.
    fn over(&mut self, now_ns: u64) -> u32 {
        if self.open.is_empty() {
            return self.events;
        }
        self.open.retain(|(until_ns, _)| *until_ns > now_ns);
        self.events.wrapping_sub(self.open.iter().fold(0, |sum, (_, count)| sum.wrapping_add(*count)))
    }
}

/// Maximum number of source devices counted separately.
const REMAP_SOURCES: usize = 256;
/// Maximum number of plugged tasks tracked.
const PLUGGED: usize = 1024;

impl Device {
    pub(super) fn new(number: DeviceNumber, now_ns: u64) -> Device {
        let never = Last { time_ns: UNSEEN, end: 0, losses: 0, epoch: 0 };
        Device {
            number,
            pending_remaps: Vec::new(),
            tables: DeviceTables::new(now_ns),
            in_flight: 0,
            issued: 0,
            flush_issued_ns: UNSEEN,
            flush_issued_event: 0,
            newest_discard: (u32::MAX, 0),
            sequences_end: false,
            losses: Losses::default(),
            flush_losses: [0; 3],
            last_queue: never,
            last_issue: never,
            plugged: Vec::new(),
            plugged_since_ns: 0,
            activity_since_ns: UNSEEN,
        }
    }

    /// A reader's mark: `count` events are missing until `until_ns`.
    pub(super) fn lose(&mut self, count: u64, until_ns: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX / 2);
        self.losses.events = self.losses.events.wrapping_add(count);
        if self.losses.open.len() < Losses::OPEN {
            self.losses.open.push((until_ns, count));
        }
        self.tables.lost.0 += 1;
        self.tables.lost.1 += u64::from(count);
        // The plugged tasks are unknown now. The time until now counts as not plugged.
        self.plugged.clear();
    }

    /// Kept by a bio queued now, for [`Device::lost_since`].
    #[inline]
    pub(super) fn losses_before(&mut self, now_ns: u64) -> u32 {
        self.losses.over(now_ns)
    }

    /// The same for a flush without data. These share one range: a flush whose queue event was lost can take the
    /// completion of a later one. It is gone once three flushes of the disk have ended: the flush in progress when it
    /// was queued, the flush that carried it, and one more, before which it completed.
    pub(super) fn losses_before_flushes(&self) -> u32 {
        self.flush_losses[0]
    }

    /// A flush of the disk has ended.
    pub(super) fn flush_ended(&mut self, issued_ns: u64, issued_event: u64) {
        (self.flush_issued_ns, self.flush_issued_event) = (issued_ns, issued_event);
        self.flush_losses = [self.flush_losses[1], self.flush_losses[2], self.losses.events];
    }

    /// Whether any event of the device was lost so far.
    pub(super) fn has_lost(&self) -> bool {
        self.tables.lost.0 > 0
    }

    /// How many events were lost since a bio kept [`Device::losses_before`].
    #[inline]
    pub(super) fn lost_since(&self, before: u32) -> u32 {
        self.losses.events.wrapping_sub(before)
    }

    /// Counts a bio that is queued.
    pub(super) fn count_queue(&mut self, event: &BlockEvent, epoch: u32) {
        let losses = self.losses.over(event.time_ns);
        let last = self.last_queue;
        if last.time_ns != UNSEEN && last.epoch == epoch && last.losses == self.losses.events {
            let mut phases = PhaseTimes::default();
            phases.span(Phase::Q2Q, last.time_ns, event.time_ns);
            if let Some(time_ns) = phases.get(Phase::Q2Q) {
                self.tables.phases[Phase::Q2Q].record(time_ns);
            }
            if event.bytes > 0 {
                self.tables.q2q_seeks.count(last.end, event.sector);
            }
        }
        let end = if event.bytes > 0 { event.sector.wrapping_add(u64::from(event.sectors())) } else { last.end };
        self.last_queue = Last { time_ns: event.time_ns, end, losses, epoch };
        self.tables.depth_at_queue.record(u64::from(self.in_flight));
        self.tables.issued_at_queue.record(u64::from(self.issued));
        let times = self.tables.kind(event.kind);
        times.queued += 1;
        times.queued_bytes += u64::from(event.bytes);
    }

    /// Counts a bio whose queueing the trace does not have.
    pub(super) fn count_unqueued(&mut self, event: &BlockEvent) {
        let times = self.tables.kind(event.kind);
        times.queued += 1;
        times.queued_bytes += u64::from(event.bytes);
    }

    /// A bio enters the device's care: queued, or split off.
    pub(super) fn enter(&mut self, now_ns: u64) {
        if self.in_flight == 0 {
            if self.activity_since_ns != UNSEEN && now_ns >= self.activity_since_ns {
                self.tables.idle.record(now_ns - self.activity_since_ns);
            }
            self.activity_since_ns = now_ns;
        }
        self.in_flight += 1;
        self.tables.bios += 1;
        self.tables.timeline.queue(now_ns, self.in_flight);
    }

    /// A bio leaves it.
    pub(super) fn leave(&mut self, now_ns: u64) {
        self.in_flight -= 1;
        if self.in_flight == 0 {
            if now_ns >= self.activity_since_ns {
                self.tables.active.record(now_ns - self.activity_since_ns);
            }
            self.activity_since_ns = now_ns;
        }
    }

    /// Counts a request that goes to the driver for the first time.
    pub(super) fn count_issue(&mut self, event: &BlockEvent, epoch: u32) {
        self.tables.requests += 1;
        self.tables.sizes[size_column(event.kind.operation())].record(u64::from(event.sectors()));
        let last = self.last_issue;
        if event.bytes > 0 {
            if last.time_ns != UNSEEN && last.epoch == epoch && last.losses == self.losses.events {
                self.tables.d2d_seeks.count(last.end, event.sector);
            }
            let end = event.sector.wrapping_add(u64::from(event.sectors()));
            self.last_issue = Last { time_ns: event.time_ns, end, losses: self.losses.events, epoch };
        }
    }

    pub(super) fn plug(&mut self, pid: u32, now_ns: u64) {
        self.tables.plugs.plugs += 1;
        if self.plugged.len() < PLUGGED && !self.plugged.contains(&pid) {
            if self.plugged.is_empty() {
                self.plugged_since_ns = now_ns;
            }
            self.plugged.push(pid);
        }
    }

    pub(super) fn unplug(&mut self, event: &BlockEvent, by_timer: bool) {
        let plugs = &mut self.tables.plugs;
        if by_timer {
            plugs.timer_unplugs += 1;
            plugs.timer_unplugged = plugs.timer_unplugged.saturating_add(event.argument);
        } else {
            plugs.unplugs += 1;
            plugs.unplugged = plugs.unplugged.saturating_add(event.argument);
        }
        if let Some(at) = self.plugged.iter().position(|&pid| pid == event.pid) {
            self.plugged.swap_remove(at);
            if self.plugged.is_empty() {
                let held_ns = event.time_ns.saturating_sub(self.plugged_since_ns);
                plugs.plugged_ns = plugs.plugged_ns.saturating_add(held_ns);
            }
        }
    }

    pub(super) fn remap(&mut self, from: DeviceNumber) {
        let known = &mut self.tables.remapped_from;
        match known.iter().position(|(device, _)| *device == from) {
            Some(at) => known[at].1 += 1,
            None if known.len() < REMAP_SOURCES => known.push((from, 1)),
            None => {}
        }
    }
}
