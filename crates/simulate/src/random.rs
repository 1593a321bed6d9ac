//! Seeded choices.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to choose with.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u64
    }

    /// True with a chance of `of_1000` in 1000.
    pub fn chance(&mut self, of_1000: u64) -> bool {
        self.below(1000) < of_1000
    }

    /// An exponentially distributed time with mean `mean_ns`.
    pub fn time_ns(&mut self, mean_ns: u64) -> u64 {
        let uniform = ((self.number() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        (-uniform.ln() * mean_ns as f64) as u64
    }
}
