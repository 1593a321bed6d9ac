use model::signal::Signal;
use model::stall::StackRecord;

use super::Stack;
use crate::blame::facts::names::Names;
use crate::blame::facts::stack_rules::RANKS;

fn stack(frames: &str) -> Stack {
    let frames = frames.split(" < ").map(str::to_owned).collect();
    Stack::new(&StackRecord { stack: 0, frames }, &mut Names::default())
}

/// The cause of a stack written as `a < b < c`, and the words.
fn check(frames: &str, expected: &str) {
    let found =
        stack(frames).rule.map_or("none".to_owned(), |rule| format!("{}: {}", rule.cause.name(), rule.kind.words()));
    assert_eq!(found, expected, "of {frames}");
}

/// From the kernel's sources.
#[test]
fn pages_come_from_swap_by_a_fault_or_a_read_of_shared_memory() {
    for frames in [
        "__folio_lock_or_retry < do_swap_page < __handle_mm_fault < handle_mm_fault < exc_page_fault",
        "__folio_lock < shmem_swapin_folio < shmem_get_folio_gfp < shmem_fault < __do_fault < exc_page_fault",
        "shmem_swapin_folio < shmem_get_folio_gfp < shmem_file_read_iter < vfs_read < ksys_read",
        "blk_mq_get_tag < submit_bio < swap_read_folio < swap_cluster_readahead < swapin_readahead < do_swap_page",
        "submit_bio_wait < swap_read_folio_bdev_sync < swapin_folio < do_swap_page < exc_page_fault",
    ] {
        check(frames, "swap: page from swap");
    }
}

/// From the kernel's sources: a lock that the server refuses is no wait for the server.
#[test]
fn locks_of_nfs_are_locks_unless_the_server_is_asked() {
    const LOCK: &str = "lock: NFS lock, possibly held by another client";
    for (frames, expected) in [
        ("wait_woken < nfs4_retry_setlk < nfs4_proc_lock < do_setlk < nfs_flock < __do_sys_flock", LOCK),
        ("nfs4_proc_lock < nfs_lock < fcntl_setlk < do_fcntl", LOCK),
        ("nlmclnt_block < nlmclnt_lock < nlmclnt_proc < nfs3_proc_lock < do_setlk < nfs_flock", LOCK),
        ("rpc_wait_bit_killable < _nfs4_do_setlk < nfs4_proc_lock < do_setlk < nfs_flock", "network_fs: server"),
    ] {
        check(frames, expected);
    }
}

