//! Issues of the made-up fleet: chains as `explain` finds them on real machines.

use lake::Step;
use model::cause::Cause;

use statistics::SplitMix64;

/// Functions that a fingerprint takes of a step.
const FUNCTIONS: usize = 4;

/// A kind of stall.
#[derive(Debug)]
pub(crate) struct Issue {
    pub(crate) cause: Cause,
    /// Causes of the chain, and the functions of each, innermost first.
    pub(crate) chain: &'static [(Cause, &'static str)],
    pub(crate) lock: Option<&'static str>,
    /// File systems that have it; empty: all.
    pub(crate) file_systems: &'static [&'static str],
    pub(crate) operation: &'static str,
    pub(crate) median_ms: f64,
    /// Share of hosts that have it.
    pub(crate) prevalence: f64,
    /// Stalls per host and day.
    pub(crate) rate: f64,
}

const XFS: &[&str] = &["xfs"];
const EXT4: &[&str] = &["ext4"];
const BTRFS: &[&str] = &["btrfs"];
const ALL: &[&str] = &[];
const INODE: Option<&str> = Some("inode lock of a file");
const DIRECTORY: Option<&str> = Some("inode lock of a directory");

macro_rules! issue {
    ($cause:ident, [$($step:ident: $functions:literal),+], $lock:expr, $on:expr, $operation:literal, $ms:literal, $share:literal, $rate:literal) => {
        Issue {
            cause: Cause::$cause,
            chain: &[$((Cause::$step, $functions)),+],
            lock: $lock,
            file_systems: $on,
            operation: $operation,
            median_ms: $ms,
            prevalence: $share,
            rate: $rate,
        }
    };
}

