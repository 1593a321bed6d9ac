//! Incompressible bytes to write.

use crate::random::Random;

/// Number of offsets at which a slice may start.
const STARTS: usize = 1 << 20;

/// Random bytes to write, each time from another offset: no two blocks of a file are equal and
/// none compresses.
pub(crate) struct RandomBytes {
    bytes: Vec<u8>,
    starts: usize,
}

impl RandomBytes {
    /// For writes of at most `longest` bytes.
    pub(crate) fn new(seed: u64, longest: u64) -> RandomBytes {
        let starts = STARTS;
        let mut bytes = vec![0; starts + longest as usize];
        Random::new(seed, u64::MAX).fill(&mut bytes);
        RandomBytes { bytes, starts }
    }

    /// `length` bytes that depend on `salt`.
    pub(crate) fn slice(&self, salt: u64, length: usize) -> &[u8] {
        let start = (salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % self.starts;
        &self.bytes[start..start + length]
    }
}