/// Recorded stacks, without the system call entry that all share.
#[test]
fn real_stacks_of_6_18() {
    for (frames, expected) in [
        ("jbd2_log_wait_commit < ext4_sync_file < do_fsync", "journal: journal commit"),
        (
            "submit_bio_wait < blkdev_issue_flush < jbd2_cleanup_journal_tail < jbd2_log_do_checkpoint \
             < __jbd2_log_wait_for_space < add_transaction_credits < start_this_handle < jbd2__journal_start \
             < __ext4_new_inode < ext4_create < path_openat",
            "journal: journal space",
        ),
        (
            "jbd2_journal_wait_updates < jbd2_journal_commit_transaction < kjournald2 < kthread",
            "journal: open journal handles",
        ),
        ("write_all_supers < btrfs_commit_transaction < sync_filesystem", "fs_transaction: btrfs transaction commit"),
        (
            "wait_for_commit < btrfs_wait_for_commit < btrfs_attach_transaction_barrier < btrfs_sync_fs",
            "fs_transaction: btrfs transaction commit",
        ),
        (
            "rq_qos_wait < wbt_wait < __rq_qos_throttle < blk_mq_submit_bio < __submit_bio < __block_write_full_folio \
             < blkdev_writepages < do_writepages < sync_file_range",
            "request_wait: block writeback throttling (wbt)",
        ),
        (
            "mem_cgroup_oom_synchronize < pagefault_out_of_memory < exc_page_fault < asm_exc_page_fault",
            "out_of_memory: room in its memory cgroup, without the OOM killer",
        ),
        (
            "fanotify_handle_event < fsnotify < __fsnotify_parent < do_dentry_open < vfs_open < path_openat",
            "fanotify: answer of a fanotify listener",
        ),
        (
            "request_wait_answer < __fuse_simple_request < fuse_direct_io < fuse_file_read_iter < vfs_read",
            "network_fs: FUSE server",
        ),
        ("write_all_supers < btrfs_sync_log < btrfs_sync_file", "fs_transaction: btrfs log tree"),
        (
            "xlog_wait_on_iclog < xfs_log_force_seq < __xfs_trans_commit < xfs_sync_sb < xfs_log_quiesce < \
             xfs_fs_freeze \
             < freeze_super",
            "fs_log: XFS log write",
        ),
        ("percpu_rwsem_wait < mnt_want_write < path_openat < do_filp_open", "frozen: thaw of the file system"),
        ("percpu_rwsem_wait < vfs_write < ksys_write", "frozen: thaw of the file system"),
        ("percpu_rwsem_wait < cpus_read_lock < kmem_cache_create", "lock: system-wide lock"),
        (
            "balance_dirty_pages < balance_dirty_pages_ratelimited_flags < generic_perform_write",
            "dirty_throttle: dirty-page throttling",
        ),
        (
            "_sleep < getnewbuf < getblk < cluster_read < ffs_read < VOP_READ_APV < vn_read",
            "dirty_throttle: buffer space, all of it dirty (FreeBSD)",
        ),
        ("_sleep < bwillwrite < vn_write < dofilewrite", "dirty_throttle: too many dirty buffers (FreeBSD)"),
        ("_sleep < bwait < bufwait < cluster_read < ffs_read < vn_read", "device: block I/O (FreeBSD)"),
        ("sleeplk < __lockmgr_args < ffs_lock < _vn_lock < vn_rdwr", "lock: vnode lock (FreeBSD)"),
        (
            "sleepq_timedwait < _sleep < buf_daemon < fork_exit",
            "lock: vnode locks of files with dirty buffers (FreeBSD)",
        ),
        (
            "_sleep < waitrunningbufspace < flushbufqueues < buf_daemon",
            "dirty_throttle: buffer writes in flight (FreeBSD)",
        ),
        (
            "folio_wait_bit_common < filemap_read_folio < filemap_fault < __do_fault",
            "page_fault: page of a mapped file",
        ),
        ("folio_wait_bit_common < filemap_get_pages < filemap_read", "device: page read"),
        ("folio_wait_bit < folio_wait_writeback < __filemap_fdatawait_range", "writeback_wait: pages under writeback"),
        ("wb_wait_for_completion < __writeback_inodes_sb_nr", "writeback_wait: the flusher to write dirty pages"),
        ("__iomap_dio_rw < iomap_dio_rw < ext4_file_read_iter", "device: direct I/O"),
        ("submit_bio_wait < blkdev_issue_discard < ext4_free_blocks", "device: synchronous I/O"),
        (
            "osc_enter_cache < osc_queue_async_io < osc_page_cache_add < osc_io_commit_async",
            "dirty_throttle: Lustre grant, or room for dirty pages",
        ),
        ("osc_extent_wait < osc_cache_wait_range < osc_io_fsync_end < cl_io_end", "network_fs: Lustre server"),
        (
            "ldlm_completion_ast < osc_enqueue_base < osc_lock_enqueue < cl_lock_request",
            "lock: Lustre lock, possibly held by another client",
        ),
        ("xfs_ilock < xfs_file_buffered_write < vfs_write", "lock: inode lock of a file"),
        // Recorded on Linux 6.18: a tracer that ends, and a umount.
        ("synchronize_rcu_normal < tracepoint_probe_unregister < bpf_raw_tp_link_release", "lock: RCU grace period"),
        ("synchronize_rcu_expedited < namespace_unlock < path_umount", "lock: RCU grace period"),
        ("path_openat < do_filp_open", "lock: inode lock of a directory"),
        ("ext4_read_bh < ext4_read_inode_bitmap < __ext4_new_inode < path_openat", "device: metadata block I/O"),
        ("synchronize_rcu_normal < rcu_sync_enter < freeze_super", "frozen: writers to drain before a freeze"),
        (
            "wait_transaction_locked < add_transaction_credits < start_this_handle < jbd2__journal_start < ext4_rename",
            "journal: transaction locked by the journal commit",
        ),
        (
            "do_get_write_access < jbd2_journal_get_write_access < __ext4_journal_get_write_access < __ext4_new_inode",
            "journal: metadata block under journal write",
        ),
        (
            "xlog_grant_head_wait < xlog_grant_head_check < xfs_log_reserve < xfs_trans_alloc < xfs_setattr_size",
            "fs_log: XFS log space",
        ),
        (
            "__flush_workqueue < xlog_cil_push_now < xlog_cil_force_seq < xfs_log_force < xfs_fs_sync_fs",
            "fs_log: XFS log (CIL) push",
        ),
        (
            "xfs_buf_lock < xfs_buf_find_lock < xfs_buf_get_map < xfs_read_agi < xfs_iunlink < xfs_remove",
            "lock: XFS metadata buffer lock",
        ),
        (
            "__reserve_bytes < btrfs_reserve_metadata_bytes < start_transaction < btrfs_create_common < path_openat",
            "fs_transaction: btrfs space reservation",
        ),
        (
            "wait_current_trans < start_transaction < btrfs_create_common",
            "fs_transaction: running btrfs transaction commit",
        ),
        (
            "btrfs_tree_read_lock_nested < btrfs_read_lock_root_node < btrfs_search_slot < btrfs_lookup_dir_item",
            "lock: btrfs tree lock",
        ),
        (
            "reclaim_throttle < shrink_lruvec < shrink_node < do_try_to_free_pages < try_to_free_mem_cgroup_pages",
            "reclaim_throttle: reclaim throttling",
        ),
        (
            "schedule_timeout_killable < mem_cgroup_handle_over_high < exit_to_user_mode_prepare < do_syscall_64",
            "reclaim_throttle: throttled above memory.high of its cgroup",
        ),
        (
            "blk_mq_get_tag < __blk_mq_alloc_requests < blk_mq_submit_bio < __submit_bio < read_pages < filemap_fault",
            "request_wait: request (tag)",
        ),
        ("inode_wait_for_writeback < evict < do_unlinkat", "writeback_wait: inode under writeback"),
        ("hrtimer_nanosleep < common_nsleep", "none"),
        ("worker_thread < kthread", "none"),
    ] {
        check(frames, expected);
    }
}

