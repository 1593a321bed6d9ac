//! Processes that write: which pages, in which order, and what they do when they are done.

use crate::observer::{Operation, Wait};

use super::parameters::Plan;
use super::simulation::{Due, Simulation};

/// What a writer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Copies, or hands over pages.
    Busy,
    /// Waits in osc_enter_cache for one page of grant and of dirty room.
    Cache {
        /// It will run soon.
        woken: bool,
        /// Its page is accounted for.
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
    /// Its next write call, and when the one under way began.
    pub(super) transfer: u64,
    pub(super) transfer_start_ns: u64,
    /// The next page of the file, and what is left of the write call.
    pub(super) position: u64,
    pub(super) left: u64,
    /// The object that it writes to now, its next page there, and what is left before another object's turn.
    pub(super) object: usize,
    pub(super) page: u64,
    pub(super) piece_left: u64,
    /// What is copied and not yet handed over.
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

    /// First page of its transfer in the file, as IOR lays them out: segment, then rank, then transfer.
    fn offset(&self, plan: &Plan) -> u64 {
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

impl Simulation<'_> {
    pub(super) fn start(&mut self, id: usize) {
        self.start_transfer(id);
    }

    fn start_transfer(&mut self, id: usize) {
        let now_ns = self.agenda.now_ns();
        let writer = &mut self.writers[id];
        if writer.transfer == self.plan.transfers() {
            return if self.plan.fsync { self.fsync(id) } else { self.close(id) };
        }
        writer.transfer_start_ns = now_ns;
        writer.position = writer.offset(&self.plan);
        writer.left = self.plan.transfer_pages;
        self.next_piece(id);
    }

    /// cl_io_loop: an iteration for each stripe; a file on one target has one for the whole call.
    fn next_piece(&mut self, id: usize) {
        let (stripe_pages, stripes) = (self.plan.stripe_pages, self.plan.stripes as u64);
        let writer = &mut self.writers[id];
        if writer.left == 0 {
            writer.transfer += 1;
            let operation = Operation {
                class: "write",
                tid: writer.tid(),
                start_ns: writer.transfer_start_ns,
                end_ns: self.agenda.now_ns(),
                bytes: self.plan.transfer_pages * super::parameters::PAGE_BYTES,
            };
            self.account.write(operation.end_ns - operation.start_ns);
            self.observer.operation(operation);
            return self.start_transfer(id);
        }
        let (number, within) = (writer.position / stripe_pages, writer.position % stripe_pages);
        let stripe = (number % stripes) as usize;
        writer.piece_left = if stripes == 1 { writer.left } else { writer.left.min(stripe_pages - within) };
        writer.page = number / stripes * stripe_pages + within;
        writer.position += writer.piece_left;
        writer.left -= writer.piece_left;
        let inode = writer.inode;
        let object = self.object_of(inode, stripe);
        self.writers[id].object = object;
        self.take_lock(id);
    }

    /// generic_file_write: copies into pages that the OSC does not know of yet.
    pub(super) fn start_batch(&mut self, id: usize) {
        let writer = &mut self.writers[id];
        writer.activity = Activity::Busy;
        writer.batch_left = writer.piece_left.min(self.plan.commit_pages);
        let ns = (writer.batch_left as f64 * self.plan.copy_page_ns) as u64;
        let ns = self.about_ns(ns);
        self.agenda.after(ns, Due::Copied(id));
    }

    /// osc_io_commit_async: hands over the next page, or sleeps.
    pub(super) fn page(&mut self, id: usize) {
        if self.writers[id].batch_left == 0 {
            return self.end_batch(id);
        }
        if self.queue_async_io(id) {
            self.added(id);
        }
    }

    /// The page is in its extent.
    pub(super) fn added(&mut self, id: usize) {
        self.account.dirtied_pages += 1;
        let writer = &mut self.writers[id];
        writer.page += 1;
        writer.piece_left -= 1;
        writer.batch_left -= 1;
        self.agenda.after(self.plan.commit_page_ns, Due::Page(id));
    }

    /// osc_io_end, where the piece ends too.
    pub(super) fn end_batch(&mut self, id: usize) {
        if self.writers[id].piece_left > 0 {
            return self.start_batch(id);
        }
        if let Some(extent) = self.writers[id].active.take() {
            self.release(extent);
        }
        self.drop_lock(id);
        self.next_piece(id);
    }

    /// What it waited for, in fsync or in a synchronous write, is written.
    pub(super) fn written(&mut self, id: usize) {
        let now_ns = self.agenda.now_ns();
        match self.writers[id].activity {
            Activity::Fsync => {
                self.tell_wait(id, FSYNC);
                let writer = &self.writers[id];
                let (tid, start_ns) = (writer.tid(), writer.since_ns);
                self.observer.operation(Operation { class: "fsync", tid, start_ns, end_ns: now_ns, bytes: 0 });
                self.close(id);
            }
            Activity::Sync => {
                self.tell_wait(id, SYNC);
                let writer = &mut self.writers[id];
                writer.activity = Activity::Busy;
                writer.page += writer.batch_left;
                writer.piece_left -= writer.batch_left;
                writer.batch_left = 0;
                self.end_batch(id);
            }
            other => unreachable!("nobody wakes a writer for extents while it is {other:?}"),
        }
    }

    pub(super) fn close(&mut self, id: usize) {
        self.writers[id].activity = Activity::Done;
        self.writers_left -= 1;
        if self.writers_left == 0 {
            self.account.closed_ns = Some(self.agenda.now_ns());
            if !self.plan.fsync {
                self.observer.phase("writeback", false, self.agenda.now_ns());
            }
        }
    }

    /// It waits no longer, or the model ends.
    pub(super) fn tell_wait(&mut self, id: usize, frames: &'static [&'static str]) {
        let end_ns = self.agenda.now_ns();
        let writer = &self.writers[id];
        let (tid, start_ns, waker) = (writer.tid(), writer.since_ns, ptlrpcd_tid(writer.client));
        self.account.wait(frames, end_ns - start_ns);
        if end_ns - start_ns >= self.account.slow_ns {
            let goes_on = self.agenda.is_empty();
            let waker_tid = (frames != LOCK && !goes_on).then_some(waker);
            self.observer.wait(&Wait { tid, start_ns, end_ns, frames, waker_tid, request: None });
        }
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
