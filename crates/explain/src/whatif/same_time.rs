//! What a recording of the same length would hold after a change: a thread that waits for less makes more calls.

use std::collections::HashMap;

use super::replay::Replayed;
use crate::waits::Waits;

/// How often each thread does its operations in the time that they took before.
///
/// *Assumes* that it does its next operation as long after the last one as it did, and the same ones over again: a closed loop.
#[derive(Debug)]
pub(super) struct Multiples(HashMap<u32, f64>);

/// First start and last end of a thread's operations.
#[derive(Debug, Clone, Copy)]
struct Length {
    start_ns: u64,
    end_ns: u64,
}

impl Length {
    fn add(of: Option<Length>, start_ns: u64, end_ns: u64) -> Length {
        let of = of.unwrap_or(Length { start_ns, end_ns });
        Length { start_ns: of.start_ns.min(start_ns), end_ns: of.end_ns.max(end_ns) }
    }

    fn ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

impl Multiples {
    pub(super) fn of(waits: &Waits, replayed: &[Replayed]) -> Multiples {
        let mut lengths: HashMap<u32, (Option<Length>, Option<Length>)> = HashMap::new();
        for now in replayed {
            let was = &waits.operations[now.operation];
            let (before, after) = lengths.entry(was.tid).or_default();
            *before = Some(Length::add(*before, was.start_ns, was.start_ns + was.duration_ns()));
            *after = Some(Length::add(*after, now.start_ns, now.start_ns + now.duration_ns));
        }
        let multiple = |(before, after): (Option<Length>, Option<Length>)| {
            let (before_ns, after_ns) = (before.map_or(0, Length::ns), after.map_or(0, Length::ns));
            (before_ns as f64 / after_ns.max(1) as f64).max(1.0)
        };
        Multiples(lengths.into_iter().map(|(tid, lengths)| (tid, multiple(lengths))).collect())
    }

    /// How often an operation is done.
    pub(super) fn times(&self, waits: &Waits, of: &Replayed) -> f64 {
        self.0.get(&waits.operations[of.operation].tid).copied().unwrap_or(1.0)
    }
}
