//! The tracer's sources: which tracepoints each needs, and what it is for.

/// A program, the tracepoint that it is attached to, and how many arguments that gives where it fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) tracepoint: &'static str,
    pub(super) fewest_arguments: usize,
    pub(super) most_arguments: usize,
}

/// Programs that only work together. Of those with the same tracepoint the first that fits is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceSource {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    pub(super) programs: &'static [Program],
    /// The kernel module that may hold the tracepoints.
    pub(super) module: Option<&'static str>,
    /// When it is attached.
    pub(super) when: When,
}

/// When a source's programs are attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Of use only where each request is kept.
    EachRequest,
    /// Once there is a device for which the programs need it.
    Wanted,
}

const fn program(name: &'static str, tracepoint: &'static str, arguments: usize) -> Program {
    Program { name, tracepoint, fewest_arguments: arguments, most_arguments: 12 }
}

const fn exactly(name: &'static str, tracepoint: &'static str, arguments: usize) -> Program {
    Program { name, tracepoint, fewest_arguments: arguments, most_arguments: arguments }
}

const fn source(name: &'static str, purpose: &'static str, programs: &'static [Program]) -> TraceSource {
    TraceSource { name, purpose, programs, module: None, when: When::Always }
}

const fn of_module(
    module: &'static str,
    name: &'static str,
    purpose: &'static str,
    programs: &'static [Program],
) -> TraceSource {
    TraceSource { name, purpose, programs, module: Some(module), when: When::Always }
}

