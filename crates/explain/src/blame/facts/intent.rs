//! What a sleep was for.

use model::stall::Awaits;

use crate::blame::facts::maybe::{Maybe, MaybeNs};
use crate::blame::rule::Rule;

/// What a sleep was for, as the tracer noted it when the sleep ended, or as a rule concludes from all rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intent {
    pub(crate) what: Option<Awaits>,
    /// The thread that ended it; 0: none.
    pub(crate) whom: Maybe,
    /// Where that thread was.
    pub(crate) whom_stack: Maybe,
    /// When the request was sent whose answer it awaits, or received that it works on.
    pub(crate) since_ns: MaybeNs,
    /// The request that ended with the sleep did not end it.
    pub(crate) not_for_request: bool,
    /// Of a polled wait: a request that it waits for is throttled by its cgroup.
    pub(crate) for_limit: bool,
}

/// What rules concluded of sleeps, beside their rows.
#[derive(Debug, Default)]
pub(crate) struct Intents {
    /// A bit for each row: most rows have none, and are asked very often.
    has: Vec<u64>,
    /// For each of these words, how many bits those before it have: where the conclusions of its rows begin.
    before: Vec<u32>,
    /// Of the rows that have one, in their order.
    concluded: Vec<(u32, Intent)>,
    /// Rows and the rules that concluded something of them, in the order of the rules.
    by: Vec<(u32, &'static Rule)>,
}

impl Intents {
    pub(crate) fn of(&self, at: u32) -> Option<&Intent> {
        let (word, bit) = (at as usize / 64, 1_u64 << (at % 64));
        let bits = self.has.get(word)?;
        let place = || self.before[word] + (bits & (bit - 1)).count_ones();
        if bits & bit == 0 { None } else { self.concluded.get(place() as usize).map(|(_, intent)| intent) }
    }

    /// What a rule found replaces what was concluded of these rows before.
    pub(crate) fn conclude(&mut self, rule: &'static Rule, found: Vec<(u32, Intent)>) {
        self.by.extend(found.iter().map(|(at, _)| (*at, rule)));
        self.concluded.extend(found);
        // Stable: of several of one row, the last one counts.
        self.concluded.sort_by_key(|(at, _)| *at);
        self.concluded.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                *first = *later;
            }
            is_same
        });
        self.number();
    }

    fn number(&mut self) {
        let words = self.concluded.last().map_or(0, |(at, _)| *at as usize / 64 + 1);
        self.has = vec![0; words];
        for (at, _) in &self.concluded {
            self.has[*at as usize / 64] |= 1 << (at % 64);
        }
        let mut count = 0;
        let counted = |bits: &u64| {
            count += bits.count_ones();
            count - bits.count_ones()
        };
        self.before = self.has.iter().map(counted).collect();
    }

    /// Call after the last rule.
    pub(crate) fn finish(&mut self) {
        self.by.sort_by_key(|(at, _)| *at);
    }

    /// The rows of which a rule concluded something.
    pub(crate) fn rows_by(&self, rule: &'static Rule) -> impl Iterator<Item = u32> {
        self.by.iter().filter(move |(_, by)| *by == rule).map(|(at, _)| *at)
    }

    /// The rules that concluded something of a row.
    pub(crate) fn rules_of(&self, at: u32) -> impl Iterator<Item = &'static Rule> {
        let first = self.by.partition_point(|(row, _)| *row < at);
        self.by[first..].iter().take_while(move |(row, _)| *row == at).map(|(_, rule)| *rule)
    }
}
