//! The order of runs: random blocks, each followed by its mirror image.
//!
//! A block has each configuration once, in random order. The next block has the reverse order (ABBA). Slow changes of
//! the machine (a disk that fills, a room that warms) therefore favour no configuration: each has the same mean
//! position within a pair of blocks.

use crate::{Setup, SweepError};

/// One run of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Its position in the whole sweep, from 0.
    pub number: u32,
    /// Index of the configuration.
    pub setup: usize,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Whether it is the second run of the A/A pair.
    pub is_twin: bool,
}

/// A part of a sweep, for one of several machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// From `3/20`: the third of twenty.
    pub fn parse(text: &str) -> Result<Shard, SweepError> {
        let refuse = |why: &str| SweepError::Shard { text: text.to_owned(), why: why.to_owned() };
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index: index - 1, count }),
            Some(_) => Err(refuse("the first number must be from 1 to the second")),
            None => Err(refuse("write it as 3/20: the third of twenty parts")),
        }
    }

    /// Whether a cell belongs to it. Whole blocks stay together if there are enough of them, so each machine compares
    /// all configurations; otherwise cells are assigned individually.
    pub fn has(&self, cell: &Cell, repetitions: u32) -> bool {
        let position = if self.splits_blocks(repetitions) { cell.number } else { cell.repetition };
        position % self.count == self.index
    }

    /// Whether configurations of one block run on different machines, so differences between machines look like
    /// differences between configurations.
    pub fn splits_blocks(&self, repetitions: u32) -> bool {
        self.count > repetitions
    }
}

/// All runs, in order.
pub fn cells(setups: &[Setup], repetitions: u32, noise_floor: bool, seed: u64) -> Vec<Cell> {
    let twin = noise_floor.then_some((0, true));
    let block: Vec<(usize, bool)> = (0..setups.len()).map(|setup| (setup, false)).chain(twin).collect();
    let mut cells = Vec::new();
    for (repetition, order) in (0..).zip(mirrored_blocks(block, repetitions, seed)) {
        for (setup, is_twin) in order {
            cells.push(Cell { number: cells.len() as u32, setup, repetition, is_twin });
        }
    }
    cells
}

/// The items in random order, then in reverse, then in a new random order, and so on: `repetitions` times.
pub fn mirrored_blocks<T: Clone>(items: Vec<T>, repetitions: u32, seed: u64) -> Vec<Vec<T>> {
    let mut random = Random(seed);
    let mut order = items;
    let mut blocks = Vec::new();
    for repetition in 0..repetitions {
        if repetition % 2 == 0 {
            random.shuffle(&mut order)
        } else {
            order.reverse()
        }
        blocks.push(order.clone());
    }
    blocks
}

/// SplitMix64: enough for shuffling.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fisher and Yates.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = ((u128::from(self.next()) * (last as u128 + 1)) >> 64) as usize;
            items.swap(last, other);
        }
    }
}
