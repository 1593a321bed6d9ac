//! Counts, for each slow bio, what overtook it and what it waited behind.
//!
//! Bios get positions in queue order. A bio **overtook** another if it has a later position and completed earlier.
//! Walking the events of each wait would cost the square of the queue length. Instead, positions are grouped in blocks
//! of [`BLOCK`]. A block stores the class of each position and which have completed, and a tally of the completed ones
//! by class, updated on demand. A query costs a scan of one block and one tally for each later block.
//!
//! A block with nothing in flight is never queried, so it is folded into its predecessor: only blocks with bios in
//! flight exist, and their number is bounded.

use super::overtake_block::{BLOCK, Block, NIL, Tally, add_counts};

/// Queue position of a bio: block, generation of the block (its memory is reused), and position in the block.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuePosition {
    block: u32,
    generation: u32,
    within: u16,
}

/// The bios around one position.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// In flight when the bio was queued, by class.
    pub(super) in_flight: Tally,
    /// Queued later and completed earlier.
    pub(super) overtook: Tally,
    /// In flight when it was queued and completed before it.
    pub(super) ahead: Tally,
}

pub(super) struct OvertakeIndex {
    blocks: Vec<Block>,
    unused: Vec<u32>,
    oldest: u32,
    current: u32,
    live: usize,
    in_flight: Vec<u32>,
    /// Sums by class during a query; all zero in between.
    scratch: Vec<i64>,
    /// The same for the tally of a block.
    counting: Vec<i64>,
}

impl OvertakeIndex {
    /// Maximum number of blocks. Beyond it the oldest is dropped, and queries for its bios have no answer.
    const LIVE_LIMIT: usize = 1024;

    pub(super) fn new() -> OvertakeIndex {
        let mut index = OvertakeIndex {
            blocks: Vec::new(),
            unused: Vec::new(),
            oldest: NIL,
            current: NIL,
            live: 0,
            in_flight: Vec::new(),
            scratch: Vec::new(),
            counting: Vec::new(),
        };
        index.open_block();
        index
    }

    /// A bio of `class` is queued.
    #[inline]
    pub(super) fn queue(&mut self, class: u16) -> QueuePosition {
        if self.blocks[self.current as usize].is_full() {
            self.open_block();
        }
        if self.in_flight.len() <= usize::from(class) {
            self.in_flight.resize(usize::from(class) + 1, 0);
            self.scratch.resize(usize::from(class) + 1, 0);
            self.counting.resize(usize::from(class) + 1, 0);
        }
        self.in_flight[usize::from(class)] += 1;
        let block = &mut self.blocks[self.current as usize];
        QueuePosition { block: self.current, generation: block.generation, within: block.queue(class) }
    }

    /// The bio at `position` completed or was given up.
    #[inline]
    pub(super) fn complete(&mut self, position: QueuePosition, class: u16) {
        self.in_flight[usize::from(class)] -= 1;
        self.blocks[self.current as usize].note_completion(class);
        let block = &mut self.blocks[position.block as usize];
        if block.generation != position.generation {
            return;
        }
        block.complete(position.within, class);
        if block.in_flight == 0 && position.block != self.current {
            self.fold(position.block);
        }
    }

    fn open_block(&mut self) {
        if self.live >= OvertakeIndex::LIVE_LIMIT {
            self.remove(self.oldest);
        }
        let number = self.unused.pop().unwrap_or_else(|| {
            self.blocks.push(Block::default());
            self.blocks.len() as u32 - 1
        });
        let closed = std::mem::replace(&mut self.current, number);
        let block = &mut self.blocks[number as usize];
        block.before = closed;
        block.after = NIL;
        let in_flight = self.in_flight.iter().enumerate().filter(|(_, count)| **count > 0);
        block.at_start.extend(in_flight.map(|(class, &count)| (class as u16, count)));
        self.live += 1;
        if closed == NIL {
            self.oldest = number;
        } else {
            self.blocks[closed as usize].after = number;
            if self.blocks[closed as usize].in_flight == 0 {
                self.fold(closed);
            }
        }
    }

    /// Adds a block's counts to its predecessor. All of its positions have completed.
    fn fold(&mut self, number: u32) {
        let before = self.blocks[number as usize].before;
        if before != NIL {
            let mut block = std::mem::take(&mut self.blocks[number as usize]);
            block.update_tally(&mut self.counting);
            let to = &mut self.blocks[before as usize].folded;
            add_counts(to, &block.tally);
            add_counts(to, &block.folded);
            self.blocks[number as usize] = block;
        }
        self.remove(number);
    }

    fn remove(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        let (before, after) = (block.before, block.after);
        block.clear();
        match before {
            NIL => self.oldest = after,
            _ => self.blocks[before as usize].after = after,
        }
        if after != NIL {
            self.blocks[after as usize].before = before;
        }
        self.unused.push(number);
        self.live -= 1;
    }

    /// The bios around `position`, whose bio completes now. Call before [`OvertakeIndex::complete`]. `None` if the
    /// block was dropped.
    pub(super) fn surroundings(&mut self, position: QueuePosition, class: u16) -> Option<Surroundings> {
        if self.blocks[position.block as usize].generation != position.generation {
            return None;
        }
        let mut found = Surroundings::default();
        self.blocks[position.block as usize].in_flight_at(position.within, &mut self.scratch);
        found.in_flight = drain(&mut self.scratch);

        let own = &self.blocks[position.block as usize];
        own.completed_after(position.within, &mut self.scratch);
        add(&mut self.scratch, &own.folded);
        let mut number = own.after;
        while number != NIL {
            let block = &mut self.blocks[number as usize];
            block.update_tally(&mut self.counting);
            add(&mut self.scratch, &block.tally);
            add(&mut self.scratch, &block.folded);
            number = block.after;
        }
        found.overtook = drain(&mut self.scratch);
        found.ahead = self.ahead_of(position, class, &found.in_flight);
        Some(found)
    }

    /// Of the bios in flight at queue time, those completed by now: all except those still in flight, which are all
    /// bios in flight now without this bio and without those queued later.
    fn ahead_of(&mut self, position: QueuePosition, class: u16, at_queueing: &Tally) -> Tally {
        add(&mut self.scratch, at_queueing);
        for (sum, &count) in self.scratch.iter_mut().zip(&self.in_flight) {
            *sum -= i64::from(count);
        }
        self.scratch[usize::from(class)] += 1;
        self.blocks[position.block as usize].in_flight_after(position.within, &mut self.scratch);
        let mut number = self.blocks[position.block as usize].after;
        while number != NIL {
            let block = &self.blocks[number as usize];
            block.in_flight_by_class(&mut self.scratch);
            number = block.after;
        }
        drain(&mut self.scratch)
    }
}

fn add(scratch: &mut [i64], tally: &[(u16, u32)]) {
    for &(class, count) in tally {
        scratch[usize::from(class)] += i64::from(count);
    }
}

/// Takes the sums, without classes that have none.
fn drain(scratch: &mut [i64]) -> Tally {
    let mut tally = Tally::new();
    for (class, sum) in scratch.iter_mut().enumerate().filter(|(_, sum)| **sum != 0) {
        if let Ok(count) = u32::try_from(*sum) {
            tally.push((class as u16, count));
        }
        *sum = 0;
    }
    tally
}

const _: () = assert!(BLOCK <= u16::MAX as usize);

#[cfg(test)]
mod tests;
