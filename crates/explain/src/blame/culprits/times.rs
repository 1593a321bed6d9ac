//! Times that were spent in one way, by whom.

use std::hash::Hash;

use crate::hashing::FastMap;

/// From, to, and the sum up to there.
type Merged = Vec<(u64, u64, u64)>;

/// Times by key.
#[derive(Debug)]
pub(super) struct Times<K>(FastMap<K, Merged>);

impl<K> Default for Times<K> {
    fn default() -> Times<K> {
        Times(FastMap::default())
    }
}

impl<K: Eq + Hash> Times<K> {
    pub(super) fn add(&mut self, key: K, (from_ns, to_ns): (u64, u64)) {
        let times = self.0.entry(key).or_default();
        match times.last_mut() {
            // Pieces of one time.
            Some(last) if last.1 == from_ns => last.1 = to_ns,
            _ => times.push((from_ns, to_ns, 0)),
        }
    }

    /// Call after the last one is added. Of several threads at the same time, one counts.
    pub(super) fn sort(&mut self) {
        for times in self.0.values_mut() {
            times.sort_unstable();
            let (mut merged, mut sum_ns): (Merged, u64) = (Vec::new(), 0);
            for &mut (from_ns, to_ns, _) in times.iter_mut() {
                let from_ns = merged.last().map_or(from_ns, |last| from_ns.max(last.1));
                if from_ns < to_ns {
                    sum_ns += to_ns - from_ns;
                    merged.push((from_ns, to_ns, sum_ns));
                }
            }
            *times = merged;
        }
    }

    /// How much of it is within a time.
    pub(super) fn within(&self, key: &K, (from_ns, to_ns): (u64, u64)) -> u64 {
        let times = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let until = |at_ns: u64| {
            let started = times.partition_point(|time| time.0 < at_ns);
            started.checked_sub(1).map_or(0, |last| times[last].2 - times[last].1.saturating_sub(at_ns))
        };
        until(to_ns) - until(from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn what_is_at_the_same_time_counts_once() {
        let mut times = Times::default();
        for time in [(10, 20), (20, 25), (40, 50), (15, 30), (45, 48)] {
            times.add(7, time);
        }
        times.sort();
        let within = |from_ns, to_ns| times.within(&7, (from_ns, to_ns));
        assert_eq!((within(0, 100), within(12, 42), within(30, 40), within(47, 100)), (30, 20, 0, 3));
        assert_eq!(times.within(&8, (0, 100)), 0);
    }
}
