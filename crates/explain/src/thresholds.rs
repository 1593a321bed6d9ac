//! Fractions, windows and bounds by which several rules decide, each with its reason. One that only one rule has is
//! beside that rule.

/// A small part (1/8) of a time or an amount. What has less of a wait than this is not what the wait was for; what has
/// all but this of it says the same as the whole; what follows within this part of the time that something took follows
/// at once.
pub(crate) const SMALL_PART: u64 = 8;

/// A part (1/64) that says nothing: rounding, the tracer's own time, what happens now and then.
pub(crate) const RARE_PART: u64 = 64;

/// How many tasks one chain of waits is followed through: it bounds the work, and ends circles.
pub(crate) const CHAIN_TASKS: usize = 8;

/// How many devices on one another are followed (loop devices, the device mapper, md): it bounds the work, and ends
/// circles.
pub(crate) const DEVICE_LAYERS: usize = 8;

/// Until what was made dirty or logged is written: the flusher's interval (`vm.dirty_writeback_centisecs`) and the
/// commit interval of ext4's journal, both 5 s by default. Who asked something of a device, or made pages dirty, this
/// long before concerns a wait.
pub(crate) const WRITTEN_WITHIN_NS: u64 = 5_000_000_000;

/// A task that is woken for something runs, and does it, this soon on a CPU that is not overloaded.
pub(crate) const SOON_NS: u64 = 2_000_000;

/// A task that was refused a lock, or that a timer woke in its wait, tries again or sleeps on as soon as it gets a CPU.
pub(crate) const RETRY_NS: u64 = 20_000_000;

/// Programs that are refused a connection try again each second, or each minute.
pub(crate) const TRIES_WITHIN_NS: u64 = 120_000_000_000;

/// A process seen under two names within this time has executed a program in between: its number is not used again so
/// soon, which would need thousands of new processes a second.
pub(crate) const RENAMED_WITHIN_NS: u64 = 10_000_000_000;

/// A limit of dirty pages below this part of the machine's is a cgroup's or a disk's own. The machine's varies with its
/// free memory.
pub(crate) const OWN_DIRTY_LIMIT_PART: f64 = 0.75;

/// What is known of a disk's dirty pages at a moment counts so long before and after.
pub(crate) const DIRTY_PAGES_KNOWN_NS: u64 = 2_000_000_000;

/// Part of a memory limit that was in use where a cgroup was at it: the kernel reclaims a little below.
pub(crate) const MEMORY_LIMIT_REACHED_PART: f64 = 0.9;

/// The clocks of a poll of /proc and of the tracer differ by less.
pub(crate) const POLL_ERROR_NS: u64 = 1_000_000;

/// Sums of short waits for a CPU below this, or below a rare part of the time between two rows, say nothing.
pub(crate) const CPU_WAITS_LEAST_NS: u64 = 1_000_000;

/// A throttled wait at most this long before another belongs to the same closed loop: ten slices of blk-throttle.
pub(crate) const CLOSED_LOOP_WITHIN_NS: u64 = 1_000_000_000;

/// Tasks that are a convoy at least.
pub(crate) const CONVOY_TASKS: usize = 3;

/// Waits are equal if none is this many times as long as the other.
pub(crate) const EQUAL_WAITS_FACTOR: u64 = 2;

/// For each equal wait that is a stall there are at most this many others of which too little is known.
pub(crate) const EQUAL_WAITS_UNKNOWN: usize = 3;

/// The tracer's last look at a wait, and that at /proc, are no further apart.
pub(crate) const LOOKS_APART_NS: u64 = 2_000_000_000;

/// A client that a thread served so long before or after something is the one for which it did that.
pub(crate) const SERVED_WITHIN_NS: u64 = 5_000_000_000;

/// Maximum gap between sleeps of one page fault: the handler runs between them.
pub(crate) const SAME_FAULT_WITHIN_NS: u64 = 100_000;

