//! The load's side of the board: how each thread records its operations.

use std::sync::atomic::{AtomicU64, Ordering};

use model::latency;
use model::operation::Fault;

use super::memory::{
    BLOCK_BUCKETS, BYTES, Board, ERRORS, MAX, SLOT_FILE, SLOT_OFFSET, SLOT_START, SLOT_WHAT, SUM, TOUCHED, USUAL_SLOTS,
};
use crate::data::FileId;
use crate::io_failure::IoFailure;

/// Set in a ring cell's class for a failed operation.
pub(super) const FAILED: u64 = 1 << 63;

/// A failure as two words: error and fault, and the offset.
fn words_of(failure: IoFailure) -> [u64; 2] {
    let fault = failure.fault.and_then(|fault| Fault::ALL.iter().position(|known| *known == fault));
    let fault = fault.map_or(0, |number| (number as u64 + 1) << FAULT_SHIFT);
    [fault | u64::from(failure.errno as u32), failure.offset_bytes.map_or(0, |offset| offset.saturating_add(1))]
}

/// Shift of the fault in the word of error number and fault.
const FAULT_SHIFT: u32 = 32;

/// Error number, fault and offset of a failure, from its words.
pub(super) fn failure_of([what, place]: [u64; 2]) -> (Option<i32>, Option<Fault>, Option<u64>) {
    let errno = what as u32 as i32;
    let fault = ((what >> FAULT_SHIFT) as usize).checked_sub(1).and_then(|number| Fault::ALL.get(number).copied());
    ((errno != 0).then_some(errno), fault, place.checked_sub(1))
}

/// One thread's access to the board. Costs a few stores per operation; where threads share a shard,
/// some of them are locked.
pub struct OperationRecorder<'a> {
    board: &'a Board,
    shard: usize,
    is_owned: bool,
    thread: usize,
    tid: u32,
    slower_than_ns: u64,
}

/// The slot of an operation in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationLevel {
    /// One operation.
    Step,
    /// A round of all steps.
    Round,
    /// One of several operations in flight, by its number.
    Flight(usize),
}

impl OperationLevel {
    fn slot(self) -> usize {
        match self {
            OperationLevel::Step => 0,
            OperationLevel::Round => 1,
            OperationLevel::Flight(number) => USUAL_SLOTS + number,
        }
    }
}

/// An operation that ended.
#[derive(Debug, Clone, Copy)]
pub struct FinishedOperation {
    /// Index of its class.
    pub class: usize,
    /// Its start, or intended start.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// The file it worked on.
    pub file: Option<FileId>,
    /// Its failure, if it failed.
    pub failure: Option<IoFailure>,
}

impl<'a> OperationRecorder<'a> {
    /// For actor thread number `thread`, counted over all actors.
    pub fn new(board: &'a Board, thread: usize, tid: u32, slower_than_ns: u64) -> OperationRecorder<'a> {
        let shard = thread % board.layout.shards;
        OperationRecorder { board, shard, is_owned: board.layout.is_owned(), thread, tid, slower_than_ns }
    }

    /// The board itself.
    pub fn board(&self) -> &'a Board {
        self.board
    }

    /// Marks an operation as running.
    pub fn begin(&self, level: OperationLevel, class: usize, start_ns: u64) {
        self.begin_at(level, class, start_ns, None, None);
    }

    /// Like [`OperationRecorder::begin`], for an operation at a known offset.
    pub fn begin_at(
        &self,
        level: OperationLevel,
        class: usize,
        start_ns: u64,
        file: Option<FileId>,
        offset_bytes: Option<u64>,
    ) {
        let slot = self.board.slot(self.thread, level.slot());
        slot[SLOT_FILE].store(file.map_or(0, FileId::to_word), Ordering::Relaxed);
        slot[SLOT_OFFSET].store(offset_bytes.map_or(0, |offset| offset + 1), Ordering::Relaxed);
        slot[SLOT_WHAT].store(((class as u64) << 32) | u64::from(self.tid), Ordering::Relaxed);
        slot[SLOT_START].store(start_ns.max(1), Ordering::Release);
    }

    /// Sets the file of the running step.
    pub(crate) fn works_on(&self, file: FileId) {
        self.board.slot(self.thread, OperationLevel::Step.slot())[SLOT_FILE].store(file.to_word(), Ordering::Relaxed);
    }

    /// Discards the operation, because the load stops.
    pub fn abandon(&self, level: OperationLevel) {
        self.board.slot(self.thread, level.slot())[SLOT_START].store(0, Ordering::Release);
    }

    /// Counts an operation that ended, and records it individually if it was slow or failed.
    pub fn finish(&self, level: OperationLevel, done: FinishedOperation) {
        let latency_ns = done.end_ns.saturating_sub(done.start_ns);
        self.count(&done, latency_ns);
        if done.failure.is_some() || latency_ns > self.slower_than_ns {
            self.keep(&done, latency_ns);
        }
        self.board.slot(self.thread, level.slot())[SLOT_START].store(0, Ordering::Release);
    }

    /// The bucket is last: a reader that sees its count also sees the rest.
    fn count(&self, done: &FinishedOperation, latency_ns: u64) {
        let counters = self.board.counters(done.class, self.shard);
        self.add(&counters[SUM], latency_ns);
        if done.bytes > 0 {
            self.add(&counters[BYTES], done.bytes);
        }
        if done.failure.is_some() {
            self.add(&counters[ERRORS], 1);
        }
        // The latency plus one: 0 means that nothing ended.
        if counters[MAX].load(Ordering::Relaxed) <= latency_ns {
            counters[MAX].fetch_max(latency_ns + 1, Ordering::Relaxed);
        }
        let index = latency::index_of(latency_ns) as usize;
        let block = 1 << (index / BLOCK_BUCKETS);
        if counters[TOUCHED].load(Ordering::Relaxed) & block == 0 {
            counters[TOUCHED].fetch_or(block, Ordering::Relaxed);
        }
        let bucket = &self.board.buckets(done.class, self.shard)[index];
        match self.is_owned {
            true => bucket.store(bucket.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release),
            false => {
                bucket.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Adds to a counter, without a locked instruction if no other thread writes it.
    fn add(&self, counter: &AtomicU64, amount: u64) {
        match self.is_owned {
            true => counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed),
            false => {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    fn keep(&self, done: &FinishedOperation, latency_ns: u64) {
        let failed = if done.failure.is_some() { FAILED } else { 0 };
        let file = done.failure.and_then(|failure| failure.file).or(done.file);
        let [what, place] = words_of(done.failure.unwrap_or_default());
        self.board.push(&[
            failed | done.class as u64,
            u64::from(self.tid),
            done.start_ns,
            latency_ns,
            done.bytes,
            file.map_or(0, FileId::to_word),
            what,
            place,
        ]);
    }
}
