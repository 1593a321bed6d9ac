//! The trace's clock: steps back, gaps, and jumps ahead.

/// A moment at which the clock is not to be trusted: no duration that spans it means anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// The clock before it.
    pub at_ns: u64,
    /// By how much; negative is back.
    pub by_ns: i64,
    /// Number of the event after it, from 0.
    pub event: u64,
}

/// What the clock did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockReport {
    /// How often it went back.
    pub backward_steps: u64,
    /// Longest time between two events.
    pub largest_forward_gap_ns: u64,
    /// Steps back, and leaps ahead while I/O was in flight; the first [`ClockReport::KEPT`] of them.
    pub jumps: Vec<Jump>,
    /// How many there were.
    pub jump_count: u64,
}

impl ClockReport {
    /// So many jumps are kept one by one.
    pub const KEPT: usize = 1000;
}

#[derive(Default)]
pub(super) struct Clock {
    pub(super) first_ns: Option<u64>,
    pub(super) now_ns: u64,
    /// Time that has really passed: steps back and jumps ahead are left out. Ages are measured with it.
    pub(super) lived_ns: u64,
    /// How many jumps there were: two moments with different epochs cannot be compared.
    pub(super) epoch: u32,
    pub(super) report: ClockReport,
}

impl Clock {
    /// Takes notice of an event's time. `busy`: whether anything is in flight; an idle trace may rest as long as it
    /// likes.
    #[inline]
    pub(super) fn tick(&mut self, time_ns: u64, event: u64, busy: bool, jump_ns: u64) {
        let ahead = time_ns.wrapping_sub(self.now_ns) as i64;
        if ahead < 0 || ahead as u64 > self.report.largest_forward_gap_ns || self.first_ns.is_none() {
            self.notice(time_ns, event, busy, jump_ns);
        } else {
            self.lived_ns = self.lived_ns.saturating_add(ahead as u64);
        }
        self.now_ns = time_ns;
    }

    #[cold]
    fn notice(&mut self, time_ns: u64, event: u64, busy: bool, jump_ns: u64) {
        if self.first_ns.is_none() {
            self.first_ns = Some(time_ns);
            return;
        }
        let by_ns = time_ns.wrapping_sub(self.now_ns) as i64;
        if time_ns < self.now_ns {
            self.report.backward_steps += 1;
            self.jump(by_ns, event);
            return;
        }
        let gap_ns = time_ns - self.now_ns;
        self.report.largest_forward_gap_ns = self.report.largest_forward_gap_ns.max(gap_ns);
        if gap_ns >= jump_ns && busy {
            self.jump(by_ns, event);
        } else {
            self.lived_ns = self.lived_ns.saturating_add(gap_ns);
        }
    }

    fn jump(&mut self, by_ns: i64, event: u64) {
        self.epoch = self.epoch.wrapping_add(1);
        self.report.jump_count += 1;
        if self.report.jumps.len() < ClockReport::KEPT {
            self.report.jumps.push(Jump { at_ns: self.now_ns, by_ns, event });
        }
    }
}
