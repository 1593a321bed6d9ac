//! Sizes of small files, distributed as in a kernel's source tree.

use crate::random::Random;

/// Cumulative distribution of file sizes in bytes, counted in the 78,579 files of Linux 6.1. The largest 79, up to
/// 24 MB, are cut off at 4 MB, so that the total of a small tree does not depend on a single file.
const SMALLER: [(f64, f64); 12] = [
    (0.0, 16.0),
    (0.01, 73.0),
    (0.05, 254.0),
    (0.1, 446.0),
    (0.25, 1280.0),
    (0.5, 3874.0),
    (0.75, 11_416.0),
    (0.9, 28_759.0),
    (0.95, 48_093.0),
    (0.99, 124_858.0),
    (0.999, 1_120_270.0),
    (1.0, 4_000_000.0),
];
/// Mean of that distribution, in bytes.
const MEAN_BYTES: f64 = 16_732.0;

/// The size of a file, with mean `mean_bytes`: the same for the same `seed` and `number`.
pub(super) fn size_of(seed: u64, number: u64, mean_bytes: u64) -> u64 {
    let share = (Random::new(seed, number).bits() >> 11) as f64 / (1u64 << 53) as f64;
    let above = SMALLER.iter().position(|(upto, _)| share < *upto).unwrap_or(SMALLER.len() - 1).max(1);
    let ((from, low), (to, high)) = (SMALLER[above - 1], SMALLER[above]);
    let size = low * (high / low).powf((share - from) / (to - from));
    (size * mean_bytes as f64 / MEAN_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn sizes_have_the_mean_and_repeat() {
        let mut sizes: Vec<u64> = (0..100_000).map(|number| size_of(7, number, 16_732)).collect();
        let mean = sizes.iter().sum::<u64>() / 100_000;
        sizes.sort_unstable();
        let (median, most) = (sizes[50_000], sizes[99_999]);
        assert!((15_500..18_000).contains(&mean), "{mean}");
        assert!((3_700..4_050).contains(&median) && most <= 4_000_000, "{median} {most}");
        assert_eq!(size_of(7, 3, 1000), size_of(7, 3, 1000));
        assert_ne!(size_of(7, 3, 1000), size_of(8, 3, 1000));
    }
}
