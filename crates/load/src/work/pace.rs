//! The schedule of a paced actor's rounds.

use super::group::ThreadGroup;
use crate::random::Random;
use crate::recipe::Pacing;

/// An open-loop schedule, independent of the rounds' durations. A thread that is late runs its rounds
/// back to back until it has caught up, and each latency counts from the intended start.
pub(crate) struct Pace {
    base_ns: u64,
    /// Interval between rounds of this thread; `None`: not paced.
    distance_ns: Option<f64>,
    pacing: Pacing,
    /// Next start, from `base_ns`.
    next_ns: f64,
}

impl Pace {
    /// The schedule of one of the actor's threads. Fixed schedules of several threads are interleaved; random ones are
    /// independent, and their sum is again a Poisson process with the actor's rate.
    pub(crate) fn new(group: ThreadGroup, ordinal: u64, base_ns: u64) -> Pace {
        let all_ns = group.rate_per_s.map(|rate| 1e9 / rate);
        let next_ns = match group.pacing {
            Pacing::Fixed => all_ns.unwrap_or(0.0) * ordinal as f64,
            Pacing::Poisson => 0.0,
        };
        Pace { base_ns, distance_ns: all_ns.map(|ns| ns * group.threads as f64), pacing: group.pacing, next_ns }
    }

    /// Intended start of the next round; `None` where the actor is not paced.
    pub(crate) fn next_start_ns(&mut self, random: &mut Random) -> Option<u64> {
        let distance_ns = self.distance_ns?;
        let step_ns = match self.pacing {
            Pacing::Fixed => distance_ns,
            Pacing::Poisson => distance_ns * random.exponential(),
        };
        let start_ns = match self.pacing {
            Pacing::Fixed => self.next_ns,
            Pacing::Poisson => self.next_ns + step_ns,
        };
        self.next_ns += step_ns;
        Some(self.base_ns + start_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, ThreadGroup};
    use crate::random::Random;
    use crate::recipe::Pacing;

    fn group(pacing: Pacing) -> ThreadGroup {
        ThreadGroup { threads: 2, directories: 0, rate_per_s: Some(1000.0), pacing }
    }

    #[test]
    fn fixed_schedules_of_two_threads_interleave() {
        let mut random = Random::new(1, 1);
        let mut starts = |ordinal| {
            let mut pace = Pace::new(group(Pacing::Fixed), ordinal, 7);
            [pace.next_start_ns(&mut random), pace.next_start_ns(&mut random)]
        };
        assert_eq!(starts(0), [Some(7), Some(2_000_007)]);
        assert_eq!(starts(1), [Some(1_000_007), Some(3_000_007)]);
    }

    #[test]
    fn poisson_keeps_the_rate() {
        let mut random = Random::new(1, 1);
        let mut pace = Pace::new(group(Pacing::Poisson), 0, 0);
        let last = (0..50_000).filter_map(|_| pace.next_start_ns(&mut random)).last().unwrap();
        let seconds = last as f64 / 1e9;
        assert!((seconds - 100.0).abs() < 2.0, "{seconds}");
    }
}
