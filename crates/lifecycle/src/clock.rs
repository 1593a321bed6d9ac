//! The trace's clock: backward steps, gaps and forward jumps.

/// A clock jump. Durations that span it are meaningless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// The clock before it.
    pub at_ns: u64,
    /// Size; negative is backward.
    pub by_ns: i64,
    /// Number of the event after it, counted from 0.
    pub event: u64,
}

/// What the clock did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockReport {
    /// Number of backward steps.
    pub backward_steps: u64,
    /// Longest time between two events.
    pub largest_forward_gap_ns: u64,
    /// Backward steps, and forward jumps with I/O in flight; the first [`ClockReport::KEPT`].
    pub jumps: Vec<Jump>,
    /// Number of jumps.
    pub jump_count: u64,
}

impl ClockReport {
    /// Maximum number of jumps recorded individually.
    pub const KEPT: usize = 1000;
}

#[derive(Default)]
pub(super) struct Clock {
    pub(super) first_ns: Option<u64>,
    pub(super) now_ns: u64,
    /// Elapsed time without backward steps and forward jumps. Ages use it.
    pub(super) lived_ns: u64,
    /// Number of jumps so far: times of different epochs cannot be compared.
    pub(super) epoch: u32,
    pub(super) report: ClockReport,
}

impl Clock {
    /// Adds an event's time. `busy`: whether I/O is in flight; an idle trace may pause for any time.
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
