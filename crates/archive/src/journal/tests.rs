//! Journals as written, and damaged.

use model::time::Moment;

use super::{Entry, JournalContents, Link};
use crate::extent::Extent;
use crate::line;

/// Lines of a journal, chained or as earlier versions wrote them.
fn lines(count: u64, chained: bool) -> Vec<Vec<u8>> {
    let mut extent = Extent::default();
    let line = |at: u64| {
        let at = Moment { monotonic_ns: at, wall_ns: 0 };
        let (number, before) = (chained.then_some(extent.lines), chained.then_some(extent.crc32c));
        let mut bytes = Vec::new();
        line::push(&mut bytes, &Link { number, before, entry: Entry::Closed { at } }).unwrap();
        extent.push(&bytes);
        bytes
    };
    (1..=count).map(line).collect()
}

fn damage_of(lines: &[Vec<u8>]) -> (Vec<u64>, Vec<String>) {
    let found = JournalContents::parse(&lines.concat());
    let at = |entry: &Entry| match entry {
        Entry::Closed { at } => at.monotonic_ns,
        _ => 0,
    };
    (found.entries.iter().map(at).collect(), found.damage.iter().map(ToString::to_string).collect())
}

#[test]
fn a_torn_tail_is_counted_and_left_out() {
    for chained in [false, true] {
        let lines = lines(3, chained);
        let bytes = lines.concat();
        let mut ends = vec![0];
        ends.extend(lines.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        }));
        for cut in 0..bytes.len() {
            let found = JournalContents::parse(&bytes[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
            assert_eq!(found.entries.len(), whole, "cut at {cut}");
            assert_eq!(found.torn_bytes as usize, cut - ends[whole], "cut at {cut}");
            assert!(found.damage.is_empty());
        }
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_skipped() {
    for chained in [false, true] {
        let mut lines = lines(3, chained);
        lines[1][20] ^= 1;
        let (entries, damage) = damage_of(&lines);
        assert_eq!((entries, damage), (vec![1, 3], vec!["journal: line 2 is damaged".to_owned()]));
    }
}

#[test]
fn lines_that_are_dropped_doubled_or_moved_are_noticed() {
    let lines = lines(6, true);
    let order = |order: &[usize]| order.iter().map(|&at| lines[at].clone()).collect::<Vec<_>>();
    for (order, entries, damage) in [
        (order(&[0, 1, 2, 3, 4, 5]), vec![1, 2, 3, 4, 5, 6], vec![]),
        (order(&[0, 1, 4, 5]), vec![1, 2, 5, 6], vec!["journal: missing: entry 2 to 3"]),
        (order(&[1, 2, 3, 4, 5]), vec![2, 3, 4, 5, 6], vec!["journal: missing: entry 0"]),
        (order(&[0, 1, 2, 2, 3, 4, 5]), vec![1, 2, 3, 4, 5, 6], vec!["journal: line 4 repeats an earlier one"]),
        (order(&[0, 1, 3, 4, 2, 5]), vec![1, 2, 3, 4, 5, 6], vec!["journal: line 5 is out of order"]),
    ] {
        assert_eq!(damage_of(&order), (entries, damage.into_iter().map(str::to_owned).collect()));
    }
}

#[test]
fn a_line_of_another_journal_is_noticed() {
    let mut mixed = lines(4, true);
    let mut other = lines(2, true);
    let at = Moment { monotonic_ns: 9, wall_ns: 0 };
    other[1].clear();
    line::push(&mut other[1], &Link { number: Some(2), before: Some(77), entry: Entry::Closed { at } }).unwrap();
    mixed[2] = other[1].clone();
    let (_, damage) = damage_of(&mixed);
    assert_eq!(damage[0], "journal: line 3 does not continue the lines before it");
}

#[test]
fn an_entry_of_a_later_version_is_ignored() {
    let mut bytes = Vec::new();
    line::push(&mut bytes, &serde_json::json!({"entry": "of the future", "number": 0, "before": 0})).unwrap();
    let found = JournalContents::parse(&bytes);
    assert_eq!((found.entries, found.damage.len()), (vec![Entry::Unknown], 0));
}
