use model::stall::StackRecord;

use super::Stack;
use crate::blame::names::Names;
use crate::blame::rules::{RANKS, announcement};

fn stack(frames: &str) -> Stack {
    let frames = frames.split(" < ").map(str::to_owned).collect();
    Stack::new(&StackRecord { stack: 0, frames }, &mut Names::default())
}

/// The cause of a stack written as `a < b < c`, and the words.
fn check(frames: &str, expected: &str) {
    let found = stack(frames).rule.map_or("none".to_owned(), |rule| format!("{}: {}", rule.cause.name(), rule.words));
    assert_eq!(found, expected, "of {frames}");
}

/// Stacks as they were recorded, without what is the same in all: the system call's entry.
#[test]
fn real_stacks_of_6_18() {
    for (frames, expected) in [
        ("jbd2_log_wait_commit < ext4_sync_file < do_fsync", "journal: the journal's commit"),
        (
            "submit_bio_wait < blkdev_issue_flush < jbd2_cleanup_journal_tail < jbd2_log_do_checkpoint \
             < __jbd2_log_wait_for_space < add_transaction_credits < start_this_handle < jbd2__journal_start \
             < __ext4_new_inode < ext4_create < path_openat",
            "journal: space in the journal",
        ),
        (
            "jbd2_journal_wait_updates < jbd2_journal_commit_transaction < kjournald2 < kthread",
            "journal: the journal's users to end theirs",
        ),
        ("write_all_supers < btrfs_commit_transaction < sync_filesystem", "fs_transaction: a commit of btrfs"),
        (
            "wait_for_commit < btrfs_wait_for_commit < btrfs_attach_transaction_barrier < btrfs_sync_fs",
            "fs_transaction: a commit of btrfs",
        ),
        ("write_all_supers < btrfs_sync_log < btrfs_sync_file", "fs_transaction: the log tree of btrfs"),
        (
            "xlog_wait_on_iclog < xfs_log_force_seq < __xfs_trans_commit < xfs_sync_sb < xfs_log_quiesce < xfs_fs_freeze \
             < freeze_super",
            "fs_log: a write of the XFS log",
        ),
        ("percpu_rwsem_wait < mnt_want_write < path_openat < do_filp_open", "frozen: the file system to be thawed"),
        ("percpu_rwsem_wait < vfs_write < ksys_write", "frozen: the file system to be thawed"),
        ("percpu_rwsem_wait < cpus_read_lock < kmem_cache_create", "lock: a lock of the whole machine"),
        (
            "balance_dirty_pages < balance_dirty_pages_ratelimited_flags < generic_perform_write",
            "dirty_throttle: paused, because too much is dirty",
        ),
        (
            "_sleep < getnewbuf < getblk < cluster_read < ffs_read < VOP_READ_APV < vn_read",
            "dirty_throttle: space for a buffer, all of it dirty (FreeBSD)",
        ),
        ("_sleep < bwillwrite < vn_write < dofilewrite", "dirty_throttle: fewer dirty buffers (FreeBSD)"),
        ("_sleep < bwait < bufwait < cluster_read < ffs_read < vn_read", "device: a block (FreeBSD)"),
        ("sleeplk < __lockmgr_args < ffs_lock < _vn_lock < vn_rdwr", "lock: the lock of a file (FreeBSD)"),
        (
            "sleepq_timedwait < _sleep < buf_daemon < fork_exit",
            "lock: files whose dirty buffers it could flush to be unlocked (FreeBSD)",
        ),
        (
            "_sleep < waitrunningbufspace < flushbufqueues < buf_daemon",
            "dirty_throttle: writes under way to be done (FreeBSD)",
        ),
        (
            "folio_wait_bit_common < filemap_read_folio < filemap_fault < __do_fault",
            "page_fault: a page of a mapped file",
        ),
        ("folio_wait_bit_common < filemap_get_pages < filemap_read", "device: pages to be read"),
        ("folio_wait_bit < folio_wait_writeback < __filemap_fdatawait_range", "writeback_wait: pages under writeback"),
        ("wb_wait_for_completion < __writeback_inodes_sb_nr", "writeback_wait: the flusher to write what is dirty"),
        ("__iomap_dio_rw < iomap_dio_rw < ext4_file_read_iter", "device: direct I/O"),
        ("submit_bio_wait < blkdev_issue_discard < ext4_free_blocks", "device: I/O of its own"),
        (
            "osc_enter_cache < osc_queue_async_io < osc_page_cache_add < osc_io_commit_async",
            "dirty_throttle: grant from a Lustre target, or room for dirty pages",
        ),
        ("osc_extent_wait < osc_cache_wait_range < osc_io_fsync_end < cl_io_end", "network_fs: a Lustre server"),
        (
            "ldlm_completion_ast < osc_enqueue_base < osc_lock_enqueue < cl_lock_request",
            "lock: a lock that another Lustre client may have",
        ),
        ("xfs_ilock < xfs_file_buffered_write < vfs_write", "lock: the lock of a file"),
        ("path_openat < do_filp_open", "lock: the lock of a directory"),
        ("ext4_read_bh < ext4_read_inode_bitmap < __ext4_new_inode < path_openat", "device: a metadata block"),
        (
            "synchronize_rcu_normal < rcu_sync_enter < freeze_super",
            "frozen: a file system to be quiet enough to freeze",
        ),
        (
            "wait_transaction_locked < add_transaction_credits < start_this_handle < jbd2__journal_start < ext4_rename",
            "journal: the journal's commit to let work in",
        ),
        (
            "do_get_write_access < jbd2_journal_get_write_access < __ext4_journal_get_write_access < __ext4_new_inode",
            "journal: a metadata block that the journal is writing",
        ),
        (
            "xlog_grant_head_wait < xlog_grant_head_check < xfs_log_reserve < xfs_trans_alloc < xfs_setattr_size",
            "fs_log: space in the XFS log",
        ),
        (
            "__flush_workqueue < xlog_cil_push_now < xlog_cil_force_seq < xfs_log_force < xfs_fs_sync_fs",
            "fs_log: a push of the XFS log",
        ),
        (
            "xfs_buf_lock < xfs_buf_find_lock < xfs_buf_get_map < xfs_read_agi < xfs_iunlink < xfs_remove",
            "lock: the lock of an XFS metadata buffer",
        ),
        (
            "__reserve_bytes < btrfs_reserve_metadata_bytes < start_transaction < btrfs_create_common < path_openat",
            "fs_transaction: a reservation of space in btrfs",
        ),
        ("wait_current_trans < start_transaction < btrfs_create_common", "fs_transaction: the running commit of btrfs"),
        (
            "btrfs_tree_read_lock_nested < btrfs_read_lock_root_node < btrfs_search_slot < btrfs_lookup_dir_item",
            "lock: a lock in a tree of btrfs",
        ),
        (
            "reclaim_throttle < shrink_lruvec < shrink_node < do_try_to_free_pages < try_to_free_mem_cgroup_pages",
            "reclaim_throttle: paused by reclaim",
        ),
        (
            "blk_mq_get_tag < __blk_mq_alloc_requests < blk_mq_submit_bio < __submit_bio < read_pages < filemap_fault",
            "page_fault: a page of a mapped file",
        ),
        ("inode_wait_for_writeback < evict < do_unlinkat", "writeback_wait: an inode that is being written"),
        ("hrtimer_nanosleep < common_nsleep", "none"),
        ("worker_thread < kthread", "none"),
    ] {
        check(frames, expected);
    }
}

