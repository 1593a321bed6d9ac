//! Who passed whom, by kind.

use model::block::Kind;
use model::stall::KindCounts;

/// Kinds that are told apart; what comes beyond is counted with the last.
const KINDS: usize = 12;

/// Counts by kind.
type Counts = [u32; KINDS];

/// Requests that came and went.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    kinds: Vec<Kind>,
    inside: Counts,
    done: Counts,
}

/// What a request saw when it came.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    inside: Counts,
    done: Counts,
}

/// What a request has to say of others at its end.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Those that it saw inside when it came.
    pub(super) in_flight: KindCounts,
    /// Those that came after it and have gone.
    pub(super) overtaken_by: KindCounts,
    /// All that have gone since it came.
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

    /// One came.
    pub(super) fn came(&mut self, kind: Kind) -> Seen {
        let seen = Seen { inside: self.inside, done: self.done };
        let number = self.number(kind);
        self.inside[number] += 1;
        seen
    }

    /// One is done.
    pub(super) fn left(&mut self, kind: Kind) {
        let number = self.number(kind);
        self.inside[number] -= 1;
        self.done[number] += 1;
    }

    /// One was merged into another.
    pub(super) fn withdrew(&mut self, kind: Kind) {
        let number = self.number(kind);
        self.inside[number] -= 1;
    }

    /// Who was there, who passed. `older`: kinds of those that came before it and are still inside.
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
