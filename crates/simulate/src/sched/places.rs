//! Start and end sectors of requests in the scheduler, to find merges.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Requests by kind and sector.
pub(super) type Places = HashMap<(u8, u64), u32, BuildHasherDefault<Mixer>>;

/// A fast hash: sectors are not chosen by an attacker.
#[derive(Debug, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