/// From the kernel's sources: these controllers need cgroup v2.
#[test]
fn throttling_of_cgroup_v2_is_named_by_mechanism() {
    let below = "__rq_qos_throttle < blk_mq_submit_bio < __submit_bio";
    check(&format!("rq_qos_wait < blkcg_iolatency_throttle < {below}"), "io_throttle: io.latency of its cgroup");
    check(&format!("ioc_rqos_throttle < {below}"), "io_throttle: io.cost of its cgroup");
    check(
        "blkcg_maybe_throttle_blkg < blkcg_maybe_throttle_current < resume_user_mode_work",
        "io_throttle: io.latency of its cgroup",
    );
    check(&format!("rq_qos_wait < {below}"), "request_wait: request (tag)");
}

#[test]
fn a_write_to_a_frozen_file_system_is_frozen_where_one_function_begins_all_writes() {
    check(
        "percpu_rwsem_wait < __percpu_down_read < __sb_start_write < mnt_want_write < path_openat",
        "frozen: thaw of the file system",
    );
}

#[test]
fn a_mechanism_outranks_the_sleep_within_it() {
    check("__flush_workqueue < xlog_cil_push_now < xlog_cil_force_seq < xfs_log_force", "fs_log: XFS log (CIL) push");
    check("folio_wait_bit_common < shrink_folio_list < shrink_lruvec", "direct_reclaim: direct reclaim");
}

#[test]
fn an_innermost_rule_matches_only_the_sleeping_function() {
    check("vfs_write < ksys_write", "frozen: thaw of the file system");
    check("unknown_driver_wait < vfs_write < ksys_write", "none");
}

#[test]
fn offsets_modules_and_compiler_suffixes_are_ignored() {
    check("xlog_grant_head_wait+0xc1/0x1a0 [xfs] < xfs_trans_reserve", "fs_log: XFS log space");
    check("do_get_write_access.isra.0 < ext4_new_inode", "journal: metadata block under journal write");
}

#[test]
fn the_announced_wait_must_be_on_the_stack() {
    for (tracepoint, frames, agrees) in [
        ("xfs_log_force", "xlog_wait_on_iclog < xfs_log_force", true),
        ("xfs_log_force", "folio_wait_bit_common < filemap_read", false),
        ("jbd2_checkpoint", "submit_bio_wait < jbd2_log_do_checkpoint", true),
        ("contention_begin", "anything", true),
        ("xlog_iclog_wait_on", "synchronize_rcu_normal < rcu_sync_enter < freeze_super", false),
    ] {
        let announcement = Signal::from_name(tracepoint).and_then(Signal::meaning).unwrap();
        assert_eq!(stack(frames).agrees_with(announcement), agrees, "{tracepoint} {frames}");
    }
}

#[test]
fn every_rule_is_complete() {
    for rule in RANKS.iter().copied().flatten() {
        assert!(!rule.frames.is_empty(), "{rule:?}");
        assert!(rule.seen_on.iter().all(|version| version.starts_with(|c: char| c.is_ascii_digit())), "{rule:?}");
    }
}
