//! The settings of the programs, which are fixed before loading: `struct settings`.

use super::kernel_types::RequestFlags;
use super::options::TraceOptions;
use super::symbols::Symbols;
use super::{asynchronous, system_calls};

/// The worker function that dispatches I/O throttled by a cgroup (Linux 3.1 to 6.18).
const THROTTLE_FUNCTION: &str = "blk_throtl_dispatch_work_fn";
/// The shrinker function of a file system's caches (Linux 3.12 to 6.18).
const SHRINK_FUNCTION: &str = "super_cache_scan";

/// The ends of direct I/O of file systems, of block devices (twice), of libaio, and of bios split off (Linux 5.12 to
/// 6.18).
const COMPLETIONS: [&str; 5] =
    ["iomap_dio_bio_end_io", "blkdev_bio_end_io", "blkdev_bio_end_io_async", "aio_complete_rw", "bio_chain_endio"];
/// Calls that submit to libaio, and that wait for its completions.
const AIO_CALLS: [libc::c_long; 3] = [libc::SYS_io_submit, libc::SYS_io_getevents, IO_PGETEVENTS];
/// Calls that sleep on a timer alone.
const SLEEPING_CALLS: [libc::c_long; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];
/// The crate libc lacks it.
const IO_PGETEVENTS: libc::c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };
/// The end of the data of a request with flushes (Linux 3.13 to 6.18).
const FLUSH_FUNCTION: &str = "mq_flush_data_end_io";
/// Whatever a request's completion wakes, this function is on the stack (Linux 2.6.31 to 6.18).
const COMPLETE_FUNCTION: &str = "blk_update_request";
/// Or this one, where a driver completes several at once, as NVMe does (Linux 5.16 to 7.3).
const BATCH_FUNCTION: &str = "blk_mq_end_request_batch";

/// The settings.
#[derive(Debug, Clone)]
pub(super) struct ProgramSettings {
    pub(super) slow_ns: u64,
    pub(super) interval_ns: u64,
    report_ns: u64,
    pub(super) all_requests: bool,
    throttle_function: u64,
    shrink_function: u64,
    completions: [u64; 5],
    flush_function: u64,
    complete_functions: [(u64, u64); 2],
    has_prev_state: bool,
    request: RequestFlags,
    pub(super) user_stacks: bool,
    /// Possible CPUs of this machine.
    pub(super) cpus: u16,
}

impl ProgramSettings {
    pub(super) fn new(options: &TraceOptions, symbols: &Symbols, cpus: u16) -> ProgramSettings {
        let address = |name| symbols.address(name).unwrap_or(0);
        let settings = &options.settings;
        ProgramSettings {
            slow_ns: settings.slow_ns,
            interval_ns: settings.interval_ns,
            report_ns: options.blocked_ns,
            all_requests: settings.all_requests,
            throttle_function: address(THROTTLE_FUNCTION),
            shrink_function: address(SHRINK_FUNCTION),
            completions: COMPLETIONS.map(address),
            flush_function: address(FLUSH_FUNCTION),
            complete_functions: [COMPLETE_FUNCTION, BATCH_FUNCTION].map(|name| symbols.range(name).unwrap_or_default()),
            has_prev_state: false,
            request: RequestFlags::default(),
            user_stacks: options.user_stacks,
            cpus,
        }
    }

    /// Interval between sums of a device's counts: a slow request spans several.
    fn epoch_ns(&self) -> u64 {
        (self.slow_ns / 32).clamp(200_000, 50_000_000)
    }

    /// Servers and event loops sleep very often. An eighth of a slow operation is the least that a chain of waits
    /// follows.
    fn await_ns(&self) -> u64 {
        (self.slow_ns / 8).max(self.interval_ns)
    }

    /// `sched_switch` has the state of the task that leaves (Linux 5.18 and newer).
    pub(super) fn for_kernel(self, has_prev_state: bool, request: RequestFlags) -> ProgramSettings {
        ProgramSettings { has_prev_state, request, ..self }
    }

    /// As `struct settings` of `bpf/settings.h`.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let [(complete, complete_bytes), (batch, batch_bytes)] = self.complete_functions;
        let waits = [self.slow_ns, self.interval_ns, self.await_ns(), self.report_ns];
        let words = [self.throttle_function, self.shrink_function, self.epoch_ns()];
        let more = [self.flush_function, complete, complete_bytes, batch, batch_bytes];
        let all = waits.into_iter().chain(words).chain(self.completions).chain(more);
        bytes.extend(all.flat_map(u64::to_ne_bytes));
        bytes.extend(std::process::id().to_ne_bytes());
        bytes.extend([u8::from(self.all_requests), u8::from(self.has_prev_state)]);
        bytes.extend(self.cpus.to_ne_bytes());
        let numbers = AIO_CALLS.into_iter().chain(SLEEPING_CALLS).chain([libc::SYS_ioctl, libc::SYS_flock]);
        bytes.extend(numbers.flat_map(|number| (number as u16).to_ne_bytes()));
        // Up to a multiple of eight bytes.
        bytes.extend([u8::from(self.user_stacks), 0, self.request.flush_bit, self.request.timed_out_bit]);
        let connections = [libc::SYS_connect, libc::SYS_listen, 0];
        bytes.extend(connections.into_iter().flat_map(|number| (number as u16).to_ne_bytes()));
        bytes.extend(system_calls::operations());
        bytes.extend(asynchronous::table());
        bytes.extend(system_calls::with_others().into_iter().flat_map(u16::to_ne_bytes));
        bytes.extend(system_calls::with_names());
        bytes
    }
}
