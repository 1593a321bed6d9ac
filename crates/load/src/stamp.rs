//! Self-describing data: each unit carries its location and the write that it belongs to.
//!
//! A block consists of units of [`UNIT_BYTES`], the smallest size that a disk writes atomically. Each unit carries the
//! run and the file that it belongs to, its offset, the generation of the write, and a checksum. A reader detects
//! blocks that are [wrong, torn, stale or misplaced](Fault), including blocks that mix two writes.
//!
//! ```text
//! word  0              1       2     3    4           5 .. 62   63
//!       ┌──────┬──────┬────────┬─────┬────┬───────────┬────────┬───────────┐
//!       │magic │crc32c│ offset │file │run │generation │ filler │generation │   64-bit words, little-endian
//!       └──────┴──────┴────────┴─────┴────┴───────────┴────────┴───────────┘
//! ```
//!
//! The checksum covers everything after it. The filler depends on the rest, so that no two units are equal and none
//! compresses; the generation at the end distinguishes a half-written unit from a foreign one.

#[cfg(test)]
mod tests;

use model::operation::Fault;

use crate::data::FileId;
use crate::io_failure::IoFailure;

/// Bytes of a unit; sizes and offsets of stamped blocks are multiples of it.
pub(crate) const UNIT_BYTES: u64 = 512;

const UNIT: usize = UNIT_BYTES as usize;
const WORDS: usize = UNIT / 8;
const MAGIC: u32 = u32::from_le_bytes(*b"sTmp");
const OFFSET: usize = 1;
const FILE: usize = 2;
const RUN: usize = 3;
const GENERATION: usize = 4;
const LAST: usize = WORDS - 1;

/// The run and file that data belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOwner {
    /// The run: the plan's seed, or whatever else differs from run to run.
    pub run: u64,
    /// The file.
    pub file: FileId,
}

/// What a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The owner of the data.
    pub owner: BlockOwner,
    /// The lowest valid generation: an older one is stale.
    pub least: u64,
    /// The last generation issued: a later one is wrong.
    pub most: u64,
    /// Whether all units of a block must be of one generation. After a crash, an unacknowledged write may
    /// be partial.
    pub whole: bool,
}

/// What is wrong with a block, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Its kind.
    pub fault: Fault,
    /// File offset of the first damaged unit.
    pub offset_bytes: u64,
}

impl From<Damage> for IoFailure {
    fn from(damage: Damage) -> IoFailure {
        IoFailure { fault: Some(damage.fault), offset_bytes: Some(damage.offset_bytes), ..IoFailure::default() }
    }
}

/// Whether blocks of that size can be stamped.
pub fn fits(block_bytes: u64) -> bool {
    block_bytes > 0 && block_bytes.is_multiple_of(UNIT_BYTES)
}

/// Fills a block that will be written at `offset_bytes` of the owner's file.
///
/// # Panics
/// If the block is not made of whole units ([`fits`]).
pub fn put(block: &mut [u8], offset_bytes: u64, owner: BlockOwner, generation: u64) {
    assert!(fits(block.len() as u64), "stamped blocks are made of whole units");
    for (unit, offset) in block.chunks_exact_mut(UNIT).zip((offset_bytes..).step_by(UNIT)) {
        let head = [offset, owner.file.to_word(), owner.run, generation];
        let mut filler = head.iter().fold(0, |mixed: u64, word| (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut words = unit.chunks_exact_mut(8).skip(1);
        let mut next = |word: u64| words.next().expect("as many as a unit has").copy_from_slice(&word.to_le_bytes());
        head.into_iter().for_each(&mut next);
        for _ in GENERATION + 1..LAST {
            filler = filler.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            next(filler);
        }
        next(generation);
        let checksum = crc32c::crc32c(&unit[8..]);
        unit[..4].copy_from_slice(&MAGIC.to_le_bytes());
        unit[4..8].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Checks a block that was read at `offset_bytes`. Returns its generation: the lowest, where its
/// units may differ.
pub fn check(block: &[u8], offset_bytes: u64, expected: &Expected) -> Result<u64, Damage> {
    let (mut first, mut lowest, mut differs_at) = (None, u64::MAX, None);
    for (unit, offset) in block.chunks(UNIT).zip((offset_bytes..).step_by(UNIT)) {
        let age = age_of(unit, offset, expected).map_err(|fault| Damage { fault, offset_bytes: offset })?;
        if *first.get_or_insert(age) != age {
            differs_at = differs_at.or(Some(offset));
        }
        lowest = lowest.min(age);
    }
    let is_old = lowest <= expected.least;
    match differs_at {
        Some(offset_bytes) if expected.whole || is_old => Err(Damage { fault: Fault::Torn, offset_bytes }),
        None if is_old => Err(Damage { fault: Fault::Stale, offset_bytes }),
        _ => Ok(lowest - 1),
    }
}

/// The generation of a unit plus one; 0: from an earlier run.
fn age_of(unit: &[u8], offset_bytes: u64, expected: &Expected) -> Result<u64, Fault> {
    if unit.len() != UNIT || unit[..4] != MAGIC.to_le_bytes() {
        return Err(Fault::Wrong);
    }
    let word = |index: usize| u64::from_le_bytes(unit[index * 8..][..8].try_into().expect("eight bytes"));
    let is_in_place = (word(OFFSET), word(FILE)) == (offset_bytes, expected.owner.file.to_word());
    if unit[4..8] != crc32c::crc32c(&unit[8..]).to_le_bytes() {
        let is_half = is_in_place && word(GENERATION) != word(LAST);
        return Err(if is_half { Fault::Torn } else { Fault::Wrong });
    }
    match word(RUN) == expected.owner.run {
        _ if !is_in_place => Err(Fault::Misplaced),
        true if word(GENERATION) > expected.most => Err(Fault::Wrong),
        true => Ok(word(GENERATION) + 1),
        false => Ok(0),
    }
}
