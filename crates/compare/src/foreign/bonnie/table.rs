//! bonnie++'s table. Its columns are blank where a phase was left out, so a row counts only if it has a word for each
//! column.

use super::phases::{BULK, Phases, SMALL, TOOL};
use crate::figures::Fact;
use crate::foreign::error::{Runs, malformed};
use crate::foreign::text::finite;

/// Which half of the table a line is in.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Bulk,
    Small,
}

/// Words of a row: name and size, or the number of files, and a rate and a CPU share for each of the six phases.
const BULK_WORDS: usize = 14;
const SMALL_WORDS: usize = 13;
const LATENCY_WORDS: usize = 7;

/// One table so far.
#[derive(Default)]
struct Table {
    version: String,
    size: Option<String>,
    files: Option<String>,
    phases: Phases,
    has_row: bool,
    /// Whether the line above is the heading of the row.
    expects_row: bool,
    /// Of which half a line of latencies would be.
    awaits_latencies: Option<Half>,
}

pub(super) fn runs(text: &str) -> Runs {
    let is_table = text.contains("Sequential Output") && text.contains("-Per Chr-");
    let of_small_files = text.contains("Sequential Create") && text.contains("%CP");
    if !(is_table || of_small_files) {
        return None;
    }
    let mut tables: Vec<Table> = Vec::new();
    let mut half = None;
    for line in text.lines() {
        if let Some((version, which)) = heading(line) {
            if which == Half::Bulk || tables.last().is_none_or(|table| table.files.is_some()) {
                tables.push(Table { version: version.to_owned(), ..Table::default() });
            }
            half = Some(which);
        } else if let (Some(half), Some(table)) = (half, tables.last_mut()) {
            row(table, half, line);
        }
    }
    tables.retain(|table| table.has_row);
    if tables.is_empty() {
        let why = "its line of comma-separated values is missing, which bonnie++ prints last, and no row of its table \
                   has all \
                   columns";
        return Some(Err(malformed(TOOL, why)));
    }
    Some(tables.into_iter().map(run).collect())
}

/// The version, which only the first half shows in bonnie++ 1.03.
fn heading(line: &str) -> Option<(&str, Half)> {
    let half = match line {
        _ if line.contains("Sequential Output--") => Half::Bulk,
        _ if line.contains("Sequential Create--") => Half::Small,
        _ => return None,
    };
    let version = line.trim_start().strip_prefix("Version").map(str::trim_start).unwrap_or_default();
    Some((version.split_whitespace().next().filter(|word| !word.starts_with('-')).unwrap_or_default(), half))
}

fn row(table: &mut Table, half: Half, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.first() == Some(&"Latency") && words.len() == LATENCY_WORDS {
        if table.awaits_latencies.take() != Some(half) {
            return;
        }
        let names: Vec<&str> = if half == Half::Bulk { BULK.map(|(name, _)| name).to_vec() } else { SMALL.to_vec() };
        names.iter().zip(&words[1..]).for_each(|(name, word)| table.phases.longest(name, word));
        return;
    }
    let (count, before) = if half == Half::Bulk { (BULK_WORDS, 2) } else { (SMALL_WORDS, 1) };
    if words.len() >= SMALL_WORDS {
        table.awaits_latencies = None;
    }
    let is_heading = line.contains("/sec %CP");
    let expects_row = std::mem::replace(&mut table.expects_row, is_heading);
    let is_new = if half == Half::Bulk { table.size.is_none() } else { table.files.is_none() };
    let is_size =
        |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with(['K', 'M', 'G', 'T', 'k']);
    if half == Half::Bulk && !words.get(1).is_some_and(|word| is_size(word.split(':').next().unwrap_or_default())) {
        return;
    }
    if !expects_row || words.len() != count || !is_new || !words[before..].iter().all(|word| value(word).is_some()) {
        return;
    }
    (table.has_row, table.awaits_latencies) = (true, Some(half));
    let rates = words[before..].iter().step_by(2);
    if half == Half::Bulk {
        table.size = Some(words[1].to_owned());
        for ((name, in_kib), word) in BULK.into_iter().zip(rates) {
            table.phases.rate(name, value(word).unwrap_or(word), in_kib.then(|| factor(word)));
        }
    } else {
        table.files = Some(words[0].to_owned());
        SMALL.into_iter().zip(rates).for_each(|(name, word)| table.phases.rate(name, word, None));
    }
}

/// The number without its unit: bonnie++ 2 writes `2264k` and `1.2m`.
fn value(word: &str) -> Option<&str> {
    let digits = word.trim_end_matches(['k', 'm', 'g', '%']);
    (word.starts_with("++") || finite(digits).is_some()).then_some(digits)
}

/// Bytes of a unit; KiB without one.
fn factor(word: &str) -> f64 {
    match word.chars().last() {
        Some('m') => 1024.0 * 1024.0,
        Some('g') => 1024.0 * 1024.0 * 1024.0,
        _ => 1024.0,
    }
}

fn run(table: Table) -> Result<crate::figures::RunFigures, crate::foreign::ForeignError> {
    let facts = [("bonnie++ version", Some(table.version)), ("file size", table.size), ("small files", table.files)];
    let facts = facts.into_iter().filter_map(|(what, value)| Some(Fact::new(what, value?)));
    table.phases.run(facts.filter(|fact| !fact.value.is_empty()).collect())
}
