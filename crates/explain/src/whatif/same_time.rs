//! What a recording of the same length would hold after a change: a thread that waits for less makes more calls.

use std::collections::HashMap;

use super::replay::Replayed;
use crate::waits::Waits;

/// Operations of a thread in a row that are taken as alike: as many as a mean needs, and few enough to be of one time.
/// Calls that differ by chance must not count by their length; moments of the machine must.
const IN_A_ROW: usize = 8;

/// How often each operation is done in the time that it and its pause took before, by its number.
///
/// *Assumes* a closed loop: a thread does its next operation as long after the last one as it did. At each moment it
/// does what it did then over and over for as long as that took before, so that it does most of its calls in the quick
/// moments.
#[derive(Debug)]
pub(super) struct Multiples {
    times: Vec<f64>,
    elapsed_ns: u64,
}

/// First start and last end of some operations.
#[derive(Debug, Clone, Copy)]
struct Length {
    start_ns: u64,
    end_ns: u64,
}

impl Length {
    fn of(spans: impl Iterator<Item = (u64, u64)>) -> Length {
        let none = Length { start_ns: u64::MAX, end_ns: 0 };
        spans.fold(none, |of, (start_ns, ns)| Length {
            start_ns: of.start_ns.min(start_ns),
            end_ns: of.end_ns.max(start_ns + ns),
        })
    }

    fn ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Multiples {
    pub(super) fn of(waits: &Waits, replayed: &[Replayed]) -> Multiples {
        let mut threads: HashMap<u32, Vec<&Replayed>> = HashMap::new();
        for now in replayed {
            threads.entry(waits.operations[now.operation].tid).or_default().push(now);
        }
        let mut multiples = Multiples { times: vec![1.0; waits.operations.len()], elapsed_ns: 0 };
        for operations in threads.values() {
            let rows: Vec<&[&Replayed]> = rows(operations).collect();
            let before: Vec<Length> = rows.iter().map(|row| before(waits, row)).collect();
            for (at, row) in rows.iter().enumerate() {
                let pause_ns = before.get(at + 1).map_or(0, |next| next.start_ns.saturating_sub(before[at].end_ns));
                let after = Length::of(row.iter().map(|now| (now.start_ns, now.duration_ns)));
                let times = (before[at].ns() + pause_ns) as f64 / (after.ns() + pause_ns).max(1) as f64;
                row.iter().for_each(|now| multiples.times[now.operation] = times.max(1.0));
                multiples.elapsed_ns += before[at].ns() + pause_ns;
            }
        }
        multiples
    }

    /// The time that the threads had, from their first operations to their last, ns.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// How often an operation is done.
    pub(super) fn times(&self, of: &Replayed) -> f64 {
        self.times[of.operation]
    }
}

/// Rows of about the same number of operations, none much shorter than [`IN_A_ROW`].
fn rows<'a, 'b>(operations: &'b [&'a Replayed]) -> impl Iterator<Item = &'b [&'a Replayed]> {
    let count = (operations.len() / IN_A_ROW).max(1);
    operations.chunks(operations.len().div_ceil(count).max(1))
}

fn before(waits: &Waits, row: &[&Replayed]) -> Length {
    let recorded = row.iter().map(|now| &waits.operations[now.operation]);
    Length::of(recorded.map(|was| (was.start_ns, was.duration_ns())))
}
