//! Waits for the CPUs: beside a build, shares of what needs them are not those of earlier runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds to wait at most, all together. scripts/test sets it: there, all else ends at some time.
const PATIENCE: &str = "STALLSCOPE_TRUTH_PATIENCE";
const DEFAULT_PATIENCE_S: u64 = 30;
/// Part of the CPUs' time that others may use.
const QUIET: f64 = 0.25;
const LOOKS_FOR: Duration = Duration::from_secs(1);
/// scripts/run-test takes a longer silence for a hang.
const SAYS_EVERY: Duration = Duration::from_secs(60);

/// Seconds waited so far.
static WAITED_S: AtomicU64 = AtomicU64::new(0);

/// Returns when others leave the CPUs alone, or do not for too long.
pub fn wait_for_cpus() {
    let patience = std::env::var(PATIENCE).ok().and_then(|seconds| seconds.parse().ok());
    let patience_s = patience.unwrap_or(DEFAULT_PATIENCE_S);
    let mut said = Instant::now();
    loop {
        let busy = busy_share();
        if busy <= QUIET {
            return;
        }
        if WAITED_S.fetch_add(LOOKS_FOR.as_secs(), Ordering::Relaxed) >= patience_s {
            return println!("the CPUs are {:.0} % busy with something else: shares may differ", busy * 100.0);
        }
        if said.elapsed() >= SAYS_EVERY {
            said = Instant::now();
            println!("waiting for the CPUs, which are {:.0} % busy with something else", busy * 100.0);
        }
    }
}

/// Part of all CPUs' time in which they were not idle, within a second.
fn busy_share() -> f64 {
    let before = times();
    std::thread::sleep(LOOKS_FOR);
    let after = times();
    let all = after.0.saturating_sub(before.0).max(1);
    1.0 - after.1.saturating_sub(before.1) as f64 / all as f64
}

/// All time and idle time of all CPUs, in ticks (proc_stat(5)).
fn times() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks: Vec<u64> =
        text.lines().next().unwrap().split_whitespace().skip(1).take(8).map(|word| word.parse().unwrap()).collect();
    // Waiting for a disk is idle as well.
    (ticks.iter().sum(), ticks[3] + ticks[4])
}
