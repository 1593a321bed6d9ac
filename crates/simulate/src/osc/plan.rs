//! The settings as numbers.

use crate::parameter::{SettingError, Settings};

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4096;

/// The policy: what triggers an RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    Old,
    Full,
    Both,
}

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
    // tidy: table
    pub(super) fn new(settings: &Settings) -> Result<Plan, SettingError> {
        check_counts(settings)?;
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

    /// Pages written by all writers.
    pub(super) fn total_pages(&self) -> u64 {
        self.segments * self.block_pages * self.writers as u64
    }
}

fn check_counts(settings: &Settings) -> Result<(), SettingError> {
    for (name, most) in [("writers", 1024), ("clients", 256), ("stripes", 256), ("rpc_pages", 65536)] {
        limit(settings, name, 1, most)?;
    }
    for name in ["segments", "rpcs_in_flight", "commit_pages"] {
        limit(settings, name, 1, u64::from(u32::MAX))?;
    }
    Ok(())
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

/// Time per page at a rate in bytes per second.
fn page_ns(settings: &Settings, name: &str) -> Result<f64, SettingError> {
    match settings.whole(name) {
        0 => Err(SettingError::Contradiction(format!("{name} is 0: nothing would ever be written"))),
        rate => Ok(PAGE_BYTES as f64 * 1e9 / rate as f64),
    }
}
