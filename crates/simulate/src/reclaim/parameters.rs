//! The parameters, and the settings as numbers.

use super::inodes::CLUSTER;
use super::memory::PAGE;
use crate::parameter::{Kind, Parameter, SettingError, Settings};

const DOCUMENT: &str = "the command line in C. Mason, linux-xfs, 2016-11";
const OURS: &str = "our choice";

const fn count(name: &'static str, default: &'static str, about: &'static str, source: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Count, default, about, source }
}

const fn size(name: &'static str, default: &'static str, about: &'static str, source: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Size, default, about, source }
}

const fn time(name: &'static str, default: &'static str, about: &'static str, source: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Duration, default, about, source }
}

/// The parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    count("workers", "512", "threads that read, write and allocate in rounds", DOCUMENT),
    count("subthreads", "20", "threads per read and per write of a worker", DOCUMENT),
    count("burners", "28", "threads that only burn CPU", DOCUMENT),
    count("du", "2", "du threads that stat every file, one per file system", DOCUMENT),
    count("cpus", "28", "CPUs", "Mason 2016-11: two sockets of 14 cores"),
    count("nodes", "2", "kswapd threads, one per NUMA node", "Mason 2016-11: two sockets"),
    count("file_systems", "15", "file systems, each on its own disk", "Mason 2016-11"),
    count("groups", "8", "allocation groups of a file system", "mkfs.xfs: one for each TiB of an 8 TB disk"),
    count("files", "70000", "files in each file system", "Mason 2016-11: 8 TB, 60-70 % full of files of 70 MB"),
    size(
        "memory",
        "33g",
        "memory for page cache, inodes and allocations",
        "Mason 2016-11: 130 GB less 512 x 190 MB held",
    ),
    size("allocation", "128m", "memory that a worker allocates, touches and frees per round", DOCUMENT),
    size("io_size", "1m", "bytes that each subthread reads or writes", DOCUMENT),
    size("buffer", "64k", "buffer memory of a subthread", "recipes/simoop.toml: blocks of 64 KiB"),
    time("warmup", "120s", "warm-up, excluded from the results", "our choice (Mason 2016-11: 300 s)"),
    time("runtime", "600s", "measured time", "Mason 2016-11: argdist -i 600"),
    size("request", "256k", "size of a read request", "our choice: two windows of read_ahead_kb = 128"),
    time("seek_least", "2ms", "minimum seek time of a disk", "our choice: 7200 rpm disks"),
    time("seek_most", "12ms", "maximum seek time of a disk", "our choice: 7200 rpm disks"),
    size("disk_rate", "180m", "disk bandwidth, bytes per second", "our choice: disks of 8 TB"),
    size(
        "min_free",
        "90m",
        "min watermark, below which tasks enter direct reclaim",
        "mm/page_alloc.c: min_free_kbytes with THP",
    ),
    size(
        "watermark_gap",
        "130m",
        "distance from the min to the low watermark, and from low to high",
        "mm/page_alloc.c: watermark_scale_factor = 10",
    ),
    time("page_fault", "1us", "CPU time to allocate, clear and map a page", OURS),
    time("page_reclaim", "6us", "time to scan a page of the page cache, with kswapd competing for CPU", OURS),
    time("inode_reclaim", "4us", "CPU time to check and free an inode", "Mason 2016-11: 1-2 ms for 8 groups of 32"),
    time("map_change", "20us", "CPU time to change the address space: a thread's stack, a mapping", OURS),
    time("wakeup", "320us", "mean run-queue wait after a wakeup while all CPUs are busy", OURS),
    time("touch", "30ms", "CPU time to touch a worker's memory", OURS),
    count("fault_pages", "4096", "pages faulted between two acquisitions of mmap_sem", OURS),
    size("inode_size", "1200b", "memory of an inode with its dentry", "slabinfo of v4.8: xfs_inode and dentry"),
    time("log_period", "30s", "period of log forces and AIL pushes", "xfssyncd_centisecs = 3000"),
    time("du_pause", "1s", "pause of a du thread between two walks", "recipes/simoop.toml"),
    count("du_clusters", "32", "inode clusters that du reads at once", "our choice: its turn at a disk with CFQ"),
    time("progress_timeout", "100ms", "maximum pause under policy progress", "our choice: HZ/10, as congestion_wait"),
];

/// The policy: how xfs_reclaim_inodes_nr handles inodes that are not clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It waits for each of them.
    Wait,
    /// It skips them.
    NoWait,
    /// It skips them; a direct reclaimer whose call skipped more than it freed pauses until an inode has been written.
    Progress,
}

impl Rule {
    fn of_policy(policy: &str) -> Result<Rule, SettingError> {
        match policy {
            "wait" => Ok(Rule::Wait),
            "no-wait" => Ok(Rule::NoWait),
            "progress" => Ok(Rule::Progress),
            other => Err(SettingError::unknown_policy("reclaim", other)),
        }
    }
}

