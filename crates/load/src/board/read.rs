//! The program's side of the board. Reading never waits for the load.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::latency::{self, BUCKET_COUNT};
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};

use super::memory::{
    BLOCK_BUCKETS, BYTES, Board, ERRORS, MAX, SLOT_FILE, SLOT_OFFSET, SLOT_START, SLOT_WHAT, SUM, TOUCHED,
};
use super::ring::Payload;
use super::write::{FAILED, failure_of};
use crate::data::{FileId, FileSet};

/// The names behind the numbers on the board.
#[derive(Debug, Clone)]
pub(crate) struct BoardNames {
    pub(crate) classes: Vec<String>,
    /// Classes whose operations consist of those of other classes.
    pub(crate) wholes: Vec<String>,
    pub(crate) data_directories: Vec<PathBuf>,
    pub(crate) file_sets: Vec<FileSet>,
    pub(crate) slower_than_ns: u64,
}

/// Converts the board's cumulative counters into records.
pub(crate) struct BoardReader {
    board: Arc<Board>,
    naming: BoardNames,
    previous: Vec<ClassTotals>,
    interval_start_ns: u64,
    ring_next: u64,
    lost_seen: u64,
}

/// A class's counters, summed over the shards. Buckets wrap around, as those on the board do.
#[derive(Clone)]
struct ClassTotals {
    errors: u64,
    bytes: u64,
    sum_ns: u64,
    buckets: Vec<u32>,
}

/// An operation in progress.
struct Running {
    class: usize,
    tid: u32,
    start_ns: u64,
    file: Option<FileId>,
    offset_bytes: Option<u64>,
}

impl BoardNames {
    fn class(&self, class: usize) -> String {
        self.classes.get(class).cloned().unwrap_or_default()
    }

    fn path(&self, file: Option<FileId>) -> Option<String> {
        file?.path(&self.data_directories, &self.file_sets).map(|path| path.display().to_string())
    }
}

impl BoardReader {
    /// A reader of a new board.
    pub(crate) fn new(board: Arc<Board>, naming: BoardNames, now_ns: u64) -> BoardReader {
        let nothing = ClassTotals { errors: 0, bytes: 0, sum_ns: 0, buckets: vec![0; BUCKET_COUNT] };
        let previous = vec![nothing; naming.classes.len()];
        BoardReader { board, naming, previous, interval_start_ns: now_ns, ring_next: 0, lost_seen: 0 }
    }

    /// Sets the start of the next interval; no operation may have ended since the last one.
    pub(crate) fn begin_interval_at(&mut self, start_ns: u64) {
        self.interval_start_ns = start_ns;
    }

    /// Operations that ended since the previous call. Classes without ended or running operations are omitted.
    pub(crate) fn interval(&mut self, phase: &str, now_ns: u64) -> Vec<IntervalRecord> {
        let running = self.all_running();
        let mut records = Vec::new();
        for class in 0..self.previous.len() {
            let mut record = self.class_interval(class);
            let ages = running.iter().filter(|r| r.class == class).map(|r| now_ns.saturating_sub(r.start_ns));
            record.oldest_running_ns = ages.clone().max();
            record.stuck = ages.filter(|age| *age > self.naming.slower_than_ns).count() as u64;
            if record.count > 0 || record.oldest_running_ns.is_some() {
                (record.start_ns, record.end_ns) = (self.interval_start_ns, now_ns);
                record.phase = phase.to_owned();
                records.push(record);
            }
        }
        self.interval_start_ns = now_ns;
        records
    }

    fn class_interval(&mut self, class: usize) -> IntervalRecord {
        let mut record = IntervalRecord { class: self.naming.class(class), ..IntervalRecord::default() };
        record.buckets = self.class_buckets(class);
        record.count = record.buckets.iter().map(|bucket| bucket.count).sum();
        if record.count == 0 {
            // An operation that is being counted right now goes into the next interval.
            return record;
        }
        let counters = || (0..self.board.layout.shards).map(|shard| self.board.counters(class, shard));
        let total = |index: usize| counters().map(|c| c[index].load(Ordering::Relaxed)).fold(0, u64::wrapping_add);
        let (errors, bytes, sum_ns) = (total(ERRORS), total(BYTES), total(SUM));
        let max = counters().map(|c| c[MAX].swap(0, Ordering::Relaxed)).max();
        let since = |now: u64, before: &mut u64| now.wrapping_sub(std::mem::replace(before, now));
        let previous = &mut self.previous[class];
        record.errors = since(errors, &mut previous.errors);
        record.bytes = since(bytes, &mut previous.bytes);
        record.sum_ns = since(sum_ns, &mut previous.sum_ns);
        // The maximum of an operation that was being counted may have gone into the previous interval.
        let fullest = record.buckets.last().map(|bucket| latency::range_of(bucket.index).0);
        record.max_ns = max.and_then(|max| max.checked_sub(1)).max(fullest);
        record
    }

