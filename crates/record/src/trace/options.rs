//! What to trace.

use model::stall::TraceSettings;

use super::follow::Followed;

/// What to trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Thresholds, and whether every block request is recorded.
    pub settings: TraceSettings,
    /// A task that has been blocked for this long is reported while it is still blocked.
    pub blocked_ns: u64,
    /// Tasks that are watched like the recorded command.
    pub follow: Vec<Followed>,
    /// Whether stacks of the programs themselves are recorded.
    pub user_stacks: bool,
}

impl TraceOptions {
    /// For operations slower than `slow_ns`. Waits of a hundredth of it are recorded individually, which leaves space
    /// in a busy machine's ring; never less than 1 ms or more than 10 ms. A task is blocked from `slow_ns` on, and
    /// never before 100 ms.
    pub fn slower_than(slow_ns: u64, all_requests: bool) -> TraceOptions {
        let interval_ns = (slow_ns / 100).clamp(1_000_000, 10_000_000);
        TraceOptions {
            settings: TraceSettings { slow_ns, interval_ns, all_requests },
            blocked_ns: slow_ns.max(100_000_000),
            follow: Vec::new(),
            user_stacks: false,
        }
    }
}