/// The tracer records waits for others from an eighth of a slow operation on: between two parts of an answer there may
/// be one that is shorter.
pub(crate) const TRACED_PART: u64 = 8;

/// Dirty pages stay in memory for this long at most (`vm.dirty_expire_centisecs`), but for a disk that cannot keep up.
pub(crate) const DIRTY_EXPIRED_NS: u64 = 30_000_000_000;

/// A pause lasts at most 200 ms (MAX_PAUSE of the kernel): a writer that is not paused for longer is not throttled any
/// more.
pub(crate) const UNTHROTTLED_AFTER_NS: u64 = 1_000_000_000;

/// Counters are read each second, or more often: what happened between two readings is as old as that.
pub(crate) const SAMPLED_WITHIN_NS: u64 = 1_000_000_000;

/// Least part of what a cgroup reads that it had read before, for eviction to delay it: less is the cache's ordinary
/// turnover.
pub(crate) const READ_AGAIN_PART: f64 = 0.25;

/// Least of what a cgroup reads again at about that time, bytes: single pages delay nobody for long.
pub(crate) const READ_AGAIN_BYTES: u64 = 64 << 10;

/// Who used a disk this soon after a wait is taken for a user during it: a recording may begin amid slow requests,
/// whose owners show later.
pub(crate) const USED_AFTER_NS: u64 = 2_000_000_000;

/// Waits for a busy CPU while others idle that show that tasks are pinned to it: fewer can meet on one CPU by chance.
pub(crate) const PINNED_WAITS: usize = 20;

/// The shortest of these waits: the scheduler does not move a task for less.
pub(crate) const PINNED_WAIT_NS: u64 = 1_000_000;

/// Who waits for at least this part of the time over which its short waits are spread mostly waits: a program that
/// computes between them does not.
pub(crate) const MOSTLY_WAITING_PART: f64 = 0.5;

/// Part of its time in which an idle CPU ran something, at most.
pub(crate) const IDLE_CPU_PART: f64 = 0.7;

/// Who filled memory this long before it was short is a user of it.
pub(crate) const MEMORY_FILLED_WITHIN_NS: u64 = 10_000_000_000;

/// A CPU quota is used up within its period: 100 ms by default.
pub(crate) const QUOTA_PERIOD_NS: u64 = 100_000_000;

/// Who used a CPU this long before a wait for it is a user of it: who runs now waited for its turn before.
pub(crate) const CPU_USED_WITHIN_NS: u64 = 1_000_000_000;

/// Part of the time in which a task holds a lock that others wait for: for less than that, it is behind them otherwise,
/// such as on their CPU.
pub(crate) const HOLDS_LOCK_PART: f64 = 0.02;

/// Turns of one of several operations in flight, at least, that say how it goes on.
pub(crate) const IN_FLIGHT_TURNS: usize = 8;

/// Part of all turns that are turns of the usual number of operations in flight, at least.
pub(crate) const USUAL_TURNS_PART: f64 = 0.9;

const PASSED_ON_LEAST_NS: u64 = 10_000_000;
const PASSED_ON_MOST_NS: u64 = 50_000_000;

/// How soon a proxy passes on a request, or its answer, if what it passed on took that long: a small part of it, but
/// not less than a turn of its event loop, and not more than a user would call immediate.
pub(crate) fn passed_on_within_ns(took_ns: u64) -> u64 {
    (took_ns / SMALL_PART).clamp(PASSED_ON_LEAST_NS, PASSED_ON_MOST_NS)
}

#[cfg(test)]
mod tests {
    use super::passed_on_within_ns;

    #[test]
    fn a_proxy_passes_on_within_an_eighth_between_10_and_50_ms() {
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(passed_on_within_ns(0), ms(10));
        assert_eq!(passed_on_within_ns(ms(240)), ms(30));
        assert_eq!(passed_on_within_ns(ms(10_000)), ms(50));
    }
}
