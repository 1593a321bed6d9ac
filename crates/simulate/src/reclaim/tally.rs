//! Counters, and the figures computed from them.

use crate::policy::{Figure, Form, Histogram};

/// Power of two of ns at which a call counts as long: the rows of the document's histogram above 1.07 s.
const LONG_BUCKET: usize = 30;

/// Callers of xfs_reclaim_inodes_ag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Direct,
    Kswapd,
    Background,
}

/// Counters since the start, and statistics since the warm-up.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) allocation_stalls: u64,
    pub(super) inodes_freed: u64,
    /// Inodes that a walk found dirty or pinned.
    pub(super) unclean: u64,
    pub(super) slabs_scanned: u64,
    /// By direct reclaim, and by kswapd.
    pub(super) pages_scanned: [u64; 2],
    pub(super) pages_reclaimed: [u64; 2],
    stalls_before: u64,
    /// Calls of xfs_reclaim_inodes_ag by the power of two of their ns.
    calls: Vec<u64>,
    longest_ns: u64,
    called_ns: u64,
    /// Calls by caller: direct reclaim, kswapd, background.
    by: [u64; 3],
    /// Durations of reads, writes, allocations; rounds.
    durations_ns: [Vec<u64>; 3],
    rounds: u64,
}

const CLASSES: [&str; 3] = ["read", "write", "allocation"];

impl Tally {
    pub(super) fn operation(&mut self, class: &str, ns: u64) {
        match CLASSES.iter().position(|known| *known == class) {
            Some(at) => self.durations_ns[at].push(ns),
            None => self.rounds += 1,
        }
    }

    pub(super) fn call(&mut self, by: Caller, ns: u64) {
        self.by[by as usize] += 1;
        self.calls.resize(64, 0);
        self.calls[ns.max(1).ilog2() as usize] += 1;
        self.longest_ns = self.longest_ns.max(ns);
        self.called_ns += ns;
    }

    pub(super) fn scanned(&mut self, kswapd: bool, scanned: u64, reclaimed: u64) {
        self.pages_scanned[usize::from(kswapd)] += scanned;
        self.pages_reclaimed[usize::from(kswapd)] += reclaimed;
    }

    /// The warm-up has ended: resets the statistics.
    pub(super) fn start_measuring(&mut self) {
        self.stalls_before = self.allocation_stalls;
        self.calls.clear();
        self.by = [0; 3];
        (self.longest_ns, self.called_ns, self.rounds) = (0, 0, 0);
        self.durations_ns.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn figures(&mut self, measured_ns: u64) -> Vec<Figure> {
        let seconds = measured_ns as f64 / 1e9;
        let per_second = |count: u64| (measured_ns > 0).then(|| count as f64 / seconds);
        let count: u64 = self.calls.iter().sum();
        let long: u64 = self.calls.iter().skip(LONG_BUCKET).sum();
        let stalls = self.allocation_stalls - self.stalls_before;
        let mut figures = vec![
            figure("work_per_s", "rounds of all workers per second", per_second(self.rounds), Some(true)),
            figure("alloc_stalls_per_s", "entries into direct reclaim per second", per_second(stalls), Some(false)),
            figure("reclaim_calls", "calls of xfs_reclaim_inodes_ag", Some(count as f64), None),
            figure("reclaim_calls_direct", "calls by direct reclaim", Some(self.by[0] as f64), None),
            figure("reclaim_calls_kswapd", "calls by kswapd", Some(self.by[1] as f64), None),
            figure(
                "reclaim_calls_background",
                "calls by the background worker of each file system",
                Some(self.by[2] as f64),
                None,
            ),
            figure("reclaim_calls_over_1s", "calls of 2^30 ns (1.07 s) or more", Some(long as f64), Some(false)),
            figure("reclaim_longest_ns", "longest call", Some(self.longest_ns as f64), Some(false)),
            figure("reclaim_time_ns", "sum of all calls", Some(self.called_ns as f64), Some(false)),
        ];
        for (durations, names) in self.durations_ns.iter_mut().zip(PERCENTILES) {
            durations.sort_unstable();
            for (name, about, share) in names {
                figures.push(figure(name, about, percentile(durations, share).map(|ns| ns as f64), Some(false)));
            }
        }
        figures
    }

    pub(super) fn histogram(&self) -> Histogram {
        let rows = self.calls.iter().enumerate().filter(|(_, count)| **count > 0);
        let rows = rows.map(|(power, count)| (1 << power, *count)).collect();
        Histogram { name: "xfs_reclaim_inodes_ag", form: Form::Argdist, rows }
    }
}

type Percentile = (&'static str, &'static str, u64);

const PERCENTILES: [[Percentile; 2]; 3] = [
    [("read_p50_ns", "median of reads", 50), ("read_p99_ns", "99th percentile of reads", 99)],
    [("write_p50_ns", "median of writes", 50), ("write_p99_ns", "99th percentile of writes", 99)],
    [("allocation_p50_ns", "median of allocations", 50), ("allocation_p99_ns", "99th percentile of allocations", 99)],
];

fn figure(name: &'static str, about: &'static str, value: Option<f64>, more_is_better: Option<bool>) -> Figure {
    Figure { name, about, value, more_is_better }
}

/// Nearest-rank percentile.
fn percentile(sorted: &[u64], share: u64) -> Option<u64> {
    let rank = (sorted.len() as u64 * share).div_ceil(100).max(1);
    sorted.get(rank as usize - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::{Caller, Tally, percentile};

    #[test]
    fn percentiles_are_measured_durations() {
        let sorted: Vec<u64> = (1..=200).collect();
        assert_eq!((percentile(&sorted, 50), percentile(&sorted, 99)), (Some(100), Some(198)));
        assert_eq!((percentile(&[7], 99), percentile(&[], 50)), (Some(7), None));
    }

    #[test]
    fn a_call_is_long_from_a_power_of_two_on() {
        let mut tally = Tally::default();
        tally.call(Caller::Direct, (1 << 30) - 1);
        tally.call(Caller::Kswapd, 1 << 30);
        let figures = tally.figures(1_000_000_000);
        let value = |name: &str| figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.value);
        assert_eq!((value("reclaim_calls"), value("reclaim_calls_over_1s")), (Some(2.0), Some(1.0)));
        assert_eq!(value("read_p99_ns"), None);
        assert_eq!(tally.histogram().rows, [(1 << 29, 1), (1 << 30, 1)]);
    }
}
