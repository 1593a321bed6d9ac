//! Whether a journal's lines are those that were written, each once and in order.

use std::collections::BTreeMap;

use model::damage::Damage;
use model::quantity::counted;
use model::time::Moment;

use super::entry::{Entry, Link};
use crate::directory::JOURNAL_FILE;
use crate::extent::Extent;

/// Parts of each kind that are listed.
const MOST: usize = 10_000;

/// Follows the lines of a journal.
#[derive(Debug, Default)]
pub(super) struct ChainCheck {
    /// Entries without a number: a journal of an earlier version.
    plain: Vec<Entry>,
    /// Entries by number.
    numbered: BTreeMap<u64, Entry>,
    /// What the next line continues.
    expected: Extent,
    /// Damaged lines with no valid one after them so far: the first and the last.
    damaged: Option<(usize, usize)>,
    /// Damaged lines with valid ones after them, and the entry that follows.
    inside: Vec<(usize, usize, u64)>,
    /// Other damage.
    broken: Vec<Damage>,
    /// Parts of it that are not listed.
    more: u64,
}

impl ChainCheck {
    /// A line that is not as it was written.
    pub(super) fn damaged(&mut self, line: usize) {
        self.damaged = Some((self.damaged.map_or(line, |(first, _)| first), line));
    }

    /// A valid line.
    pub(super) fn line(&mut self, line: usize, text: &[u8], link: Link) {
        let after_damage = self.damaged.is_some();
        let follows = link.number.unwrap_or(self.plain.len() as u64);
        self.inside.extend(self.damaged.take().map(|(first, last)| (first, last, follows)));
        let (Some(number), Some(before)) = (link.number, link.before) else {
            self.unnumbered(line, link.entry);
            return;
        };
        if number < self.expected.lines {
            let what = if self.numbered.contains_key(&number) { "repeats an earlier one" } else { "is out of order" };
            self.broken(|| harmless(format!("line {line} {what}")));
            self.numbered.entry(number).or_insert(link.entry);
            return;
        }
        let continues = number == self.expected.lines && before == self.expected.crc32c;
        if number == self.expected.lines && !continues && !after_damage {
            let why = format!("line {line} does not continue the lines before it");
            self.broken(|| Damage::of_file(JOURNAL_FILE, why));
        }
        self.expected = Extent { lines: number, bytes: 0, crc32c: before };
        self.expected.push(text);
        self.numbered.insert(number, link.entry);
    }

    fn unnumbered(&mut self, line: usize, entry: Entry) {
        if self.is_chained() {
            self.broken(|| Damage::of_file(JOURNAL_FILE, format!("line {line} has no number")));
        } else {
            self.plain.push(entry);
        }
    }

    /// What a stranger made may have millions.
    fn broken(&mut self, damage: impl FnOnce() -> Damage) {
        if self.broken.len() < MOST {
            self.broken.push(damage());
        } else {
            self.more += 1;
        }
    }

    /// Whether the lines are numbered.
    pub(super) fn is_chained(&self) -> bool {
        !self.numbered.is_empty()
    }

    /// The entries in the order of writing, and all damage.
    pub(super) fn finish(self) -> (Vec<Entry>, Vec<Damage>) {
        let mut damage: Vec<Damage> = Vec::new();
        for (first, last, follows) in self.inside.iter().take(MOST) {
            let span_ns = if self.is_chained() { Some(self.span_ns(*follows, *follows)) } else { None };
            let why = match first == last {
                true => format!("line {first} is damaged"),
                false => format!("lines {first} to {last} are damaged"),
            };
            damage.push(Damage { span_ns, ..Damage::of_file(JOURNAL_FILE, why) });
        }
        let missing = self.missing();
        let gaps = missing.len();
        let count = missing.iter().fold(0_u64, |sum, (first, last)| sum.saturating_add(last - first + 1));
        // A damaged line is also missing.
        if count > self.inside.iter().map(|(first, last, _)| (last - first + 1) as u64).sum() {
            damage.extend(missing.into_iter().take(MOST).map(|(first, last)| {
                let which = if first == last { format!("{first}") } else { format!("{first} to {last}") };
                let span_ns = Some(self.span_ns(first, last));
                Damage { span_ns, ..Damage::of_file(JOURNAL_FILE, format!("missing: entry {which}")) }
            }));
        }
        let unlisted = self.more + self.inside.len().saturating_sub(MOST) as u64 + gaps.saturating_sub(MOST) as u64;
        damage.extend(self.broken);
        if unlisted > 0 {
            damage.push(Damage::of_file(JOURNAL_FILE, format!("and {} damaged", counted(unlisted, "more part"))));
        }
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
            next = number.saturating_add(1);
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
