//! When the kernel is asked for waits that last. It has their begins, so that asking costs less than a poll of /proc
//! and may be done more often: who waits now is known soon after the wait has become long.

use super::attachment::Attachment;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::pace::Pace;

/// Looks within the time from which on a wait is long: it is seen a quarter of that later at most.
const WITHIN_THRESHOLD: u64 = 4;
/// Looks may use a 400th of a CPU, where there are very many tasks.
const PAUSES: u64 = 400;

/// The time of the next look.
pub(super) struct LongWaits {
    pause_ns: u64,
    pace: Pace,
}

impl LongWaits {
    /// For waits that are long from `threshold_ns` on.
    pub(super) fn new(threshold_ns: u64) -> LongWaits {
        LongWaits { pause_ns: threshold_ns / WITHIN_THRESHOLD, pace: Pace::new(PAUSES) }
    }

    /// Looks if it is time to.
    pub(super) fn look(&mut self, attachment: &Attachment) {
        let now_ns = monotonic_ns();
        if !self.pace.is_due(now_ns) {
            return;
        }
        let before_ns = thread_cpu_ns();
        attachment.look_for_long_waits();
        self.pace.done(now_ns, thread_cpu_ns() - before_ns, self.pause_ns);
    }
}
