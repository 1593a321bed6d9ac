//! Queue-watch: who passed whom.
//!
//! Bios get places in the order in which they are queued. A bio **overtook** another if it has a later place and
//! completed earlier. Counting that for each slow bio by walking what happened while it waited would cost the square of
//! the queue. Here places are grouped in blocks of [`BLOCK`]. A block remembers the class of each of its places and
//! which have completed, and keeps a tally by class of the completed ones, brought up to date when somebody asks. A
//! question about one place then costs a scan of its own block and one tally for each later block.
//!
//! A block in which nothing is in flight will never be asked from, so it is folded into its predecessor: only blocks
//! with something in flight exist, and their number is bounded.

use super::watch_block::{BLOCK, Block, Tally, add_counts};

/// Place of a bio: block, its use count (a block's memory is used again), and place in the block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    block: u32,
    generation: u32,
    within: u16,
}

/// What was going on around one place.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// In flight when the bio was queued, by class.
    pub(super) in_flight: Tally,
    /// Queued later and completed earlier.
    pub(super) overtook: Tally,
    /// In flight when it was queued and completed before it.
    pub(super) ahead: Tally,
}

pub(super) const NIL: u32 = u32::MAX;

pub(super) struct Watch {
    blocks: Vec<Block>,
    unused: Vec<u32>,
    oldest: u32,
    current: u32,
    live: usize,
    in_flight: Vec<u32>,
    /// Sums by class while a question is answered; all zero in between.
    scratch: Vec<i64>,
    /// The same for a block's tally.
    counting: Vec<i64>,
}

impl Watch {
    /// With more blocks than this, the oldest one's bios are given up: their question stays unanswered.
    const LIVE_LIMIT: usize = 1024;

    pub(super) fn new() -> Watch {
        let mut watch = Watch {
            blocks: Vec::new(),
            unused: Vec::new(),
            oldest: NIL,
            current: NIL,
            live: 0,
            in_flight: Vec::new(),
            scratch: Vec::new(),
            counting: Vec::new(),
        };
        watch.open_block();
        watch
    }

    /// A bio of `class` is queued.
    #[inline]
    pub(super) fn queue(&mut self, class: u16) -> Place {
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
        Place { block: self.current, generation: block.generation, within: block.queue(class) }
    }

    /// The bio at `place` is done, or given up.
    #[inline]
    pub(super) fn complete(&mut self, place: Place, class: u16) {
        self.in_flight[usize::from(class)] -= 1;
        self.blocks[self.current as usize].note_completion(class);
        let block = &mut self.blocks[place.block as usize];
        if block.generation != place.generation {
            return;
        }
        block.complete(place.within, class);
        if block.in_flight == 0 && place.block != self.current {
            self.fold(place.block);
        }
    }

    fn open_block(&mut self) {
        if self.live >= Watch::LIVE_LIMIT {
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

    /// Hands a block's counts to its predecessor. All of its places have completed.
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

    /// What was going on around `place`, whose bio completes now; to be asked before [`Watch::complete`]. `None` if the
    /// block was given up.
    pub(super) fn surroundings(&mut self, place: Place, class: u16) -> Option<Surroundings> {
        if self.blocks[place.block as usize].generation != place.generation {
            return None;
        }
        let mut found = Surroundings::default();
        self.blocks[place.block as usize].in_flight_at(place.within, &mut self.scratch);
        found.in_flight = drain(&mut self.scratch);

        let own = &self.blocks[place.block as usize];
        own.completed_after(place.within, &mut self.scratch);
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
        found.ahead = self.ahead_of(place, class, &found.in_flight);
        Some(found)
    }

    /// Of those in flight at queueing, the ones that are done by now: all but those still in flight, which are all in
    /// flight now without the bio itself and without those queued later and still in flight.
    fn ahead_of(&mut self, place: Place, class: u16, at_queueing: &Tally) -> Tally {
        add(&mut self.scratch, at_queueing);
        for (sum, &count) in self.scratch.iter_mut().zip(&self.in_flight) {
            *sum -= i64::from(count);
        }
        self.scratch[usize::from(class)] += 1;
        self.blocks[place.block as usize].in_flight_after(place.within, &mut self.scratch);
        let mut number = self.blocks[place.block as usize].after;
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

/// Takes the sums out; classes without count are left out.
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
#[path = "watch/tests.rs"]
mod tests;