/// The settings, in pages and ns.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) rule: Rule,
    pub(super) workers: u32,
    pub(super) subthreads: u32,
    pub(super) burners: u64,
    pub(super) du: usize,
    pub(super) cpus: u64,
    pub(super) nodes: u32,
    pub(super) file_systems: usize,
    pub(super) groups: u32,
    /// Of each file system; a multiple of the groups and of the inodes in a cluster.
    pub(super) files: u32,
    pub(super) memory_pages: u64,
    pub(super) allocation_pages: u64,
    pub(super) io_pages: u64,
    pub(super) request_pages: u64,
    pub(super) buffer_pages: u64,
    pub(super) warmup_ns: u64,
    pub(super) runtime_ns: u64,
    pub(super) seek_ns: (u64, u64),
    pub(super) page_transfer_ns: u64,
    pub(super) min_pages: u64,
    pub(super) gap_pages: u64,
    pub(super) page_fault_ns: u64,
    pub(super) page_reclaim_ns: u64,
    pub(super) inode_reclaim_ns: u64,
    pub(super) map_change_ns: u64,
    pub(super) wakeup_ns: u64,
    pub(super) touch_ns: u64,
    pub(super) fault_pages: u64,
    pub(super) inode_bytes: u64,
    pub(super) log_period_ns: u64,
    pub(super) du_pause_ns: u64,
    pub(super) du_clusters: u32,
    pub(super) progress_timeout_ns: u64,
}

impl Setup {
    // tidy: table
    pub(super) fn new(policy: &str, settings: &Settings) -> Result<Setup, SettingError> {
        let rule = Rule::of_policy(policy)?;
        refuse_zeros(settings)?;
        let pages = |name: &str| settings.whole(name).div_ceil(PAGE);
        let (least, most) = (settings.whole("seek_least"), settings.whole("seek_most"));
        if least > most {
            return Err(SettingError::Contradiction("seek_least is above seek_most".to_owned()));
        }
        let small = |name: &str, most: u64| match settings.whole(name) {
            value if value <= most => Ok(value as u32),
            value => Err(SettingError::Contradiction(format!("{name} = {value}: write at most {most}"))),
        };
        let groups = small("groups", 1024)?;
        let unit = groups * CLUSTER;
        let setup = Setup {
            rule,
            workers: small("workers", 100_000)?,
            subthreads: small("subthreads", 1000)?,
            burners: settings.whole("burners"),
            du: small("du", 1000)? as usize,
            cpus: settings.whole("cpus"),
            nodes: small("nodes", 64)?,
            file_systems: small("file_systems", 255)? as usize,
            groups,
            files: small("files", 10_000_000)?.div_ceil(unit) * unit,
            memory_pages: pages("memory"),
            allocation_pages: pages("allocation"),
            io_pages: pages("io_size"),
            request_pages: pages("request"),
            buffer_pages: pages("buffer"),
            warmup_ns: settings.whole("warmup"),
            runtime_ns: settings.whole("runtime"),
            seek_ns: (least, most),
            page_transfer_ns: PAGE * 1_000_000_000 / settings.whole("disk_rate"),
            min_pages: pages("min_free"),
            gap_pages: pages("watermark_gap"),
            page_fault_ns: settings.whole("page_fault"),
            page_reclaim_ns: settings.whole("page_reclaim"),
            inode_reclaim_ns: settings.whole("inode_reclaim"),
            map_change_ns: settings.whole("map_change"),
            wakeup_ns: settings.whole("wakeup"),
            touch_ns: settings.whole("touch"),
            fault_pages: settings.whole("fault_pages"),
            inode_bytes: settings.whole("inode_size"),
            log_period_ns: settings.whole("log_period"),
            du_pause_ns: settings.whole("du_pause").max(1_000_000),
            du_clusters: small("du_clusters", 1000)?.max(1),
            progress_timeout_ns: settings.whole("progress_timeout"),
        };
        setup.check()?;
        Ok(setup)
    }

    fn check(&self) -> Result<(), SettingError> {
        if self.min_pages + 2 * self.gap_pages >= self.memory_pages {
            return Err(SettingError::Contradiction("memory is below the high watermark".to_owned()));
        }
        if self.du > self.file_systems {
            return Err(SettingError::Contradiction("du: write at most file_systems".to_owned()));
        }
        Ok(())
    }

    pub(super) fn ends_ns(&self) -> u64 {
        self.warmup_ns + self.runtime_ns
    }
}

fn refuse_zeros(settings: &Settings) -> Result<(), SettingError> {
    for name in [
        "workers",
        "subthreads",
        "cpus",
        "nodes",
        "file_systems",
        "groups",
        "files",
        "request",
        "disk_rate",
        "fault_pages",
        "io_size",
        "runtime",
        "log_period",
        "allocation",
        "inode_size",
        "progress_timeout",
    ] {
        if settings.whole(name) == 0 {
            return Err(SettingError::Contradiction(format!("{name} = 0: write at least 1")));
        }
    }
    Ok(())
}