    /// Buckets that changed since the previous call.
    fn class_buckets(&mut self, class: usize) -> Vec<Bucket> {
        let shards = 0..self.board.layout.shards;
        let touched = |shard| self.board.counters(class, shard)[TOUCHED].load(Ordering::Relaxed);
        let touched = shards.clone().map(touched).fold(0, |a, b| a | b);
        let mut buckets = Vec::new();
        for block in (0..64).filter(|block| touched & (1 << block) != 0) {
            let end = ((block + 1) * BLOCK_BUCKETS).min(BUCKET_COUNT);
            for index in block * BLOCK_BUCKETS..end {
                let load = |shard| self.board.buckets(class, shard)[index].load(Ordering::Acquire);
                let now = shards.clone().map(load).fold(0, u32::wrapping_add);
                let before = std::mem::replace(&mut self.previous[class].buckets[index], now);
                if now != before {
                    buckets.push(Bucket { index: index as u32, count: u64::from(now.wrapping_sub(before)) });
                }
            }
        }
        buckets
    }

    /// Slow and failed operations since the previous call, and the number that did not fit into the ring.
    pub(crate) fn drain_operations(&mut self) -> (Vec<OperationRecord>, u64) {
        let mut records = Vec::new();
        while let Some(payload) = self.board.pop(self.ring_next) {
            self.ring_next += 1;
            records.push(self.record(&payload));
        }
        let lost = self.board.lost();
        let newly_lost = lost - std::mem::replace(&mut self.lost_seen, lost);
        (records, newly_lost)
    }

    /// Like [`BoardReader::drain_operations`], after all threads of the load have ended: records that a killed thread
    /// had begun to write are lost.
    pub(crate) fn drain_rest(&mut self) -> (Vec<OperationRecord>, u64) {
        let (mut records, mut lost) = self.drain_operations();
        while self.ring_next < self.board.tickets_taken() {
            match self.board.pop(self.ring_next) {
                Some(payload) => records.push(self.record(&payload)),
                None => lost += 1,
            }
            self.ring_next += 1;
        }
        (records, lost)
    }

    fn record(&self, payload: &Payload) -> OperationRecord {
        let [what, tid, start_ns, duration_ns, bytes, file, wrong, place] = *payload;
        let failed = what & FAILED != 0;
        let (errno, fault, offset_bytes) = failure_of([wrong, place]);
        OperationRecord {
            kind: if failed { OperationKind::Failed } else { OperationKind::Slow },
            class: self.naming.class((what & !FAILED) as usize),
            tid: tid as u32,
            start_ns,
            duration_ns,
            bytes: (bytes > 0).then_some(bytes),
            errno,
            path: self.naming.path(FileId::from_word(file)),
            offset_bytes,
            fault,
        }
    }

    /// Operations that exceed the plan's threshold now. Composite operations are left out: one of their parts is stuck,
    /// or none.
    pub(crate) fn stuck(&self, now_ns: u64) -> Vec<OperationRecord> {
        let age = |running: &Running| now_ns.saturating_sub(running.start_ns);
        let running = self.all_running().into_iter().filter(|r| age(r) > self.naming.slower_than_ns);
        let record = |running: Running| OperationRecord {
            kind: OperationKind::Stuck,
            class: self.naming.class(running.class),
            tid: running.tid,
            start_ns: running.start_ns,
            duration_ns: age(&running),
            bytes: None,
            errno: None,
            path: self.naming.path(running.file),
            offset_bytes: running.offset_bytes,
            fault: None,
        };
        running.map(record).filter(|record| !self.naming.wholes.contains(&record.class)).collect()
    }

    fn all_running(&self) -> Vec<Running> {
        let slots = self.board.layout.slots_per_thread;
        let levels = (0..self.board.layout.threads).flat_map(|t| (0..slots).map(move |level| (t, level)));
        levels.filter_map(|(thread, level)| self.running(thread, level)).collect()
    }

    /// The operation of a slot. A slot that changes while it is read belongs to an operation that just ended or began,
    /// which is not slow.
    fn running(&self, thread: usize, level: usize) -> Option<Running> {
        let slot = self.board.slot(thread, level);
        let start_ns = slot[SLOT_START].load(Ordering::Acquire);
        let what = slot[SLOT_WHAT].load(Ordering::Relaxed);
        let file = FileId::from_word(slot[SLOT_FILE].load(Ordering::Relaxed));
        let offset_bytes = slot[SLOT_OFFSET].load(Ordering::Relaxed).checked_sub(1);
        std::sync::atomic::fence(Ordering::Acquire);
        let unchanged = start_ns != 0 && slot[SLOT_START].load(Ordering::Relaxed) == start_ns;
        unchanged.then_some(Running { class: (what >> 32) as usize, tid: what as u32, start_ns, file, offset_bytes })
    }
}