#[test]
fn a_mechanism_counts_more_than_the_sleep_it_is_made_of() {
    check(
        "__flush_workqueue < xlog_cil_push_now < xlog_cil_force_seq < xfs_log_force",
        "fs_log: a push of the XFS log",
    );
    check("folio_wait_bit_common < shrink_folio_list < shrink_lruvec", "direct_reclaim: freeing memory");
}

#[test]
fn a_function_that_calls_much_means_something_only_where_it_sleeps_itself() {
    check("vfs_write < ksys_write", "frozen: the file system to be thawed");
    check("unknown_driver_wait < vfs_write < ksys_write", "none");
}

#[test]
fn offsets_modules_and_what_compilers_append_do_not_matter() {
    check("xlog_grant_head_wait+0xc1/0x1a0 [xfs] < xfs_trans_reserve", "fs_log: space in the XFS log");
    check("do_get_write_access.isra.0 < ext4_new_inode", "journal: a metadata block that the journal is writing");
}

#[test]
fn what_was_announced_must_be_on_the_stack() {
    for (tracepoint, frames, agrees) in [
        ("xfs_log_force", "xlog_wait_on_iclog < xfs_log_force", true),
        ("xfs_log_force", "folio_wait_bit_common < filemap_read", false),
        ("jbd2_checkpoint", "submit_bio_wait < jbd2_log_do_checkpoint", true),
        ("contention_begin", "anything", true),
        ("xlog_iclog_wait_on", "synchronize_rcu_normal < rcu_sync_enter < freeze_super", false),
    ] {
        let announcement = announcement(tracepoint).unwrap();
        assert_eq!(stack(frames).agrees_with(announcement), agrees, "{tracepoint} {frames}");
    }
}

#[test]
fn every_rule_can_be_read() {
    for rule in RANKS.iter().copied().flatten() {
        assert!(!rule.frames.is_empty() && !rule.words.is_empty(), "{rule:?}");
        assert!(rule.seen_on.iter().all(|version| version.starts_with(|c: char| c.is_ascii_digit())), "{rule:?}");
    }
}