// tidy: table
/// All sources. Those of block requests that only add a moment stand for themselves.
pub(super) const SOURCES: &[TraceSource] = &[
    source(
        "tracing: scheduler",
        "tells how long tasks sleep and wait for a CPU, where, and who wakes them",
        &[
            program("sched_switch", "sched_switch", 3),
            program("sched_waking", "sched_waking", 1),
            program("sched_process_fork", "sched_process_fork", 2),
            program("sched_process_exit", "sched_process_exit", 1),
        ],
    ),
    source(
        "tracing: system calls",
        "finds the slow operations of every program",
        &[program("sys_enter", "sys_enter", 2), program("sys_exit", "sys_exit", 2)],
    ),
    source(
        "tracing: direct reclaim",
        "tells time that tasks spend looking for free memory",
        &[
            program("direct_reclaim_begin", "mm_vmscan_direct_reclaim_begin", 1),
            program("direct_reclaim_end", "mm_vmscan_direct_reclaim_end", 1),
        ],
    ),
    source(
        "tracing: memcg reclaim",
        "tells time that tasks spend making room in their memory cgroup",
        &[
            program("memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_begin", 1),
            program("memcg_reclaim_end", "mm_vmscan_memcg_reclaim_end", 1),
        ],
    ),
    source(
        "tracing: reclaim throttling",
        "tells time that reclaim made tasks sleep",
        &[exactly("vmscan_throttled", "mm_vmscan_throttled", 4)],
    ),
    source(
        "tracing: shrinkers",
        "tells time spent in shrinking caches, and which",
        &[program("shrink_slab_start", "mm_shrink_slab_start", 1), program("shrink_slab_end", "mm_shrink_slab_end", 1)],
    ),
    source(
        "tracing: compaction",
        "tells time spent in moving pages together",
        &[program("compaction_begin", "mm_compaction_begin", 1), program("compaction_end", "mm_compaction_end", 1)],
    ),
    source(
        "tracing: dirty throttling",
        "tells waits that writers are made to make",
        &[
            exactly("balance_dirty_pages", "balance_dirty_pages", 8),
            exactly("balance_dirty_pages_12", "balance_dirty_pages", 12),
        ],
    ),
    source(
        "tracing: writeback waits",
        "tells waits for pages that are being written",
        &[program("folio_wait_writeback", "folio_wait_writeback", 2)],
    ),
    source(
        "tracing: locks",
        "tells waits for mutexes and semaphores",
        &[program("contention_begin", "contention_begin", 2), program("contention_end", "contention_end", 1)],
    ),
    source(
        "tracing: block requests",
        "tells which request a task waited for, and where that was",
        &[
            program("block_rq_insert", "block_rq_insert", 1),
            program("block_rq_merge", "block_rq_merge", 1),
            program("block_rq_complete", "block_rq_complete", 3),
        ],
    ),
    TraceSource {
        when: When::Wanted,
        ..source(
            "tracing: block request issues",
            "tells when requests went to devices without a scheduler, or whose requests the kernel does not time",
            &[program("block_rq_issue", "block_rq_issue", 1)],
        )
    },
    TraceSource {
        when: When::EachRequest,
        ..source(
            "tracing: block request starts",
            "tells when and by whom requests were made that were held back to be merged",
            &[program("block_io_start", "block_io_start", 1)],
        )
    },
    of_module(
        "jbd2",
        "tracing: jbd2 commits",
        "tells how long ext4's journal takes to commit, and where",
        &[exactly("jbd2_run_stats", "jbd2_run_stats", 3)],
    ),
    of_module(
        "jbd2",
        "tracing: jbd2 buffers",
        "tells waits for buffers that are in ext4's journal",
        &[exactly("jbd2_lock_buffer_stall", "jbd2_lock_buffer_stall", 2)],
    ),
    of_module(
        "jbd2",
        "tracing: jbd2 checkpoints",
        "tells waits for room in ext4's journal",
        &[exactly("jbd2_checkpoint", "jbd2_checkpoint", 2)],
    ),
    of_module(
        "xfs",
        "tracing: XFS log",
        "tells waits for XFS's log",
        &[
            program("xfs_log_grant_sleep", "xfs_log_grant_sleep", 1),
            program("xlog_iclog_wait_on", "xlog_iclog_wait_on", 1),
            program("xfs_log_force", "xfs_log_force", 1),
        ],
    ),
    of_module(
        "xfs",
        "tracing: XFS log commits",
        "tells waits for what XFS has yet to commit to its log",
        &[program("xfs_log_cil_wait", "xfs_log_cil_wait", 1)],
    ),
    of_module(
        "xfs",
        "tracing: XFS buffers",
        "tells waits for XFS's metadata buffers",
        &[
            program("xfs_buf_iowait", "xfs_buf_iowait", 1),
            program("xfs_buf_lock", "xfs_buf_lock", 1),
            program("xfs_buf_lock_done", "xfs_buf_lock_done", 1),
        ],
    ),
    of_module(
        "xfs",
        "tracing: XFS inode freeing",
        "tells waits for XFS's freeing of inodes",
        &[program("xfs_inodegc_throttle", "xfs_inodegc_throttle", 1)],
    ),
    of_module(
        "btrfs",
        "tracing: btrfs commits",
        "tells how long btrfs takes to commit a transaction",
        &[program("btrfs_transaction_commit", "btrfs_transaction_commit", 1)],
    ),
    of_module(
        "btrfs",
        "tracing: btrfs space",
        "tells waits for room that btrfs has yet to reclaim",
        &[exactly("btrfs_reserve_ticket", "btrfs_reserve_ticket", 6)],
    ),
    of_module(
        "btrfs",
        "tracing: btrfs tree locks",
        "tells waits for nodes of btrfs's trees",
        &[exactly("btrfs_tree_lock", "btrfs_tree_lock", 2), exactly("btrfs_tree_read_lock", "btrfs_tree_read_lock", 2)],
    ),
];

/// Tracepoints of spans: `enum span` of the programs.
pub(super) const SPANS: [&str; 11] = [
    "mm_vmscan_direct_reclaim",
    "mm_vmscan_memcg_reclaim",
    "mm_shrink_slab",
    "mm_compaction",
    "mm_vmscan_throttled",
    "jbd2_run_stats",
    "jbd2_lock_buffer_stall",
    "btrfs_transaction_commit",
    "btrfs_reserve_ticket",
    "btrfs_tree_lock",
    "btrfs_tree_read_lock",
];

/// Tracepoints that announce a wait: `enum mark` of the programs. The first stands for none.
pub(super) const MARKS: [&str; 12] = [
    "",
    "contention_begin",
    "balance_dirty_pages",
    "folio_wait_writeback",
    "xfs_log_grant_sleep",
    "xlog_iclog_wait_on",
    "xfs_log_cil_wait",
    "xfs_buf_iowait",
    "xfs_buf_lock",
    "xfs_inodegc_throttle",
    "xfs_log_force",
    "jbd2_checkpoint",
];
