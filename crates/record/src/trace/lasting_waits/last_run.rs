//! When a thread ran last: `se.exec_start` of /proc/PID/task/TID/sched
//! (kernel/sched/debug.c; kernels with CONFIG_SCHED_DEBUG, and all since 6.15). It is of the scheduler's clock, whose
//! distance to the monotonic one is that of a thread that runs now.

use std::path::Path;

use crate::bytes::read_text;
use crate::clock::monotonic_ns;

/// The scheduler's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastRuns {
    /// What it is ahead of the monotonic clock; too little by a tick at most.
    ahead_ns: i64,
}

impl LastRuns {
    /// `None` where this kernel does not say it.
    pub(super) fn new(proc: &Path) -> Option<LastRuns> {
        let of_own = started_ns(&proc.join("thread-self"))?;
        Some(LastRuns { ahead_ns: of_own.wrapping_sub(monotonic_ns().cast_signed()) })
    }

    /// When a thread that sleeps ran last, on the monotonic clock.
    pub(super) fn of(self, thread: &Path) -> Option<u64> {
        u64::try_from(started_ns(thread)?.checked_sub(self.ahead_ns)?).ok().filter(|ns| *ns > 0)
    }
}

/// The line `se.exec_start   :   1763121.291615`, in ms, as ns.
fn started_ns(thread: &Path) -> Option<i64> {
    let text = read_text(thread.join("sched")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("se.exec_start"))?;
    let (ms, fraction) = line.trim_start().strip_prefix(':')?.trim().split_once('.')?;
    let ns: i64 = if fraction.len() == 6 { fraction.parse().ok()? } else { return None };
    ms.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::LastRuns;
    use crate::clock::monotonic_ns;

    #[test]
    fn a_sleeper_ran_when_it_fell_asleep() {
        let proc = Path::new("/proc");
        let Some(runs) = LastRuns::new(proc) else {
            return println!("skipped: this kernel does not say when a thread ran last");
        };
        let mut child = Command::new("sleep").arg("100").stdin(Stdio::null()).spawn().unwrap();
        let thread = proc.join(format!("{0}/task/{0}", child.id()));
        while !fs::read_to_string(thread.join("stat")).unwrap().contains(") S") {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(400));
        let (now_ns, ran_ns) = (monotonic_ns(), runs.of(&thread));
        child.kill().unwrap();
        child.wait().unwrap();
        let slept_ms = (now_ns - ran_ns.unwrap()) / 1_000_000;
        assert!((350..10_000).contains(&slept_ms), "{slept_ms} ms");
    }

    #[test]
    fn what_a_kernel_does_not_say_is_unknown() {
        let proc = tempfile::tempdir().unwrap();
        let own = proc.path().join("thread-self");
        fs::create_dir(&own).unwrap();
        assert!(LastRuns::new(proc.path()).is_none());
        for text in ["", "se.exec_start : 1\n", "se.exec_start : x.000000\n", "se.exec_start : 1.5\n"] {
            fs::write(own.join("sched"), text).unwrap();
            assert!(LastRuns::new(proc.path()).is_none(), "{text}");
        }
    }
}
