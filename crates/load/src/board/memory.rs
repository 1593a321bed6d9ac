//! Layout of the shared memory, and access to its parts.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::latency::BUCKET_COUNT;

use crate::error::LoadError;
use crate::sys::SharedMemory;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"stallsc1");
pub(super) const MAX_SHARDS: u64 = 8;
/// Maximum of classes times threads with per-thread counters, which take about 130 KiB each.
pub(super) const MAX_OWNED: usize = 64;

/// Words of one cache line. Words written by different threads do not share a line.
pub(super) const LINE: usize = 8;
pub(super) const COMMAND: usize = LINE;
pub(super) const STATE: usize = 2 * LINE;
pub(super) const ENDED_PHASE: usize = STATE + 1;
pub(super) const REUSED: usize = STATE + 2;
pub(super) const MESSAGE_LENGTH: usize = STATE + 3;
pub(super) const FILLED: usize = 3 * LINE;
pub(super) const FILL_TOTAL: usize = FILLED + 1;
pub(super) const RING_NEXT: usize = 4 * LINE;
pub(super) const RING_LOST: usize = RING_NEXT + 1;
pub(super) const ARRIVED: usize = 5 * LINE;
pub(super) const JOB_THREADS_START: usize = ARRIVED + 1;
pub(super) const JOB_THREADS_ENDED: usize = 6 * LINE;
pub(super) const FULL: usize = JOB_THREADS_ENDED + 1;
pub(super) const MESSAGE: usize = 7 * LINE;
pub(super) const MESSAGE_WORDS: usize = 11 * LINE;
pub(super) const COUNTERS: usize = MESSAGE + MESSAGE_WORDS;

pub(super) const COUNTER_WORDS: usize = LINE;
pub(super) const ERRORS: usize = 0;
pub(super) const BYTES: usize = 1;
pub(super) const SUM: usize = 2;
pub(super) const MAX: usize = 3;
/// One bit per block of buckets with any count, so that a reader skips empty blocks.
pub(super) const TOUCHED: usize = 4;
pub(super) const BLOCK_BUCKETS: usize = 1024;

pub(super) const SLOT_WORDS: usize = 4;
pub(super) const SLOT_START: usize = 0;
pub(super) const SLOT_WHAT: usize = 1;
pub(super) const SLOT_FILE: usize = 2;
pub(super) const SLOT_OFFSET: usize = 3;
/// A thread may be in a step and, around it, in a round; threads with several operations in flight have more slots.
pub(super) const USUAL_SLOTS: usize = 2;

/// Words of a thread's share of a phase.
pub(super) const SHARE_WORDS: usize = 2 * LINE;

/// Operations that fit into the ring.
pub(crate) const RING_CAPACITY: usize = 8192;
pub(super) const CELL_WORDS: usize = 9;
/// Ticket of a ring's cell: `ticket` when writer number `ticket` may fill it, `ticket + 1` when it is filled.
pub(super) const CELL_TICKET: usize = 0;

/// Dimensions of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardShape {
    /// Classes of operations.
    pub classes: usize,
    /// Threads of the actors.
    pub threads: usize,
    /// CPUs of the load.
    pub cpus: u64,
    /// Maximum operations in flight per thread.
    pub depth: usize,
}

/// Sizes of the parts. Both processes compute them from the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoardLayout {
    pub(super) classes: usize,
    pub(super) shards: usize,
    pub(super) threads: usize,
    /// Operations that one thread may have in progress.
    pub(super) slots_per_thread: usize,
}

/// The shared memory, seen from either side.
pub struct Board {
    pub(super) memory: SharedMemory,
    pub(super) layout: BoardLayout,
}

impl BoardLayout {
    fn of(shape: BoardShape) -> BoardLayout {
        let BoardShape { classes, threads, cpus, depth } = shape;
        let is_owned = classes.saturating_mul(threads) <= MAX_OWNED;
        BoardLayout {
            classes,
            shards: if is_owned { threads.max(1) } else { cpus.clamp(1, MAX_SHARDS) as usize },
            threads,
            slots_per_thread: USUAL_SLOTS + if depth > 1 { depth } else { 0 },
        }
    }

    /// Whether each thread has a separate shard, so that counting needs no locked instructions.
    pub(super) fn is_owned(&self) -> bool {
        self.shards >= self.threads
    }

    fn slots(&self) -> usize {
        COUNTERS + self.classes * self.shards * COUNTER_WORDS
    }

    pub(super) fn shares(&self) -> usize {
        self.slots() + (self.threads * self.slots_per_thread * SLOT_WORDS).next_multiple_of(LINE)
    }

    pub(super) fn ring(&self) -> usize {
        self.shares() + self.threads * SHARE_WORDS
    }

    fn words_bytes(&self) -> usize {
        (self.ring() + RING_CAPACITY * CELL_WORDS) * 8
    }

    fn total_bytes(&self) -> usize {
        (self.words_bytes() + self.classes * self.shards * BUCKET_COUNT * 4).next_multiple_of(8)
    }
}

impl Board {
    /// Creates a board, and the descriptor that the load process inherits.
    pub fn create(shape: BoardShape) -> Result<(OwnedFd, Board), LoadError> {
        let layout = BoardLayout::of(shape);
        let (descriptor, memory) = SharedMemory::create(layout.words_bytes(), layout.total_bytes())
            .map_err(LoadError::process("create the board"))?;
        let board = Board { memory, layout };
        board.prepare_ring();
        board.word(0).store(MAGIC, Ordering::Release);
        Ok((descriptor, board))
    }

    /// Maps the board that the program made for this plan.
    pub(crate) fn attach(descriptor: BorrowedFd<'_>, shape: BoardShape) -> Result<Board, LoadError> {
        let layout = BoardLayout::of(shape);
        let memory = SharedMemory::attach(descriptor, layout.words_bytes(), layout.total_bytes())
            .map_err(LoadError::process("map the board"))?;
        let board = Board { memory, layout };
        match board.word(0).load(Ordering::Acquire) == MAGIC {
            true => Ok(board),
            false => Err(LoadError::process("map the board")(std::io::Error::other("it is not a board"))),
        }
    }

    fn prepare_ring(&self) {
        for ticket in 0..RING_CAPACITY {
            self.word(self.layout.ring() + ticket * CELL_WORDS + CELL_TICKET).store(ticket as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn word(&self, index: usize) -> &AtomicU64 {
        &self.memory.words()[index]
    }

    pub(super) fn counters(&self, class: usize, shard: usize) -> &[AtomicU64] {
        let start = COUNTERS + (class * self.layout.shards + shard) * COUNTER_WORDS;
        &self.memory.words()[start..start + COUNTER_WORDS]
    }

    pub(super) fn buckets(&self, class: usize, shard: usize) -> &[AtomicU32] {
        let start = (class * self.layout.shards + shard) * BUCKET_COUNT;
        &self.memory.halves()[start..start + BUCKET_COUNT]
    }

    pub(super) fn slot(&self, thread: usize, level: usize) -> &[AtomicU64] {
        let start = self.layout.slots() + (thread * self.layout.slots_per_thread + level) * SLOT_WORDS;
        &self.memory.words()[start..start + SLOT_WORDS]
    }
}
