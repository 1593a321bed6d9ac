//! What can be set, with Lustre's defaults, and the numbers that the model works with.

use crate::parameter::{Kind, Parameter, SettingError, Settings};

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4096;

const CHOICE: &str = "our choice";

/// The parameters.
pub(super) const TABLE: &[Parameter] = &[
    Parameter {
        name: "writers",
        kind: Kind::Count,
        default: "8",
        about: "processes that write",
        source: "LU-8515: 1 and 8 (16 in one table)",
    },
    Parameter {
        name: "clients",
        kind: Kind::Count,
        default: "1",
        about: "nodes that the writers are dealt out to in turn",
        source: "LU-8515: one node",
    },
    Parameter {
        name: "layout",
        kind: Kind::Word(&["shared", "each"]),
        default: "shared",
        about: "one file for all writers, or a file each (IOR -F)",
        source: "LU-8515: a single shared file",
    },
    Parameter {
        name: "stripes",
        kind: Kind::Count,
        default: "1",
        about: "targets that a file is spread over, which are also all there are",
        source: "LU-8515: 1, 2, 8, 16",
    },
    Parameter {
        name: "stripe_size",
        kind: Kind::Size,
        default: "1m",
        about: "bytes on one target before the next",
        source: "LU-8515",
    },
    Parameter {
        name: "transfer",
        kind: Kind::Size,
        default: "4m",
        about: "bytes of one write call (IOR -t)",
        source: "LU-8515: IOR -t 4m, repeated with 1m",
    },
    Parameter {
        name: "block",
        kind: Kind::Size,
        default: "256m",
        about: "contiguous bytes of a writer in a segment (IOR -b)",
        source: "our choice: LU-8515 wrote 1 GB a writer, 16 GB where there was one",
    },
    Parameter {
        name: "segments",
        kind: Kind::Count,
        default: "1",
        about: "segments (IOR -s): a block of 256k and many segments interleave the writers",
        source: "IOR's default",
    },
    Parameter {
        name: "fsync",
        kind: Kind::Word(&["yes", "no"]),
        default: "yes",
        about: "whether each writer ends with fsync (IOR -e)",
        source: "LU-8515: IOR -e",
    },
    Parameter {
        name: "rpc_pages",
        kind: Kind::Count,
        default: "256",
        about: "max_pages_per_rpc: pages of 4 KiB in an RPC, and in an extent",
        source: "LU-8515: 256",
    },
    Parameter {
        name: "rpcs_in_flight",
        kind: Kind::Count,
        default: "8",
        about: "max_rpcs_in_flight of an OSC; one more is allowed for extents of high priority",
        source: "OBD_MAX_RIF_DEFAULT",
    },
    Parameter {
        name: "dirty_limit",
        kind: Kind::Size,
        default: "32m",
        about: "max_dirty_mb: dirty bytes of an OSC, those in RPCs included",
        source: "OSC_MAX_DIRTY_DEFAULT (4 MB for each RPC in flight)",
    },
    Parameter {
        name: "grant",
        kind: Kind::Size,
        default: "64m",
        about: "bytes that a target lets an OSC hold as grant; a reply fills it up again",
        source: "our choice: beyond the dirty limit, as with a target that has space",
    },
    Parameter {
        name: "commit_pages",
        kind: Kind::Count,
        default: "1024",
        about: "pages that a writer copies before it hands them to the OSC, at the end of a stripe at the latest",
        source: "ll_write_end: PTLRPC_MAX_BRW_PAGES, 4 MiB in 2.7 and 2.8",
    },
    Parameter {
        name: "cache_waiters",
        kind: Kind::Word(&["heed", "ignore"]),
        default: "heed",
        about: "whether a task that waits in osc_enter_cache forces RPCs of any size",
        source: "osc_makes_rpc, osc_next_obj; ignore is the livelock that the review feared",
    },
    Parameter {
        name: "cache_timeout",
        kind: Kind::Duration,
        default: "600s",
        about: "time in osc_enter_cache after which a task writes synchronously; 0: never",
        source: "osc_enter_cache",
    },
    Parameter {
        name: "writeback",
        kind: Kind::Duration,
        default: "5s",
        about: "time between two looks of the kernel's flusher; 0: it never looks",
        source: "vm.dirty_writeback_centisecs = 500",
    },
    Parameter {
        name: "expire",
        kind: Kind::Duration,
        default: "30s",
        about: "age at which the flusher writes a file back",
        source: "vm.dirty_expire_centisecs = 3000",
    },
    Parameter {
        name: "locks",
        kind: Kind::Word(&["extent", "group"]),
        default: "extent",
        about: "extent locks that clients take from one another, or a group lock that all share",
        source: "Lustre's default; the document names group locks as the way around them",
    },
    Parameter {
        name: "copy_rate",
        kind: Kind::Size,
        default: "1400m",
        about: "bytes a second that a writer copies into the page cache",
        source: CHOICE,
    },
    Parameter {
        name: "commit_time",
        kind: Kind::Duration,
        default: "1us",
        about: "CPU time of osc_queue_async_io, for each page",
        source: CHOICE,
    },
    Parameter {
        name: "wake_time",
        kind: Kind::Duration,
        default: "10us",
        about: "mean time from a wake-up until the task runs",
        source: CHOICE,
    },
    Parameter {
        name: "client_rate",
        kind: Kind::Size,
        default: "4g",
        about: "bytes a second that a client sends",
        source: CHOICE,
    },
    Parameter {
        name: "round_trip",
        kind: Kind::Duration,
        default: "100us",
        about: "time of a message there and back, beside the data's",
        source: CHOICE,
    },
    Parameter {
        name: "ost_rate",
        kind: Kind::Size,
        default: "500m",
        about: "bytes a second that a target writes",
        source: CHOICE,
    },
    Parameter {
        name: "ost_rpc_time",
        kind: Kind::Duration,
        default: "100us",
        about: "mean time that each RPC costs a target, one after another",
        source: CHOICE,
    },
    Parameter {
        name: "ost_fragment_time",
        kind: Kind::Duration,
        default: "50us",
        about: "time that each further contiguous piece of an RPC costs a target",
        source: CHOICE,
    },
    Parameter {
        name: "ost_partial_time",
        kind: Kind::Duration,
        default: "200us",
        about: "time that a piece which covers only a part of a RAID stripe costs a target: read, modify, write",
        source: "our choice; that it costs is the document's word (ZFS and parity RAID)",
    },
    Parameter {
        name: "raid_stripe",
        kind: Kind::Size,
        default: "1m",
        about: "bytes of the target's RAID stripe",
        source: "our choice: 8 data disks of 128 KiB, usual under Lustre",
    },
];