// tidy: table
pub(crate) static ISSUES: [Issue; 32] = [
    issue!(Device, [Device: "io_schedule folio_wait_bit_common filemap_get_pages filemap_read"], None, ALL, "read", 60.0, 0.9, 24.0),
    issue!(Device, [Device: "io_schedule blk_io_schedule __iomap_dio_rw iomap_dio_rw"], None, XFS, "pread64", 45.0, 0.5, 14.0),
    issue!(Device, [Device: "io_schedule blk_io_schedule __blkdev_direct_IO_simple blkdev_read_iter"], None, ALL, "pread64", 45.0, 0.2, 8.0),
    issue!(WritebackWait, [WritebackWait: "folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range ext4_sync_file", Device: "io_schedule"], None, EXT4, "fsync", 120.0, 0.8, 12.0),
    issue!(WritebackWait, [WritebackWait: "folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range xfs_file_fsync", Device: "io_schedule"], None, XFS, "fsync", 110.0, 0.8, 12.0),
    issue!(Journal, [Journal: "jbd2_log_wait_commit ext4_sync_file", Device: "wait_on_buffer jbd2_journal_commit_transaction"], None, EXT4, "fsync", 180.0, 0.85, 16.0),
    issue!(Journal, [Journal: "wait_transaction_locked add_transaction_credits start_this_handle jbd2__journal_start", Device: "jbd2_journal_commit_transaction"], None, EXT4, "write", 220.0, 0.4, 6.0),
    issue!(Journal, [Journal: "do_get_write_access jbd2_journal_get_write_access __ext4_journal_get_write_access ext4_reserve_inode_write", Device: "io_schedule"], None, EXT4, "write", 150.0, 0.3, 4.0),
    issue!(FsLog, [FsLog: "xlog_wait_on_iclog xfs_log_force_seq xfs_file_fsync", Device: "xlog_cil_push_work"], None, XFS, "fsync", 90.0, 0.85, 18.0),
    issue!(FsLog, [FsLog: "xlog_grant_head_wait xlog_grant_head_check xfs_log_reserve xfs_trans_reserve", Device: "xfsaild"], None, XFS, "unlink", 400.0, 0.25, 4.0),
    issue!(FsTransaction, [FsTransaction: "btrfs_commit_transaction btrfs_sync_file", Device: "wait_dev_flush"], None, BTRFS, "fsync", 250.0, 0.85, 14.0),
    issue!(FsTransaction, [FsTransaction: "wait_current_trans start_transaction btrfs_create_common"], None, BTRFS, "openat", 300.0, 0.5, 6.0),
    issue!(FsTransaction, [FsTransaction: "handle_reserve_ticket btrfs_reserve_data_bytes btrfs_check_data_free_space btrfs_buffered_write"], None, BTRFS, "write", 260.0, 0.3, 5.0),
    issue!(Lock, [Lock: "rwsem_down_write_slowpath xfs_ilock xfs_file_buffered_write", Device: "xlog_wait_on_iclog"], INODE, XFS, "write", 80.0, 0.5, 10.0),
    issue!(Lock, [Lock: "rwsem_down_read_slowpath xfs_ilock xfs_file_buffered_read", DirtyThrottle: "balance_dirty_pages"], INODE, XFS, "read", 95.0, 0.4, 7.0),
    issue!(Lock, [Lock: "rwsem_down_write_slowpath ext4_buffered_write_iter", Journal: "jbd2_log_wait_commit"], INODE, EXT4, "write", 85.0, 0.5, 9.0),
    // The fingerprint takes four functions: what holds a directory's lock above them cannot tell these two from each other.
    issue!(Lock, [Lock: "rwsem_down_write_slowpath down_write do_unlinkat __x64_sys_unlink tmpreaper", Device: "io_schedule"], DIRECTORY, ALL, "unlink", 140.0, 0.25, 3.0),
    issue!(Lock, [Lock: "rwsem_down_write_slowpath down_write do_unlinkat __x64_sys_unlink logrotate", Device: "io_schedule"], DIRECTORY, ALL, "unlink", 130.0, 0.1, 1.5),
    issue!(Lock, [Lock: "rwsem_down_read_slowpath walk_component path_lookupat", Device: "io_schedule"], DIRECTORY, ALL, "openat", 75.0, 0.35, 5.0),
    issue!(Lock, [Lock: "mutex_lock pipe_write", CpuWait: "schedule"], Some("pipe lock"), ALL, "write", 40.0, 0.2, 4.0),
    issue!(DirectReclaim, [DirectReclaim: "shrink_node do_try_to_free_pages __alloc_pages_slowpath", Device: "io_schedule"], None, ALL, "read", 110.0, 0.45, 9.0),
    issue!(DirectReclaim, [DirectReclaim: "try_charge_memcg charge_memcg __mem_cgroup_charge filemap_add_folio"], None, ALL, "read", 70.0, 0.5, 11.0),
    issue!(ReclaimThrottle, [ReclaimThrottle: "reclaim_throttle shrink_node do_try_to_free_pages", Device: "wbt_wait"], None, ALL, "write", 100.0, 0.3, 6.0),
    issue!(Shrinker, [Shrinker: "xfs_reclaim_inodes_nr super_cache_scan do_shrink_slab", FsLog: "xfs_log_force"], None, XFS, "openat", 190.0, 0.25, 4.0),
    issue!(DirtyThrottle, [DirtyThrottle: "balance_dirty_pages balance_dirty_pages_ratelimited_flags generic_perform_write", Device: "wb_workfn"], None, ALL, "write", 160.0, 0.6, 12.0),
    issue!(RequestWait, [RequestWait: "blk_mq_get_tag __blk_mq_alloc_requests blk_mq_submit_bio", Device: "nvme_irq"], None, ALL, "read", 65.0, 0.35, 7.0),
    issue!(SchedulerQueue, [SchedulerQueue: "io_schedule folio_wait_bit_common", Device: "bfq_dispatch_request"], None, ALL, "read", 85.0, 0.3, 8.0),
    issue!(IoThrottle, [IoThrottle: "io_schedule folio_wait_bit_common filemap_fault"], None, ALL, "pagefault", 210.0, 0.25, 7.0),
    issue!(CpuThrottle, [CpuThrottle: "schedule"], None, ALL, "futex", 55.0, 0.4, 10.0),
    issue!(PageFault, [PageFault: "io_schedule folio_wait_bit_common filemap_fault __do_fault", Device: "io_schedule"], None, ALL, "pagefault", 50.0, 0.5, 9.0),
    issue!(Swap, [Swap: "io_schedule swap_readpage do_swap_page handle_mm_fault", Device: "io_schedule"], None, ALL, "pagefault", 75.0, 0.3, 8.0),
    issue!(Compaction, [Compaction: "compact_zone compact_zone_order try_to_compact_pages __alloc_pages_direct_compact"], None, ALL, "mmap", 90.0, 0.2, 4.0),
];

impl Issue {
    /// Whether hosts with that file system can have it.
    pub(crate) fn is_on(&self, file_system: &str) -> bool {
        self.file_systems.is_empty() || self.file_systems.contains(&file_system)
    }

    /// A chain as it is recorded once: most are alike, some carry what no fingerprint should need. `kernel` numbers the kernel.
    pub(crate) fn steps(&self, number: usize, kernel: usize, random: &mut SplitMix64) -> Vec<Step> {
        let mut steps: Vec<Step> = self.chain.iter().map(|(cause, functions)| step(*cause, functions)).collect();
        // A kernel inlines a function of one issue in 16.
        if (number + 5 * kernel).is_multiple_of(16) && steps[0].functions.len() > 2 {
            steps[0].functions.remove(1);
        }
        // The task was preempted before the disk's answer, wherever it was.
        if random.happens(0.04) {
            let place = *random.one(&["irqentry_exit", "schedule_timeout", "preempt_schedule", "io_schedule"]);
            steps.push(step(Cause::CpuWait, place));
        }
        // The stack was cut.
        if random.happens(0.02) {
            steps[0].functions.pop();
        }
        steps
    }
}

fn step(cause: Cause, functions: &str) -> Step {
    Step { cause, functions: functions.split(' ').take(FUNCTIONS).map(str::to_owned).collect() }
}
