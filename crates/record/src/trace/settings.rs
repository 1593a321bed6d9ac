//! The settings of the programs, which are fixed before loading: `struct settings`.

use model::stall::TraceSettings;

use super::symbols::Symbols;
use super::system_calls;

/// The worker function that dispatches I/O throttled by a cgroup (Linux 3.1 to 6.18).
const THROTTLE_FUNCTION: &str = "blk_throtl_dispatch_work_fn";
/// The shrinker function of a file system's caches (Linux 3.12 to 6.18).
const SHRINK_FUNCTION: &str = "super_cache_scan";

/// The settings.
#[derive(Debug, Clone)]
pub(super) struct ProgramSettings {
    pub(super) slow_ns: u64,
    pub(super) interval_ns: u64,
    pub(super) all_requests: bool,
    throttle_function: u64,
    shrink_function: u64,
    has_prev_state: bool,
    /// Possible CPUs of this machine.
    pub(super) cpus: u16,
}

impl ProgramSettings {
    pub(super) fn new(settings: &TraceSettings, symbols: &Symbols, cpus: u16) -> ProgramSettings {
        let address = |name| symbols.address(name).unwrap_or(0);
        ProgramSettings {
            slow_ns: settings.slow_ns,
            interval_ns: settings.interval_ns,
            all_requests: settings.all_requests,
            throttle_function: address(THROTTLE_FUNCTION),
            shrink_function: address(SHRINK_FUNCTION),
            has_prev_state: false,
            cpus,
        }
    }

    /// Interval between sums of a device's counts: a slow request spans several.
    fn epoch_ns(&self) -> u64 {
        (self.slow_ns / 32).clamp(200_000, 50_000_000)
    }

    /// `sched_switch` has the state of the task that leaves (Linux 5.18 and newer).
    pub(super) fn with_prev_state(self, has_prev_state: bool) -> ProgramSettings {
        ProgramSettings { has_prev_state, ..self }
    }

    /// As `struct settings` of `bpf/task.h`.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [self.slow_ns, self.interval_ns, self.throttle_function, self.shrink_function, self.epoch_ns()] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(std::process::id().to_ne_bytes());
        bytes.extend([u8::from(self.all_requests), u8::from(self.has_prev_state)]);
        bytes.extend(self.cpus.to_ne_bytes());
        bytes.extend(system_calls::table());
        bytes
    }
}
