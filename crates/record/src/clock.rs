//! The clocks of a run.

use model::time::Moment;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Both clocks belong to one moment when read within this time.
const CLOSE_NS: u64 = 5_000;
const ATTEMPTS: u32 = 4;

/// Both clocks, read closely together: the wall clock between two readings of the monotonic one, whose middle counts.
/// Where the thread is interrupted between them it tries again, and keeps the closest.
pub fn now() -> Moment {
    let mut best = (u64::MAX, Moment::default());
    for _ in 0..ATTEMPTS {
        let before = monotonic_ns();
        let wall = clock_gettime(ClockId::Realtime);
        let width = monotonic_ns() - before;
        if width < best.0 {
            let wall_ns = wall.tv_sec * 1_000_000_000 + wall.tv_nsec;
            best = (width, Moment { monotonic_ns: before + width / 2, wall_ns });
        }
        if width <= CLOSE_NS {
            break;
        }
    }
    best.1
}

/// `CLOCK_MONOTONIC`, ns.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Sleeps until a moment of `CLOCK_MONOTONIC`; returns at once if it has passed. A signal may end the sleep early,
/// which a [`crate::Ticker`] notices.
pub fn sleep_until(monotonic_ns: u64) {
    let seconds = i64::try_from(monotonic_ns / 1_000_000_000).unwrap_or(i64::MAX);
    let until = Timespec { tv_sec: seconds, tv_nsec: (monotonic_ns % 1_000_000_000) as _ };
    // The errors are an interruption, and those of a malformed time, which this is not.
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &until);
}

/// CPU time that the calling thread has used, ns.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time that all threads of this process have used, ns.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn sleeping_lasts_until_its_end() {
        let end = super::monotonic_ns() + 2_000_000;
        while super::monotonic_ns() < end {
            super::sleep_until(end);
        }
        super::sleep_until(0);
    }

    #[test]
    fn clocks_advance() {
        let before = super::now();
        let cpu = (super::thread_cpu_ns(), super::process_cpu_ns());
        while super::thread_cpu_ns() == cpu.0 {}
        assert!(super::process_cpu_ns() > cpu.1);
        assert!(super::now().monotonic_ns > before.monotonic_ns);
        assert!(before.wall_ns > 0);
    }
}
