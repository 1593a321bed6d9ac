//! Seeded choices for resampling.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * limit as u128) >> 64) as usize
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self) -> f64 {
        self.below(1 << 32) as f64 / (1_u64 << 32) as f64
    }
}