/// The settings as numbers, in pages and ns.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) writers: usize,
    pub(super) clients: usize,
    pub(super) files: usize,
    pub(super) stripes: usize,
    pub(super) stripe_pages: u64,
    pub(super) transfer_pages: u64,
    pub(super) block_pages: u64,
    pub(super) segments: u64,
    pub(super) fsync: bool,
    pub(super) rpc_pages: u64,
    pub(super) rpcs_in_flight: u64,
    pub(super) dirty_limit_pages: u64,
    pub(super) grant_pages: u64,
    pub(super) commit_pages: u64,
    pub(super) heed_waiters: bool,
    pub(super) cache_timeout_ns: u64,
    pub(super) writeback_ns: u64,
    pub(super) expire_ns: u64,
    pub(super) group_lock: bool,
    pub(super) copy_page_ns: f64,
    pub(super) commit_page_ns: u64,
    pub(super) wake_ns: u64,
    pub(super) send_page_ns: f64,
    pub(super) one_way_ns: u64,
    pub(super) ost_page_ns: f64,
    pub(super) ost_rpc_ns: u64,
    pub(super) ost_fragment_ns: u64,
    pub(super) ost_partial_ns: u64,
    pub(super) raid_pages: u64,
}

impl Plan {
    pub(super) fn new(settings: &Settings) -> Result<Plan, SettingError> {
        for (name, most) in [("writers", 1024), ("clients", 256), ("stripes", 256), ("rpc_pages", 65536)] {
            limit(settings, name, 1, most)?;
        }
        for name in ["segments", "rpcs_in_flight", "commit_pages"] {
            limit(settings, name, 1, u64::from(u32::MAX))?;
        }
        let writers = settings.whole("writers") as usize;
        let clients = settings.whole("clients") as usize;
        if clients > writers {
            return Err(SettingError::Contradiction(format!("{clients} clients need as many writers, not {writers}")));
        }
        let plan = Plan {
            writers,
            clients,
            files: if settings.word("layout") == "each" { writers } else { 1 },
            stripes: settings.whole("stripes") as usize,
            stripe_pages: pages(settings, "stripe_size", 1)?,
            transfer_pages: pages(settings, "transfer", 1)?,
            block_pages: pages(settings, "block", 1)?,
            segments: settings.whole("segments"),
            fsync: settings.word("fsync") == "yes",
            rpc_pages: settings.whole("rpc_pages"),
            rpcs_in_flight: settings.whole("rpcs_in_flight"),
            dirty_limit_pages: pages(settings, "dirty_limit", 0)?,
            grant_pages: pages(settings, "grant", 0)?,
            commit_pages: settings.whole("commit_pages"),
            heed_waiters: settings.word("cache_waiters") == "heed",
            cache_timeout_ns: settings.whole("cache_timeout"),
            writeback_ns: settings.whole("writeback"),
            expire_ns: settings.whole("expire"),
            group_lock: settings.word("locks") == "group",
            copy_page_ns: page_ns(settings, "copy_rate")?,
            commit_page_ns: settings.whole("commit_time"),
            wake_ns: settings.whole("wake_time"),
            send_page_ns: page_ns(settings, "client_rate")?,
            one_way_ns: settings.whole("round_trip") / 2,
            ost_page_ns: page_ns(settings, "ost_rate")?,
            ost_rpc_ns: settings.whole("ost_rpc_time"),
            ost_fragment_ns: settings.whole("ost_fragment_time"),
            ost_partial_ns: settings.whole("ost_partial_time"),
            raid_pages: pages(settings, "raid_stripe", 1)?,
        };
        if !plan.block_pages.is_multiple_of(plan.transfer_pages) {
            return Err(SettingError::Contradiction("block is not a multiple of transfer".to_owned()));
        }
        Ok(plan)
    }

