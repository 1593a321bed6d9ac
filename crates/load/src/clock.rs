//! The monotonic clock.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC`, in nanoseconds. Read through the vDSO, without a system call.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Sleeps until that time; a signal may end it earlier.
pub(crate) fn sleep_until_ns(moment_ns: u64) {
    let request = Timespec { tv_sec: (moment_ns / NS_PER_S) as i64, tv_nsec: (moment_ns % NS_PER_S) as i64 };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
}

/// Interval at which a sleeping thread checks whether to stop.
const NAP_NS: u64 = 20_000_000;

/// Sleeps until that time; `false`: `is_over` became true before.
pub(crate) fn sleep_watching(moment_ns: u64, is_over: impl Fn() -> bool) -> bool {
    loop {
        let now = now_ns();
        if is_over() {
            return false;
        }
        if now >= moment_ns {
            return true;
        }
        sleep_until_ns(moment_ns.min(now + NAP_NS));
    }
}
