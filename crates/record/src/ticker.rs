//! When samples are due, and gaps and steps of the clocks. Pure: the time is passed in.

use model::event::RunEvent;
use model::time::Moment;

/// A grid of planned moments on the monotonic clock.
///
/// A sampler that could not run misses planned moments. They are recorded as a gap and never caught up:
/// a burst of samples after a stall would show one state many times, and cost most when the machine is busiest.
#[derive(Debug, Clone)]
pub struct Ticker {
    interval_ns: u64,
    next_ns: u64,
}

/// A sample that is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The moment of the grid.
    pub planned_ns: u64,
    /// How long ago that was.
    pub late_ns: u64,
    /// First planned moment missed before it, and how many were missed.
    pub missed: Option<(u64, u32)>,
    interval_ns: u64,
}

impl Ticker {
    /// A grid of `start_ns`, `start_ns + interval_ns`, ... An interval of 0 is taken as 1 ns.
    pub fn new(start_ns: u64, interval_ns: u64) -> Ticker {
        Ticker { interval_ns: interval_ns.max(1), next_ns: start_ns }
    }

    /// The moment to sleep until.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The tick due at `now_ns`; `None` if none is due yet. Of several planned moments that have passed, the latest
    /// counts.
    pub fn fire(&mut self, now_ns: u64) -> Option<Tick> {
        let behind = now_ns.checked_sub(self.next_ns)?;
        let skipped = behind / self.interval_ns;
        let planned_ns = self.next_ns + skipped * self.interval_ns;
        let missed = (skipped > 0).then(|| (self.next_ns, u32::try_from(skipped).unwrap_or(u32::MAX)));
        self.next_ns = planned_ns.saturating_add(self.interval_ns);
        Some(Tick { planned_ns, late_ns: now_ns - planned_ns, missed, interval_ns: self.interval_ns })
    }
}

impl Tick {
    /// The run events of this tick, taken as sample `sample`: the gap before it, and its lateness
    /// if that exceeds a tenth of the interval.
    pub fn events(&self, sample: u32) -> impl Iterator<Item = RunEvent> {
        let to_ns = self.planned_ns + self.late_ns;
        let gap = self.missed.map(|(from_ns, samples)| RunEvent::Gap { from_ns, to_ns, samples });
        let late =
            (self.late_ns > self.interval_ns / 10).then_some(RunEvent::LateSample { sample, late_ns: self.late_ns });
        gap.into_iter().chain(late)
    }
}

/// Detects steps of the wall clock.
///
/// The kernel slews both clocks alike (NTP's frequency and phase corrections change the length of their common second),
/// so they part only where someone sets the wall clock, at a leap second, and over a suspend. Small steps are summed up
/// until they reach the threshold.
#[derive(Debug, Clone)]
pub struct ClockWatch {
    threshold_ns: u64,
    reference: Moment,
}

impl ClockWatch {
    /// Default threshold: well above the width of a reading of both clocks, below what a user would see.
    pub const DEFAULT_THRESHOLD_NS: u64 = 50_000_000;

    /// Watches from `start` on.
    pub fn new(start: Moment, threshold_ns: u64) -> ClockWatch {
        ClockWatch { threshold_ns, reference: start }
    }

    /// A step since the last one reported.
    pub fn observe(&mut self, at: Moment) -> Option<RunEvent> {
        let by_ns = at.wall_drift_ns(self.reference);
        if by_ns.unsigned_abs() < self.threshold_ns {
            return None;
        }
        self.reference = at;
        Some(RunEvent::ClockStep { at_ns: at.monotonic_ns, by_ns })
    }
}

#[cfg(test)]
mod tests;
