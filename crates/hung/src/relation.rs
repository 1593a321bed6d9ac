//! Who ends a wait that another thread of the kernel ends, by the stacks of both.

use crate::dump::Task;

/// A wait in one of the first functions ends when the thread with one of the second goes on.
struct Relation {
    waits: &'static [&'static str],
    served_by: &'static [&'static str],
}

const RELATIONS: &[Relation] = &[
    Relation {
        waits: &[
            "jbd2_log_wait_commit",
            "jbd2_complete_transaction",
            "wait_transaction_locked",
            "add_transaction_credits",
            "start_this_handle",
            "do_get_write_access",
            "__jbd2_log_wait_for_space",
            "jbd2_log_do_checkpoint",
        ],
        served_by: &["jbd2_journal_commit_transaction"],
    },
    Relation {
        waits: &["log_wait_commit", "start_this_handle", "__log_wait_for_space", "do_get_write_access"],
        served_by: &["journal_commit_transaction"],
    },
    Relation {
        waits: &[
            "wb_wait_for_completion",
            "writeback_inodes_sb*",
            "sync_inodes_sb",
            "inode_wait_for_writeback",
            "inode_sleep_on_writeback",
        ],
        served_by: &["wb_workfn", "bdi_writeback_workfn", "wb_writeback", "wb_do_writeback", "writeback_sb_inodes"],
    },
    Relation { waits: &["xlog_grant_head_*", "xfs_ail_push*"], served_by: &["xfsaild_push", "xfsaild"] },
    Relation {
        waits: &["xfs_log_force*", "_xfs_log_force*", "xlog_cil_force_*", "xlog_wait*", "xlog_state_get_iclog_space"],
        served_by: &["xlog_cil_push_work", "xlog_cil_push", "xlog_sync", "xlog_ioend_work"],
    },
    Relation {
        waits: &["wait_current_trans*", "btrfs_wait_for_commit", "wait_for_commit", "btrfs_async_run_delayed_refs"],
        served_by: &["btrfs_commit_transaction", "transaction_kthread"],
    },
    Relation {
        waits: &["txg_wait_*", "dmu_tx_wait", "dmu_tx_assign", "zil_commit*"],
        served_by: &["spa_sync", "spa_sync_iterate_to_convergence", "txg_sync_thread"],
    },
    Relation {
        waits: &["md_write_start", "md_flush_request", "raid5_get_active_stripe", "get_active_stripe", "wait_barrier*"],
        served_by: &["md_thread", "raid5d", "raid1d", "raid10d", "md_do_sync"],
    },
    Relation {
        waits: &["congestion_wait", "shrink_*", "reclaim_throttle", "throttle_direct_reclaim"],
        served_by: &["balance_pgdat"],
    },
];

/// The tasks that serve what a task waits for, by what they do; not the task itself.
pub(crate) fn servers(waiter: usize, tasks: &[Task]) -> Vec<usize> {
    let of = |at: &usize| {
        let relation = RELATIONS
            .iter()
            .find(|relation| tasks[waiter].calls(relation.waits) && tasks[*at].calls(relation.served_by));
        *at != waiter && relation.is_some_and(|relation| !tasks[waiter].calls(relation.served_by))
    };
    (0..tasks.len()).filter(of).collect()
}
