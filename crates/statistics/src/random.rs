//! Seeded random numbers, for resampling and for made-up measurements: the same seed draws the same.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// From a seed.
    pub fn of(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// From a seed and what it is for: each has a stream of its own.
    pub fn of_parts(parts: &[u64]) -> SplitMix64 {
        let mut random = SplitMix64(0x5741_4c4c);
        for part in parts {
            random.0 = random.bits() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// Whether something of that chance happens.
    pub fn happens(&mut self, chance: f64) -> bool {
        self.unit() < chance
    }

    /// One of several, which are not none.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Normal with mean 0 and deviation 1 (Box, Muller 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Log-normal with median 1.
    pub fn lognormal(&mut self, sigma: f64) -> f64 {
        (sigma * self.normal()).exp()
    }

    /// Poisson (Knuth 1969), by halves where the mean is large.
    pub fn poisson(&mut self, mean: f64) -> usize {
        if mean > 30.0 {
            return self.poisson(mean / 2.0) + self.poisson(mean / 2.0);
        }
        let (limit, mut product, mut count) = ((-mean).exp(), self.unit(), 0);
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// Of the authors' program, seed 1234567.
    #[test]
    fn the_generator_is_the_known_one() {
        let mut random = SplitMix64::of(1_234_567);
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_have_their_means() {
        const DRAWS: usize = 20_000;
        let check = |expected: f64, within: f64, draw: &mut dyn FnMut(&mut SplitMix64) -> f64| {
            let mut random = SplitMix64::of_parts(&[1, 2]);
            let mean = (0..DRAWS).map(|_| draw(&mut random)).sum::<f64>() / DRAWS as f64;
            assert!((mean - expected).abs() < within, "{mean} for {expected}");
        };
        check(0.5, 0.01, &mut |random| random.unit());
        check(4.5, 0.1, &mut |random| random.below(10) as f64);
        check(0.2, 0.02, &mut |random| f64::from(u8::from(random.happens(0.2))));
        check(0.0, 0.03, &mut SplitMix64::normal);
        check(1.0, 0.05, &mut |random| random.normal().powi(2));
        check((0.5_f64 * 0.5 / 2.0).exp(), 0.02, &mut |random| random.lognormal(0.5));
        check(3.0, 0.06, &mut |random| random.poisson(3.0) as f64);
        check(100.0, 0.4, &mut |random| random.poisson(100.0) as f64);
    }

    #[test]
    fn parts_have_streams_of_their_own() {
        let first = |parts: &[u64]| SplitMix64::of_parts(parts).bits();
        assert_eq!(first(&[1, 2]), first(&[1, 2]));
        assert!(first(&[1, 2]) != first(&[2, 1]) && first(&[1, 2]) != first(&[1, 3]));
    }
}
