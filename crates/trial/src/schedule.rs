//! Which period has the change, by random blocks.
//!
//! A block is ABBA or BAAB: each side has the same mean position, so a trend that is straight within a block favours
//! neither. Which of the two it is decides a random bit for each block, and the test draws on nothing else.

use sweep::mirrored_blocks;

/// Periods of a block.
pub const PERIODS_OF_BLOCK: u32 = 4;

/// A planned period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its position, from 0.
    pub ordinal: u32,
    /// Which block.
    pub block: u32,
    /// Whether it has the change (B).
    pub changed: bool,
}

/// All periods of that many blocks, in order.
pub fn schedule(blocks: u32, seed: u64) -> Vec<Slot> {
    let halves = mirrored_blocks(vec![false, true], 2 * blocks, seed);
    let sides = halves.into_iter().flatten();
    (0..).zip(sides).map(|(ordinal, changed)| Slot { ordinal, block: ordinal / PERIODS_OF_BLOCK, changed }).collect()
}

#[cfg(test)]
mod tests {
    use super::{PERIODS_OF_BLOCK, schedule};

    #[test]
    fn blocks_are_abba_or_baab_about_equally_often() {
        let slots = schedule(1000, 7);
        let mut of_each = [0, 0];
        for block in slots.chunks(PERIODS_OF_BLOCK as usize) {
            let sides: Vec<bool> = block.iter().map(|slot| slot.changed).collect();
            assert!(sides == [false, true, true, false] || sides == [true, false, false, true], "{sides:?}");
            of_each[usize::from(sides[0])] += 1;
        }
        assert!(of_each[0] > 430 && of_each[1] > 430, "{of_each:?}");
        assert_eq!((slots[5].ordinal, slots[5].block), (5, 1));
    }

    #[test]
    fn a_seed_gives_one_order_and_others_give_others() {
        assert_eq!(schedule(10, 3), schedule(10, 3));
        assert!((4..20).any(|seed| schedule(10, seed) != schedule(10, 3)));
    }
}
