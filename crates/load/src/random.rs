//! Seeded randomness: the same seed gives the same operations.

/// A small, fast generator: xoshiro256++ (Blackman and Vigna), seeded by SplitMix64.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for one of several streams of a seed, each with a separate sequence.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut mixed = seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let state = std::array::from_fn(|_| split_mix(&mut mixed));
        Random { state }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number below `bound`, uniformly distributed (multiply-shift; its bias is below 2^-32 for every bound here); 0
    /// when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An exponentially distributed number with mean 1: the time between independent arrivals.
    pub(crate) fn exponential(&mut self) -> f64 {
        let uniform = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        -(1.0 - uniform).ln()
    }

    /// The numbers below `count`, shuffled.
    pub(crate) fn shuffled(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..count).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.below(last as u64 + 1) as usize);
        }
        numbers
    }

    /// Fills a buffer with bytes that do not compress.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn streams_repeat_and_differ() {
        let sequence = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.bits(), random.bits()]
        };
        assert_eq!(sequence(7, 1), sequence(7, 1));
        assert_ne!(sequence(7, 1), sequence(7, 2));
        assert_ne!(sequence(7, 1), sequence(8, 1));
    }

    #[test]
    fn the_reference_sequence_of_xoshiro256_plus_plus() {
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!([random.bits(), random.bits(), random.bits()], [41943041, 58720359, 3588806011781223]);
    }

    #[test]
    fn below_stays_below_and_exponential_has_mean_one() {
        let mut random = Random::new(1, 0);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
        let mean = (0..100_000).map(|_| random.exponential()).sum::<f64>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
