//! The writers: which pages they write, in which order, and how they end.

use crate::observer::{Operation, Wait};

use super::plan::PAGE_BYTES;
use super::simulation::{Due, Simulation};
use super::writer::{Activity, FSYNC, LOCK, SYNC, ptlrpcd_tid};

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

    /// cl_io_loop: one iteration per stripe; a file on one target has one for the whole call.
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
                bytes: self.plan.transfer_pages * PAGE_BYTES,
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

    /// generic_file_write: copies into pages that the OSC has not seen yet.
    pub(super) fn start_batch(&mut self, id: usize) {
        let writer = &mut self.writers[id];
        writer.activity = Activity::Busy;
        writer.batch_left = writer.piece_left.min(self.plan.commit_pages);
        let ns = (writer.batch_left as f64 * self.plan.copy_page_ns) as u64;
        let ns = self.about_ns(ns);
        self.agenda.after(ns, Due::Copied(id));
    }

    /// osc_io_commit_async: queues the next page, or sleeps.
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

    /// osc_io_end, if the piece ends too.
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

    /// The extents that it waited for, in fsync or in a synchronous write, are written.
    pub(super) fn written(&mut self, id: usize) {
        let now_ns = self.agenda.now_ns();
        match self.writers[id].activity {
            Activity::Fsync => {
                self.report_wait(id, FSYNC);
                let writer = &self.writers[id];
                let (tid, start_ns) = (writer.tid(), writer.since_ns);
                self.observer.operation(Operation { class: "fsync", tid, start_ns, end_ns: now_ns, bytes: 0 });
                self.close(id);
            }
            Activity::Sync => {
                self.report_wait(id, SYNC);
                let writer = &mut self.writers[id];
                writer.activity = Activity::Busy;
                writer.page += writer.batch_left;
                writer.piece_left -= writer.batch_left;
                writer.batch_left = 0;
                self.end_batch(id);
            }
            other => unreachable!("a writer that is {other:?} does not wait for extents"),
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

    /// Reports a wait that has ended, or is still in progress at the end of the run.
    pub(super) fn report_wait(&mut self, id: usize, frames: &'static [&'static str]) {
        let end_ns = self.agenda.now_ns();
        let writer = &self.writers[id];
        let (tid, start_ns, waker) = (writer.tid(), writer.since_ns, ptlrpcd_tid(writer.client));
        self.account.wait(frames, end_ns - start_ns);
        if end_ns - start_ns >= self.account.slow_ns {
            let in_progress = self.agenda.is_empty();
            let waker_tid = (frames != LOCK && !in_progress).then_some(waker);
            self.observer.wait(&Wait { tid, start_ns, end_ns, frames, waker_tid, request: None });
        }
    }
}
