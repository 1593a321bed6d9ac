//! The board: memory shared by the program and the load process.
//!
//! ```text
//! 64-bit words                                                     32-bit words
//! ┌──────────┬──────────┬───────────────┬────────────────┬──────┐ ┌───────────────────────────┐
//! │ control  │ message  │ counters      │ slots          │ ring │ │ latency buckets           │
//! │          │          │ class x shard │ thread x 2     │      │ │ class x shard x bucket    │
//! └──────────┴──────────┴───────────────┴────────────────┴──────┘ └───────────────────────────┘
//! ```
//!
//! The load writes with relaxed atomics and never waits; the program reads whenever it likes. Threads of the load are
//! spread over shards, so that few of them share a cache line.

mod read;
mod ring;
#[cfg(test)]
mod tests;
mod write;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::latency::BUCKET_COUNT;
pub use read::{BoardReader, Naming};
pub use ring::RING_CAPACITY;
pub use write::{Failure, Finished, Level, Recorder};

use crate::error::LoadError;
use crate::plan::Plan;
use crate::sys::SharedMemory;

const MAGIC: u64 = u64::from_le_bytes(*b"stallsc1");
const MAX_SHARDS: u64 = 8;

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
const MESSAGE: usize = 5 * LINE;
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
/// A thread may be in a step and, around it, in a round.
const SLOTS_PER_THREAD: usize = 2;

/// What the program wants of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Nothing yet.
    Wait,
    /// Run this phase of the plan.
    Phase(usize),
    /// End.
    Stop,
}

/// How far the load process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not ready for commands.
    Starting,
    /// Ready for commands, or obeying one.
    Ready,
    /// All threads ended in an orderly way.
    Done,
    /// It cannot go on; the message says why.
    Failed,
}

/// Sizes of the parts; the same in both processes because both compute them from the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    classes: usize,
    shards: usize,
    threads: usize,
}

/// The shared memory, seen from either side.
pub struct Board {
    memory: SharedMemory,
    layout: Layout,
}

impl Layout {
    fn of(plan: &Plan) -> Layout {
        Layout {
            classes: plan.classes.len(),
            shards: plan.cpus.clamp(1, MAX_SHARDS) as usize,
            threads: plan.actor_threads() as usize,
        }
    }

    fn slots(&self) -> usize {
        COUNTERS + self.classes * self.shards * COUNTER_WORDS
    }

    fn ring(&self) -> usize {
        self.slots() + self.threads * SLOTS_PER_THREAD * SLOT_WORDS
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
        let start = self.layout.slots() + (thread * SLOTS_PER_THREAD + level) * SLOT_WORDS;
        &self.memory.words()[start..start + SLOT_WORDS]
    }

    /// The program's latest command.
    pub fn command(&self) -> Command {
        match self.word(COMMAND).load(Ordering::Acquire) {
            0 => Command::Wait,
            u64::MAX => Command::Stop,
            phase => Command::Phase(phase as usize - 1),
        }
    }

    /// Gives a command. Nothing follows a stop.
    pub fn give(&self, command: Command) {
        let word = match command {
            Command::Wait => 0,
            Command::Phase(phase) => phase as u64 + 1,
            Command::Stop => u64::MAX,
        };
        self.word(COMMAND).store(word, Ordering::Release);
    }

    /// Whether the load should end; cheap enough to ask before each system call.
    pub fn is_stopping(&self) -> bool {
        self.word(COMMAND).load(Ordering::Relaxed) == u64::MAX
    }

    /// How far the load process has come.
    pub fn state(&self) -> State {
        match self.word(STATE).load(Ordering::Acquire) {
            0 => State::Starting,
            1 => State::Ready,
            2 => State::Done,
            _ => State::Failed,
        }
    }

    /// Says how far the load process has come.
    pub fn set_state(&self, state: State) {
        self.word(STATE).store(state as u64, Ordering::Release);
    }

    /// Says why the load cannot go on. What exceeds the space for it is cut off.
    pub fn fail(&self, message: &str) {
        let bytes = &message.as_bytes()[..message.len().min(MESSAGE_WORDS * 8)];
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(MESSAGE + index).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.word(MESSAGE_LENGTH).store(bytes.len() as u64, Ordering::Release);
        self.set_state(State::Failed);
    }

    /// Why the load cannot go on, if it said so.
    pub fn message(&self) -> Option<String> {
        let length = (self.word(MESSAGE_LENGTH).load(Ordering::Acquire) as usize).min(MESSAGE_WORDS * 8);
        let words = (0..length.div_ceil(8)).map(|index| self.word(MESSAGE + index).load(Ordering::Relaxed));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take(length).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The latest phase that ended by itself.
    pub fn ended_phase(&self) -> Option<usize> {
        (self.word(ENDED_PHASE).load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Says that a phase ended by itself.
    pub fn end_phase(&self, phase: usize) {
        self.word(ENDED_PHASE).store(phase as u64 + 1, Ordering::Release);
    }

    /// Bytes filled and to fill.
    pub fn fill_progress(&self) -> (u64, u64) {
        (self.word(FILLED).load(Ordering::Relaxed), self.word(FILL_TOTAL).load(Ordering::Relaxed))
    }

    /// Sets how many bytes the fill will write.
    pub fn set_fill_total(&self, bytes: u64) {
        self.word(FILL_TOTAL).store(bytes, Ordering::Relaxed);
    }

    /// Takes a file that is there already out of the account.
    pub fn take_from_fill_total(&self, bytes: u64) {
        self.word(FILL_TOTAL).fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that the fill wrote.
    pub fn add_filled(&self, bytes: u64) {
        self.word(FILLED).fetch_add(bytes, Ordering::Relaxed);
    }

    /// Data directories whose files of an earlier run are used again as they are.
    pub fn reused_directories(&self) -> u64 {
        self.word(REUSED).load(Ordering::Relaxed)
    }

    /// Counts such a directory.
    pub fn add_reused_directory(&self) {
        self.word(REUSED).fetch_add(1, Ordering::Relaxed);
    }
}
