//! A path of a file within its set, put together without allocating.

use std::ffi::CStr;

use crate::random::Random;

/// Longest name of a file that file systems take, in bytes.
pub(super) const LONGEST_NAME: u64 = 255;

/// A path of a file within its set, ready for the kernel.
pub struct FileName {
    /// The last byte is never written: a zero always follows.
    bytes: [u8; FileName::CAPACITY + 1],
    length: usize,
}

/// Letters that 64 random bits are good for.
const LETTERS_PER_DRAW: u64 = 10;

impl FileName {
    /// The longest name in a subdirectory.
    const CAPACITY: usize = 16 + LONGEST_NAME as usize;

    /// An empty one.
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

    /// The subdirectory that the file lies in, if it lies in one.
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

    /// With at least so many digits.
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
                // The high half of the product is the letter, the low half is what randomness is left.
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
