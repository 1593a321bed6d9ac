//! The board: memory shared by the program and the load process.
//!
//! ```text
//! 64-bit words                                                     32-bit words
//! ┌─────────┬─────────┬───────────────┬────────────┬────────┬──────┐ ┌───────────────────────────┐
//! │ control │ message │ counters      │ slots      │ shares │ ring │ │ latency buckets           │
//! │         │         │ class x shard │ thread x 2 │ thread │      │ │ class x shard x bucket    │
//! └─────────┴─────────┴───────────────┴────────────┴────────┴──────┘ └───────────────────────────┘
//! ```
//!
//! The load writes with relaxed atomics and never waits; the program reads whenever it likes. Each thread of the load has a shard
//! of its own while they are few, so that counting is a load and a store; many threads are spread over some shards.

mod control;
mod crew;
mod read;
mod ring;
#[cfg(test)]
mod tests;
mod write;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use control::{Command, State};
pub use crew::Share;
use model::latency::BUCKET_COUNT;
pub use read::{BoardReader, Naming};
pub use ring::RING_CAPACITY;
pub use write::{Failure, Finished, Level, Recorder};

use crate::error::LoadError;
use crate::job::Job;
use crate::plan::Plan;
use crate::sys::SharedMemory;

const MAGIC: u64 = u64::from_le_bytes(*b"stallsc1");
const MAX_SHARDS: u64 = 8;
/// Classes times threads up to which each thread has counters of its own: some 130 KiB each.
const MAX_OWNED: usize = 64;

/// Words of one cache line: what one thread writes and others write too does not share one.
const LINE: usize = 8;
const COMMAND: usize = LINE;
const STATE: usize = 2 * LINE;
const ENDED_PHASE: usize = STATE + 1;
const REUSED: usize = STATE + 2;
const MESSAGE_LENGTH: usize = STATE + 3;
const FILLED: usize = 3 * LINE;
const FILL_TOTAL: usize = FILLED + 1;
const RING_NEXT: usize = 4 * LINE;
const RING_LOST: usize = RING_NEXT + 1;
const MUSTERED: usize = 5 * LINE;
const CREW_START: usize = MUSTERED + 1;
const CREW_ENDED: usize = 6 * LINE;
const FULL: usize = CREW_ENDED + 1;
const MESSAGE: usize = 7 * LINE;
const MESSAGE_WORDS: usize = 11 * LINE;
const COUNTERS: usize = MESSAGE + MESSAGE_WORDS;

const COUNTER_WORDS: usize = LINE;
const ERRORS: usize = 0;
const BYTES: usize = 1;
const SUM: usize = 2;
const MAX: usize = 3;
/// One bit for each block of buckets that was ever counted in, so that a reader skips the empty ones.
const TOUCHED: usize = 4;
const BLOCK_BUCKETS: usize = 1024;

const SLOT_WORDS: usize = 4;
const SLOT_START: usize = 0;
const SLOT_WHAT: usize = 1;
const SLOT_FILE: usize = 2;
const SLOT_OFFSET: usize = 3;
/// A thread may be in a step and, around it, in a round; those that keep several operations in flight have more.
const USUAL_SLOTS: usize = 2;

/// What a thread says at the end of its share of a phase.
const SHARE_WORDS: usize = 2 * LINE;

/// Sizes of the parts; the same in both processes because both compute them from the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    classes: usize,
    shards: usize,
    threads: usize,
    /// Operations that one thread may be in at once.
    slots_per_thread: usize,
}

/// The shared memory, seen from either side.
pub struct Board {
    memory: SharedMemory,
    layout: Layout,
}

impl Layout {
    fn of(plan: &Plan) -> Layout {
        let (classes, threads) = (plan.classes.len(), plan.actor_threads() as usize);
        let is_owned = classes.saturating_mul(threads) <= MAX_OWNED;
        let jobs = plan.actors.iter().filter_map(|actor| actor.job.as_ref());
        let in_flight = jobs.map(Job::depth).max().unwrap_or(0);
        Layout {
            classes,
            shards: if is_owned { threads.max(1) } else { plan.cpus.clamp(1, MAX_SHARDS) as usize },
            threads,
            slots_per_thread: USUAL_SLOTS + if in_flight > 1 { in_flight } else { 0 },
        }
    }

    /// Whether no two threads count in the same shard, so that they need no locked instructions.
    fn is_owned(&self) -> bool {
        self.shards >= self.threads
    }

    fn slots(&self) -> usize {
        COUNTERS + self.classes * self.shards * COUNTER_WORDS
    }

    fn shares(&self) -> usize {
        self.slots() + (self.threads * self.slots_per_thread * SLOT_WORDS).next_multiple_of(LINE)
    }

    fn ring(&self) -> usize {
        self.shares() + self.threads * SHARE_WORDS
    }

    fn words_bytes(&self) -> usize {
        (self.ring() + RING_CAPACITY * ring::CELL_WORDS) * 8
    }

    fn total_bytes(&self) -> usize {
        (self.words_bytes() + self.classes * self.shards * BUCKET_COUNT * 4).next_multiple_of(8)
    }
}

impl Board {
    /// Makes a board for a plan, and the descriptor that the load process inherits.
    pub fn create(plan: &Plan) -> Result<(OwnedFd, Board), LoadError> {
        let layout = Layout::of(plan);
        let (descriptor, memory) = SharedMemory::create(layout.words_bytes(), layout.total_bytes())
            .map_err(LoadError::process("make the board"))?;
        let board = Board { memory, layout };
        board.prepare_ring();
        board.word(0).store(MAGIC, Ordering::Release);
        Ok((descriptor, board))
    }

    /// Maps the board that the program made for this plan.
    pub fn attach(descriptor: BorrowedFd<'_>, plan: &Plan) -> Result<Board, LoadError> {
        let layout = Layout::of(plan);
        let memory = SharedMemory::attach(descriptor, layout.words_bytes(), layout.total_bytes())
            .map_err(LoadError::process("map the board"))?;
        let board = Board { memory, layout };
        match board.word(0).load(Ordering::Acquire) == MAGIC {
            true => Ok(board),
            false => Err(LoadError::process("map the board")(std::io::Error::other("it is not a board"))),
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.memory.words()[index]
    }

    fn counters(&self, class: usize, shard: usize) -> &[AtomicU64] {
        let start = COUNTERS + (class * self.layout.shards + shard) * COUNTER_WORDS;
        &self.memory.words()[start..start + COUNTER_WORDS]
    }

    fn buckets(&self, class: usize, shard: usize) -> &[AtomicU32] {
        let start = (class * self.layout.shards + shard) * BUCKET_COUNT;
        &self.memory.halves()[start..start + BUCKET_COUNT]
    }

    fn slot(&self, thread: usize, level: usize) -> &[AtomicU64] {
        let start = self.layout.slots() + (thread * self.layout.slots_per_thread + level) * SLOT_WORDS;
        &self.memory.words()[start..start + SLOT_WORDS]
    }
}
