//! Several operations in flight, through an io_uring.

use std::fs::File;
use std::time::Duration;

use super::access::RandomJob;
use super::choice::{Act, BlockOperation, OperationChooser, Synced};
use crate::board::OperationLevel;
use crate::clock;
use crate::engine::SyncMethod;
use crate::io_failure::IoFailure;
use crate::sys::IoRing;
use crate::work::Worker;

/// Maximum draws to avoid a block that is in flight.
const DRAWS: usize = 32;

/// An operation in flight.
enum InFlight {
    Block(BlockOperation),
    Sync(usize, Synced),
}

struct UringQueue<'w, 'a, 's> {
    worker: &'w mut Worker<'s>,
    chooser: OperationChooser<'a>,
    ring: IoRing,
    flights: Vec<Option<(u64, InFlight)>>,
    free: Vec<usize>,
    /// Intended start of the next paced operation.
    due_ns: Option<u64>,
    now_ns: u64,
    /// Whether an operation failed since the last back-off.
    has_failed: bool,
}

/// Runs until the phase is over and all operations have completed.
pub(super) fn run(job: &RandomJob, worker: &mut Worker<'_>, chooser: OperationChooser<'_>, file: &File) {
    let ring = match IoRing::new(file, job.depth, job.block_bytes as usize) {
        Ok(ring) => ring,
        Err(error) => return worker.give_up(&format!("cannot create an io_uring: {error}; use --engine sync")),
    };
    let due_ns = worker.draw_start_ns();
    let flights = (0..job.depth).map(|_| None).collect();
    let (free, now_ns) = ((0..job.depth).rev().collect(), clock::now_ns());
    let mut queue = UringQueue { worker, chooser, ring, flights, free, due_ns, now_ns, has_failed: false };
    for slot in 0..job.depth {
        let buffer = queue.ring.buffer(slot);
        queue.worker.random.fill(buffer);
    }
    if let Err(error) = queue.run() {
        worker.give_up(&format!("the io_uring failed: {error}"));
    }
}

impl UringQueue<'_, '_, '_> {
    fn run(&mut self) -> std::io::Result<()> {
        loop {
            let is_over = self.worker.is_over();
            if !is_over {
                self.fill()?;
            }
            match (self.ring.in_flight(), self.due_ns) {
                (0, _) if is_over => return Ok(()),
                (0, Some(due_ns)) => {
                    self.worker.sleep_until(due_ns);
                    self.now_ns = clock::now_ns();
                    continue;
                }
                (0, None) => continue,
                _ => {}
            }
            let has_slot = !self.free.is_empty() && !is_over;
            let until_due = |due_ns: u64| Duration::from_nanos(due_ns.saturating_sub(self.now_ns));
            self.ring.submit_and_wait(self.due_ns.filter(|_| has_slot).map(until_due))?;
            self.now_ns = clock::now_ns();
            while let Some(completion) = self.ring.next_completion() {
                self.complete(completion.slot, completion.result);
            }
            if std::mem::take(&mut self.has_failed) {
                self.worker.back_off();
                self.now_ns = clock::now_ns();
            }
        }
    }

    /// Queues operations: as many as slots are free, or those of a paced load that are due.
    fn fill(&mut self) -> std::io::Result<()> {
        while let Some(slot) = self.free.last().copied() {
            if let Some((kind, class, synced)) = self.chooser.due_sync() {
                self.free.pop();
                self.sync(slot, kind, class, synced)?;
                continue;
            }
            let start_ns = match self.due_ns {
                Some(due_ns) if due_ns > self.now_ns => return Ok(()),
                Some(due_ns) => due_ns,
                None => self.now_ns,
            };
            let Some(operation) = self.choose() else { return Ok(()) };
            self.free.pop();
            self.begin(slot, operation, start_ns)?;
            if self.due_ns.is_some() {
                self.due_ns = self.worker.draw_start_ns();
            }
        }
        Ok(())
    }

    /// The next operation. With verification, no two operations in flight use the same block.
    fn choose(&mut self) -> Option<BlockOperation> {
        let is_free = |flights: &[Option<(u64, InFlight)>], block: u64| {
            let same = |flight: &Option<(u64, InFlight)>| {
                matches!(flight, Some((_,
                InFlight::Block(other))) if other.block == block)
            };
            !flights.iter().any(same)
        };
        for _ in 0..DRAWS {
            let operation = self.chooser.next(&mut self.worker.random);
            if !self.chooser.verifies() || is_free(&self.flights, operation.block) {
                return Some(operation);
            }
        }
        None
    }

    fn begin(&mut self, slot: usize, mut operation: BlockOperation, start_ns: u64) -> std::io::Result<()> {
        let file = Some(self.chooser.file);
        self.worker.recorder.begin_at(
            OperationLevel::Flight(slot),
            operation.class,
            start_ns,
            file,
            Some(operation.offset),
        );
        match operation.act {
            Act::Read => self.ring.read(slot, operation.offset)?,
            Act::Write => {
                self.chooser.prepare(&mut operation, self.ring.buffer(slot));
                self.ring.write(slot, operation.offset)?;
            }
        }
        self.flights[slot] = Some((start_ns, InFlight::Block(operation)));
        Ok(())
    }

    fn sync(&mut self, slot: usize, kind: SyncMethod, class: usize, synced: Synced) -> std::io::Result<()> {
        self.worker.recorder.begin_at(OperationLevel::Flight(slot), class, self.now_ns, Some(self.chooser.file), None);
        match kind {
            SyncMethod::SyncFileRange => self.ring.sync_range(slot)?,
            kind => self.ring.sync(slot, kind == SyncMethod::Fdatasync)?,
        }
        self.flights[slot] = Some((self.now_ns, InFlight::Sync(class, synced)));
        Ok(())
    }

    fn complete(&mut self, slot: usize, result: i32) {
        let Some((start_ns, flight)) = self.flights[slot].take() else { return };
        self.free.push(slot);
        let result = usize::try_from(result).map_err(|_| -result);
        let (class, checked) = match flight {
            InFlight::Block(operation) => {
                self.worker.done(1);
                (operation.class, self.chooser.check(&operation, result, self.ring.buffer(slot)))
            }
            InFlight::Sync(class, synced) => {
                self.chooser.synced(&synced, result.is_ok());
                (class, result.map(|_| 0).map_err(|errno| IoFailure { errno, ..IoFailure::default() }))
            }
        };
        let file = Some(self.chooser.file);
        let counted = self.worker.finish_at(OperationLevel::Flight(slot), class, start_ns, self.now_ns, file, checked);
        self.has_failed |= counted.is_err();
    }
}