    /// Write calls of a writer.
    pub(super) fn transfers(&self) -> u64 {
        self.segments * (self.block_pages / self.transfer_pages)
    }

    /// Pages that all writers write.
    pub(super) fn total_pages(&self) -> u64 {
        self.segments * self.block_pages * self.writers as u64
    }
}

fn limit(settings: &Settings, name: &str, least: u64, most: u64) -> Result<(), SettingError> {
    let value = settings.whole(name);
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SettingError::Contradiction(format!("{name} = {value}: write a number from {least} to {most}")))
}

/// A size in whole pages.
fn pages(settings: &Settings, name: &str, least: u64) -> Result<u64, SettingError> {
    let bytes = settings.whole(name);
    let small = bytes < least * PAGE_BYTES;
    if small || !bytes.is_multiple_of(PAGE_BYTES) || bytes > 1 << 50 {
        let why = format!("{name} = {bytes} bytes: write a multiple of 4k{}", if small { ", not 0" } else { "" });
        return Err(SettingError::Contradiction(why));
    }
    Ok(bytes / PAGE_BYTES)
}

/// Time of a page at a rate in bytes a second.
fn page_ns(settings: &Settings, name: &str) -> Result<f64, SettingError> {
    match settings.whole(name) {
        0 => Err(SettingError::Contradiction(format!("{name} is 0, so that nothing would ever be written"))),
        rate => Ok(PAGE_BYTES as f64 * 1e9 / rate as f64),
    }
}
