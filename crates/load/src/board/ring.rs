//! The ring of slow and failed operations: many writers, one reader, nobody waits.
//!
//! The scheme is D. Vyukov's bounded queue: each cell carries the number of the turn that may use it. A writer that
//! finds its cell still unread counts a loss and goes on.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{Board, CELL_TURN, CELL_WORDS, RING_CAPACITY, RING_LOST, RING_NEXT};

const PAYLOAD: usize = 1;
const PAYLOAD_WORDS: usize = CELL_WORDS - 1;

/// What a cell holds beside its turn.
pub(super) type Payload = [u64; PAYLOAD_WORDS];

impl Board {
    fn cell(&self, turn: u64) -> &[AtomicU64] {
        let start = self.layout.ring() + (turn as usize % RING_CAPACITY) * CELL_WORDS;
        &self.memory.words()[start..start + CELL_WORDS]
    }

    /// Adds an operation, or counts it as lost when the ring is full.
    pub(super) fn push(&self, payload: &Payload) {
        let next = self.word(RING_NEXT);
        let mut turn = next.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(turn);
            let ahead = cell[CELL_TURN].load(Ordering::Acquire).wrapping_sub(turn) as i64;
            if ahead < 0 {
                self.word(RING_LOST).fetch_add(1, Ordering::Relaxed);
                return;
            }
            if ahead > 0 {
                turn = next.load(Ordering::Relaxed);
                continue;
            }
            match next.compare_exchange_weak(turn, turn + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    cell[PAYLOAD..].iter().zip(payload).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
                    cell[CELL_TURN].store(turn + 1, Ordering::Release);
                    return;
                }
                Err(current) => turn = current,
            }
        }
    }

    /// Takes the operation with this turn, if it is there, and frees its cell.
    pub(super) fn pop(&self, turn: u64) -> Option<Payload> {
        let cell = self.cell(turn);
        if cell[CELL_TURN].load(Ordering::Acquire) != turn + 1 {
            return None;
        }
        let payload = std::array::from_fn(|index| cell[PAYLOAD + index].load(Ordering::Relaxed));
        cell[CELL_TURN].store(turn + RING_CAPACITY as u64, Ordering::Release);
        Some(payload)
    }

    /// Number of turns that writers have taken.
    pub(super) fn turns_taken(&self) -> u64 {
        self.word(RING_NEXT).load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> u64 {
        self.word(RING_LOST).load(Ordering::Relaxed)
    }
}
