//! What a sleep was for.

use model::stall::Awaits;

use crate::blame::facts::maybe::Maybe;
use crate::blame::rule::Rule;
use crate::hashing::FastMap;

/// What a sleep was for, as the tracer noted it when the sleep ended, or as a rule concludes from all rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intent {
    pub(crate) what: Option<Awaits>,
    /// The thread that ended it; 0: none.
    pub(crate) whom: Maybe,
    /// Where that thread was.
    pub(crate) whom_stack: Maybe,
    /// When the request was sent whose answer it awaits, or received that it works on.
    pub(crate) since_ns: Option<u64>,
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
    concluded: FastMap<u32, Intent>,
    /// Rows and the rules that concluded something of them, in the order of the rules.
    by: Vec<(u32, &'static Rule)>,
}

impl Intents {
    pub(crate) fn of(&self, at: u32) -> Option<&Intent> {
        let bits = self.has.get(at as usize / 64)?;
        if bits & (1 << (at % 64)) == 0 { None } else { self.concluded.get(&at) }
    }

    /// What a rule found replaces what was concluded of these rows before.
    pub(crate) fn conclude(&mut self, rule: &'static Rule, found: Vec<(u32, Intent)>) {
        for (at, intent) in found {
            let word = at as usize / 64;
            if self.has.len() <= word {
                self.has.resize(word + 1, 0);
            }
            self.has[word] |= 1 << (at % 64);
            self.concluded.insert(at, intent);
            self.by.push((at, rule));
        }
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
