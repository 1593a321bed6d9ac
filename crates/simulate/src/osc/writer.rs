//! A writer's state, and its stacks.

use super::plan::Plan;

/// What a writer is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Copies, or queues pages.
    Busy,
    /// Waits in osc_enter_cache for one page of grant and of dirty room.
    Cache {
        /// It has been woken, and runs soon.
        woken: bool,
        /// Its page is charged.
        entered: bool,
    },
    /// Waits for a lock.
    Lock,
    /// Waits for its synchronous write.
    Sync,
    /// Waits for its fsync.
    Fsync,
    /// Has closed its file.
    Done,
}

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) rank: usize,
    pub(super) client: usize,
    /// Its file, on its client.
    pub(super) inode: usize,
    pub(super) activity: Activity,
    pub(super) since_ns: u64,
    /// Its next write call, and the start of the current one.
    pub(super) transfer: u64,
    pub(super) transfer_start_ns: u64,
    /// The next page of the file, and the rest of the write call.
    pub(super) position: u64,
    pub(super) left: u64,
    /// The object that it writes to, its next page there, and the pages left before the next object.
    pub(super) object: usize,
    pub(super) page: u64,
    pub(super) piece_left: u64,
    /// Pages copied and not yet queued.
    pub(super) batch_left: u64,
    /// `oi_active`: the extent that it adds pages to.
    pub(super) active: Option<usize>,
    pub(super) lock: Option<u64>,
    /// Extents that it waits for.
    pub(super) awaits: usize,
    pub(super) timeout_due: bool,
}

impl Writer {
    pub(super) fn new(rank: usize, plan: &Plan) -> Writer {
        let client = rank % plan.clients;
        let file = if plan.files == 1 { 0 } else { rank };
        Writer {
            rank,
            client,
            inode: client * plan.files + file,
            activity: Activity::Busy,
            since_ns: 0,
            transfer: 0,
            transfer_start_ns: 0,
            position: 0,
            left: 0,
            object: 0,
            page: 0,
            piece_left: 0,
            batch_left: 0,
            active: None,
            lock: None,
            awaits: 0,
            timeout_due: false,
        }
    }

    pub(super) fn tid(&self) -> u32 {
        1000 + self.rank as u32
    }

    /// First page of its transfer in the file. IOR's layout: segment, then rank, then transfer.
    pub(super) fn offset(&self, plan: &Plan) -> u64 {
        let in_block = plan.block_pages / plan.transfer_pages;
        let (segment, transfer) = (self.transfer / in_block, self.transfer % in_block);
        let (writers, rank) = if plan.files == 1 { (plan.writers as u64, self.rank as u64) } else { (1, 0) };
        (segment * writers + rank) * plan.block_pages + transfer * plan.transfer_pages
    }
}

/// ptlrpcd of a client.
pub(super) fn ptlrpcd_tid(client: usize) -> u32 {
    100 + client as u32
}

impl Writer {
    pub(super) fn name(&self) -> String {
        format!("writer {}", self.rank)
    }
}

/// Where a writer waits, innermost function first.
pub(super) const CACHE: &[&str] = &[
    "osc_enter_cache",
    "osc_queue_async_io",
    "osc_page_cache_add",
    "osc_io_commit_async",
    "cl_io_commit_async",
    "vvp_io_write_commit",
    "vvp_io_write_start",
    "cl_io_start",
    "cl_io_loop",
    "ll_file_io_generic",
    "ll_file_write_iter",
];
pub(super) const SYNC: &[&str] = &[
    "cl_sync_io_wait",
    "cl_io_submit_sync",
    "vvp_io_commit_sync",
    "vvp_io_write_commit",
    "vvp_io_write_start",
    "cl_io_start",
    "cl_io_loop",
    "ll_file_io_generic",
    "ll_file_write_iter",
];
pub(super) const FSYNC: &[&str] =
    &["osc_extent_wait", "osc_cache_wait_range", "osc_io_fsync_end", "cl_io_end", "cl_io_loop", "ll_fsync"];
pub(super) const LOCK: &[&str] = &[
    "ldlm_completion_ast",
    "osc_enqueue_base",
    "osc_lock_enqueue",
    "cl_lock_request",
    "cl_io_lock",
    "cl_io_loop",
    "ll_file_io_generic",
    "ll_file_write_iter",
];
