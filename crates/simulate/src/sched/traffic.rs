//! Overtaking, by kind of request.

use model::block::Kind;
use model::stall::KindCounts;

/// Kinds counted separately; further kinds count as the last one.
const KINDS: usize = 12;

/// Counts by kind.
type Counts = [u32; KINDS];

/// Arrivals and completions.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    kinds: Vec<Kind>,
    inside: Counts,
    done: Counts,
}

/// The counts when a request arrived.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    inside: Counts,
    done: Counts,
}

/// Overtaking, as seen by a request at its completion.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Requests in flight when it arrived.
    pub(super) in_flight: KindCounts,
    /// Requests that arrived later and completed earlier.
    pub(super) overtaken_by: KindCounts,
    /// All requests completed since it arrived.
    pub(super) done_since: KindCounts,
}

impl Traffic {
    fn number(&mut self, kind: Kind) -> usize {
        match self.kinds.iter().position(|known| *known == kind) {
            Some(number) => number,
            None if self.kinds.len() == KINDS => KINDS - 1,
            None => {
                self.kinds.push(kind);
                self.kinds.len() - 1
            }
        }
    }

    /// A request arrived.
    pub(super) fn came(&mut self, kind: Kind) -> Seen {
        let seen = Seen { inside: self.inside, done: self.done };
        let number = self.number(kind);
        self.inside[number] += 1;
        seen
    }

    /// A request completed.
    pub(super) fn left(&mut self, kind: Kind) {
        let number = self.number(kind);
        self.inside[number] -= 1;
        self.done[number] += 1;
    }

    /// A request was merged into another.
    pub(super) fn withdrew(&mut self, kind: Kind) {
        let number = self.number(kind);
        self.inside[number] -= 1;
    }

    /// Overtaking of a request. `older`: kinds of earlier requests that are still in flight.
    pub(super) fn judge(&mut self, seen: &Seen, older: impl Iterator<Item = Kind>) -> Passed {
        let mut still: Counts = [0; KINDS];
        older.for_each(|kind| still[self.number(kind)] += 1);
        let passed = |number: usize| {
            let before_it = seen.inside[number] - still[number].min(seen.inside[number]);
            (self.done[number] - seen.done[number]).saturating_sub(before_it)
        };
        let counts = |count: &dyn Fn(usize) -> u32| -> KindCounts {
            let mut counts: KindCounts =
                self.kinds.iter().enumerate().map(|(number, kind)| (*kind, count(number))).collect();
            counts.retain(|(_, count)| *count > 0);
            counts.sort_by_key(|(kind, _)| kind.to_string());
            counts
        };
        Passed {
            in_flight: counts(&|number| seen.inside[number]),
            overtaken_by: counts(&passed),
            done_since: counts(&|number| self.done[number] - seen.done[number]),
        }
    }
}
