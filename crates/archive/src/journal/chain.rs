//! Whether a journal's lines are those that were written, each once and in order.

use std::collections::BTreeMap;

use model::damage::Damage;
use model::time::Moment;

use super::entry::{Entry, Link};
use crate::directory::JOURNAL_FILE;
use crate::extent::Extent;

/// Follows the lines of a journal.
#[derive(Debug, Default)]
pub(super) struct ChainCheck {
    /// Entries without a number: a journal of an earlier version.
    plain: Vec<Entry>,
    /// Entries by number.
    numbered: BTreeMap<u64, Entry>,
    /// What the next line continues.
    expected: Extent,
    /// Damaged lines with no valid one after them so far.
    damaged: Vec<usize>,
    /// Damaged lines with valid ones after them, and the entry that follows.
    inside: Vec<(usize, u64)>,
    /// Other damage.
    broken: Vec<Damage>,
}

impl ChainCheck {
    /// A line that is not as it was written.
    pub(super) fn damaged(&mut self, line: usize) {
        self.damaged.push(line);
    }

    /// A valid line.
    pub(super) fn line(&mut self, line: usize, text: &[u8], link: Link) {
        let after_damage = !self.damaged.is_empty();
        let follows = link.number.unwrap_or(self.plain.len() as u64);
        self.inside.extend(self.damaged.drain(..).map(|damaged| (damaged, follows)));
        let (Some(number), Some(before)) = (link.number, link.before) else {
            self.unnumbered(line, link.entry);
            return;
        };
        if number < self.expected.lines {
            let what = if self.numbered.contains_key(&number) { "repeats an earlier one" } else { "is out of order" };
            self.broken.push(harmless(format!("line {line} {what}")));
            self.numbered.entry(number).or_insert(link.entry);
            return;
        }
        let continues = number == self.expected.lines && before == self.expected.crc32c;
        if number == self.expected.lines && !continues && !after_damage {
            self.broken
                .push(Damage::of_file(JOURNAL_FILE, format!("line {line} does not continue the lines before it")));
        }
        self.expected = Extent { lines: number, bytes: 0, crc32c: before };
        self.expected.push(text);
        self.numbered.insert(number, link.entry);
    }

    fn unnumbered(&mut self, line: usize, entry: Entry) {
        if self.is_chained() {
            self.broken.push(Damage::of_file(JOURNAL_FILE, format!("line {line} has no number")));
        } else {
            self.plain.push(entry);
        }
    }

    /// Whether the lines are numbered.
    pub(super) fn is_chained(&self) -> bool {
        !self.numbered.is_empty()
    }

    /// The entries in the order of writing, and all damage.
    pub(super) fn finish(self) -> (Vec<Entry>, Vec<Damage>) {
        let mut damage: Vec<Damage> = Vec::new();
        for (line, follows) in &self.inside {
            let span_ns = if self.is_chained() { Some(self.span_ns(*follows, *follows)) } else { None };
            let why = format!("line {line} is damaged");
            damage.push(Damage { span_ns, ..Damage::of_file(JOURNAL_FILE, why) });
        }
        let missing = self.missing();
        let count: u64 = missing.iter().map(|(first, last)| last - first + 1).sum();
        // A damaged line is also missing.
        if count > self.inside.len() as u64 {
            damage.extend(missing.into_iter().map(|(first, last)| {
                let which = if first == last { format!("{first}") } else { format!("{first} to {last}") };
                let span_ns = Some(self.span_ns(first, last));
                Damage { span_ns, ..Damage::of_file(JOURNAL_FILE, format!("missing: entry {which}")) }
            }));
        }
        damage.extend(self.broken);
        let entries = if self.numbered.is_empty() { self.plain } else { self.numbered.into_values().collect() };
        (entries, damage)
    }

    /// Numbers without an entry, as ranges.
    fn missing(&self) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let mut next = 0;
        for &number in self.numbered.keys() {
            if number > next {
                missing.push((next, number - 1));
            }
            next = number + 1;
        }
        missing
    }

    /// The time whose rows these entries may have made live: since the consolidation before, until the one after.
    fn span_ns(&self, first: u64, last: u64) -> (u64, u64) {
        let before = self.numbered.range(..first).rev().find_map(|(_, entry)| moment(entry));
        let after = self.numbered.range(last..).find_map(|(_, entry)| moment(entry));
        (before.map_or(0, |at| at.monotonic_ns), after.map_or(u64::MAX, |at| at.monotonic_ns))
    }
}

/// Damage that costs no rows.
fn harmless(why: String) -> Damage {
    Damage { rows: Some(0), ..Damage::of_file(JOURNAL_FILE, why) }
}

/// Until when the rows of an entry were flushed.
fn moment(entry: &Entry) -> Option<Moment> {
    match entry {
        Entry::Consolidated { at, .. } | Entry::Closed { at } => Some(*at),
        _ => None,
    }
}
