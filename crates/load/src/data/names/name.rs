//! A path of a file within its set, composed without allocating.

use std::ffi::CStr;

use crate::random::Random;

/// Longest file name that file systems support, in bytes.
pub(super) const LONGEST_NAME: u64 = 255;

/// A path of a file within its set, ready for a system call.
pub struct FileName {
    /// The last byte stays zero.
    bytes: [u8; FileName::CAPACITY + 1],
    length: usize,
}

/// Letters per 64 random bits.
const LETTERS_PER_DRAW: u64 = 10;

impl FileName {
    /// The longest name in a subdirectory.
    pub(crate) const CAPACITY: usize = 16 + LONGEST_NAME as usize;

    /// An empty name.
    pub fn new() -> FileName {
        FileName { bytes: [0; FileName::CAPACITY + 1], length: 0 }
    }

    /// The path, within the set.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The path for a system call.
    pub(crate) fn as_c_str(&mut self) -> &CStr {
        self.bytes[self.length] = 0;
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).expect("no scheme writes a zero")
    }

    /// The file's subdirectory, if it has one.
    pub fn subdirectory(&self) -> Option<&[u8]> {
        let end = self.as_bytes().iter().position(|byte| *byte == b'/')?;
        Some(&self.bytes[..end])
    }

    pub(super) fn push(&mut self, byte: u8) {
        if self.length < FileName::CAPACITY {
            self.bytes[self.length] = byte;
            self.length += 1;
        }
    }

    /// Appends a number with at least `digits` digits.
    pub(super) fn push_number(&mut self, number: u64, radix: u64, digits: usize) {
        let mut reversed = [b'0'; 20];
        let (mut rest, mut used) = (number, 0);
        while rest > 0 {
            reversed[used] = b"0123456789abcdef"[(rest % radix) as usize];
            (rest, used) = (rest / radix, used + 1);
        }
        (0..used.max(digits)).rev().for_each(|place| self.push(reversed[place]));
    }

    pub(super) fn push_letters(&mut self, random: &mut Random, mut count: u64, letters: &[u8]) {
        while count > 0 {
            let mut bits = random.bits();
            let now = count.min(LETTERS_PER_DRAW);
            for _ in 0..now {
                // The high half of the product is the letter, the low half is the remaining randomness.
                let product = u128::from(bits) * letters.len() as u128;
                self.push(letters[(product >> 64) as usize]);
                bits = product as u64;
            }
            count -= now;
        }
    }
}

impl Default for FileName {
    fn default() -> FileName {
        FileName::new()
    }
}

impl FileName {
    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }
}
