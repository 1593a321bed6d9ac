//! The ring of slow and failed operations: many writers and one reader, none of which waits.
//!
//! The scheme is D. Vyukov's bounded queue: each cell carries the number of the ticket that may use it. A writer that
//! finds its cell unread counts a loss.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{Board, CELL_TICKET, CELL_WORDS, RING_CAPACITY, RING_LOST, RING_NEXT};

const PAYLOAD: usize = 1;
const PAYLOAD_WORDS: usize = CELL_WORDS - 1;

/// Payload of a cell.
pub(super) type Payload = [u64; PAYLOAD_WORDS];

impl Board {
    fn cell(&self, ticket: u64) -> &[AtomicU64] {
        let start = self.layout.ring() + (ticket as usize % RING_CAPACITY) * CELL_WORDS;
        &self.memory.words()[start..start + CELL_WORDS]
    }

    /// Adds an operation, or counts it as lost when the ring is full.
    pub(super) fn push(&self, payload: &Payload) {
        let next = self.word(RING_NEXT);
        let mut ticket = next.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(ticket);
            let ahead = cell[CELL_TICKET].load(Ordering::Acquire).wrapping_sub(ticket) as i64;
            if ahead < 0 {
                self.word(RING_LOST).fetch_add(1, Ordering::Relaxed);
                return;
            }
            if ahead > 0 {
                ticket = next.load(Ordering::Relaxed);
                continue;
            }
            match next.compare_exchange_weak(ticket, ticket + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    cell[PAYLOAD..].iter().zip(payload).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
                    cell[CELL_TICKET].store(ticket + 1, Ordering::Release);
                    return;
                }
                Err(current) => ticket = current,
            }
        }
    }

    /// Takes the operation with this ticket, if it is complete, and frees its cell.
    pub(super) fn pop(&self, ticket: u64) -> Option<Payload> {
        let cell = self.cell(ticket);
        if cell[CELL_TICKET].load(Ordering::Acquire) != ticket + 1 {
            return None;
        }
        let payload = std::array::from_fn(|index| cell[PAYLOAD + index].load(Ordering::Relaxed));
        cell[CELL_TICKET].store(ticket + RING_CAPACITY as u64, Ordering::Release);
        Some(payload)
    }

    /// Number of tickets that writers have taken.
    pub(super) fn tickets_taken(&self) -> u64 {
        self.word(RING_NEXT).load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> u64 {
        self.word(RING_LOST).load(Ordering::Relaxed)
    }
}
