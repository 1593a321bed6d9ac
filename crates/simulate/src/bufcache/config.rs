//! The settings as numbers.

use super::limits::Limits;
use crate::parameter::{SettingError, Settings};
use crate::service::Service;

/// What differs from FreeBSD 9.1: the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Original,
    NoClusterWrites,
    IgnoreSeqcount,
    Bkvasize64k,
    PerDirection,
    HelperUpgrade,
}

impl Variant {
    fn of_policy(policy: &str) -> Result<Variant, SettingError> {
        match policy {
            "original" => Ok(Variant::Original),
            "noclusterw" => Ok(Variant::NoClusterWrites),
            "ignore-seqcount" => Ok(Variant::IgnoreSeqcount),
            "bkvasize-64k" => Ok(Variant::Bkvasize64k),
            "per-direction" => Ok(Variant::PerDirection),
            "helper-upgrade" => Ok(Variant::HelperUpgrade),
            other => Err(SettingError::unknown_policy("bufcache", other)),
        }
    }
}

/// Everything that stays the same during a run.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) dd: bool,
    pub(super) processes: usize,
    /// Whether reads and writes share an open file.
    pub(super) shared_offset: bool,
    /// Whether an open file has a heuristic for each direction.
    pub(super) per_direction: bool,
    /// Whether full blocks are written immediately instead of in clusters.
    pub(super) noclusterw: bool,
    /// Whether complete clusters are written whatever the sequential count.
    pub(super) ignore_seqcount: bool,
    /// Whether a process with a shared vnode lock may flush its file when space is short.
    pub(super) helper_upgrades: bool,
    pub(super) block_bytes: u64,
    pub(super) file_blocks: u64,
    /// Of each read or write call.
    pub(super) call_bytes: u64,
    /// Most blocks in a request.
    pub(super) cluster_blocks: u64,
    pub(super) read_max: u64,
    /// Chance, in 2^32, that a block does not follow its predecessor on disk.
    pub(super) breaks: u64,
    pub(super) limits: Limits,
    /// Buffers that fit, without those of inodes and indirect blocks.
    pub(super) capacity: u64,
    pub(super) runtime_ns: u64,
    pub(super) op_ns: u64,
    pub(super) user_ns: u64,
    pub(super) block_ns: u64,
    copy_rate: u64,
    pub(super) wakeup: Service,
    /// Whether bufdaemon may take a vnode that a process was woken for.
    pub(super) barging: bool,
    pub(super) scan_ns: u64,
    pub(super) flush_ns: u64,
    pub(super) device: DeviceConfig,
}

#[derive(Debug, Clone)]
pub(super) struct DeviceConfig {
    pub(super) bytes_per_s: u64,
    pub(super) request_ns: u64,
    pub(super) read: Service,
    pub(super) write: Service,
}

/// Buffers in use for a file that is not its data: its inode, and two levels of indirect blocks.
const META_PER_FILE: u64 = 3;

impl Config {
    // tidy: table
    pub(super) fn new(policy: &str, settings: &Settings) -> Result<Config, SettingError> {
        let variant = Variant::of_policy(policy)?;
        let bkvasize = if variant == Variant::Bkvasize64k { 64 << 10 } else { settings.whole("bkvasize") };
        let dd = settings.word("workload") == "dd";
        let (block_bytes, iosize_max) = (settings.whole("block_size"), settings.whole("iosize_max"));
        let processes = if dd { 1 } else { settings.whole("rewriters") };
        check_sizes(settings, bkvasize, processes, dd)?;
        let limits = Limits::new(settings.whole("memory"), bkvasize)
            .tuned(settings.whole("hidirtybuffers"), settings.whole("dirtybufthresh"));
        let capacity = (limits.hibufspace / block_bytes).saturating_sub(META_PER_FILE * processes + 1);
        if capacity < 16 + 4 * processes {
            return Err(contradiction(format!(
                "memory = {} bytes gives only {capacity} buffers: give more",
                settings.whole("memory")
            )));
        }
        Ok(Config {
            dd,
            processes: processes as usize,
            shared_offset: settings.word("offsets") == "shared",
            per_direction: variant == Variant::PerDirection,
            noclusterw: variant == Variant::NoClusterWrites,
            ignore_seqcount: variant == Variant::IgnoreSeqcount,
            helper_upgrades: variant == Variant::HelperUpgrade,
            block_bytes,
            file_blocks: settings.whole("file_size") / block_bytes,
            call_bytes: settings.whole(if dd { "dd_size" } else { "io_size" }),
            cluster_blocks: iosize_max / block_bytes,
            read_max: settings.whole("read_max"),
            breaks: (settings.share("fragmentation") * (1_u64 << 32) as f64) as u64,
            limits,
            capacity,
            runtime_ns: settings.whole("runtime"),
            op_ns: settings.whole("op_time"),
            user_ns: settings.whole("user_time"),
            block_ns: settings.whole("block_time"),
            copy_rate: settings.whole("copy_rate"),
            wakeup: Service::Exponential(settings.whole("wakeup_time")),
            barging: settings.word("barging") == "yes",
            scan_ns: settings.whole("scan_time"),
            flush_ns: settings.whole("flush_time"),
            device: DeviceConfig {
                bytes_per_s: settings.whole("device_rate"),
                request_ns: settings.whole("request_time"),
                read: Service::Exponential(settings.whole("read_time")),
                write: Service::Exponential(settings.whole("write_time")),
            },
        })
    }

    /// CPU time to copy this many bytes.
    pub(super) fn copy_ns(&self, bytes: u64) -> u64 {
        bytes * 1_000_000_000 / self.copy_rate
    }
}

fn check_sizes(settings: &Settings, bkvasize: u64, processes: u64, dd: bool) -> Result<(), SettingError> {
    let block = settings.whole("block_size");
    let call = if dd { "dd_size" } else { "io_size" };
    let wrong = match () {
        () if !block.is_power_of_two() || !(4096..=65536).contains(&block) => {
            "block_size: write 4k, 8k, 16k, 32k or 64k"
        }
        () if !bkvasize.is_power_of_two() || bkvasize < 1024 => "bkvasize: write a power of two, 1k or more",
        () if settings.whole("iosize_max") < block => "iosize_max: write at least block_size",
        () if !(1..=1000).contains(&processes) => "rewriters: write 1 to 1000",
        () if settings.whole("file_size") < block => "file_size: write at least block_size",
        () if settings.whole("file_size") / block > 1 << 26 => "file_size: write at most 64m blocks",
        () if settings.whole(call) == 0 => "io_size, dd_size: write more than 0",
        () if !dd && !block.is_multiple_of(settings.whole(call)) => "io_size: write a divisor of block_size",
        () if dd && !settings.whole(call).is_multiple_of(block) => "dd_size: write a multiple of block_size",
        () if settings.whole("copy_rate") == 0 || settings.whole("device_rate") == 0 => {
            "copy_rate, device_rate: write more than 0"
        }
        () if settings.whole("op_time") == 0 || settings.whole("flush_time") == 0 => {
            "op_time, flush_time: write more than 0"
        }
        () => return Ok(()),
    };
    Err(contradiction(wrong.to_owned()))
}

fn contradiction(what: String) -> SettingError {
    SettingError::Contradiction(what)
}
