//! Maps by small numbers, of which explaining a run asks many millions of times. Nothing depends on the order of their entries.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map that hashes fast, and does not resist keys that are chosen to collide: those of a run are numbers that the kernel and the
/// recorder count up, and names.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;
/// The same for sets.
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<FastHasher>>;

/// FxHash, which Firefox and rustc use: a rotation, an exclusive or, and a multiplication for each word.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FastHasher(u64);

/// Of rustc-hash 1: 2^64 divided by pi, made odd.
const FACTOR: u64 = 0x517c_c1b7_2722_0a95;

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    /// The table takes its place from the low bits, which depend on the key's low bits alone.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}
