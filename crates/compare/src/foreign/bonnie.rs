//! bonnie++'s line of comma-separated values, in all formats: 1.03 (27 fields), 1.96 and 1.97 (48; 47 where only small
//! files were tested), 1.98 (50, of bonnie++ 2). A line is a run. Without such a line, its table.

mod phases;
mod table;

use super::error::{ForeignError, Runs, malformed};
use super::text::finite;
use crate::figures::{Fact, RunFigures};
use phases::{BULK, Phases, SMALL, TOOL};

/// Fields of a line of bonnie++ 1.03, which has no format number: `name,size`, bulk, files, small files.
const FIELDS_OF_103: usize = 27;

/// Where a format has what.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// First field of the large file's phases; `None` where they were not run and have fewer fields.
    bulk: Option<usize>,
    files: usize,
    small: usize,
    latencies: Option<usize>,
    /// Format and version, name, concurrency, file size, chunk size.
    named: [Option<usize>; 4],
}

impl Layout {
    /// By the number of fields. In the formats with latencies these are the last 12 fields; 12 of small files and 5 of
    /// their parameters precede them.
    fn of(fields: &[&str]) -> Option<Layout> {
        let count = fields.len();
        let new = |bulk: Option<usize>| Layout {
            bulk,
            files: count - 29,
            small: count - 24,
            latencies: Some(count - 12),
            named: [Some(1), Some(3), Some(5), Some(6)],
        };
        match (fields[0], count) {
            ("1.96" | "1.97", 48) => Some(new(Some(7))),
            // Without the large file one field fewer; its fields are empty.
            ("1.96" | "1.97", 47) if fields[5..18].iter().all(|field| field.is_empty()) => Some(new(None)),
            ("1.98", 50) => Some(new(Some(9))),
            ("1.96" | "1.97" | "1.98", _) => None,
            (_, FIELDS_OF_103) => Some(Layout {
                bulk: Some(2),
                files: 14,
                small: 15,
                latencies: None,
                named: [None, None, Some(1), None],
            }),
            _ => None,
        }
    }
}

pub(super) fn runs(text: &str) -> Runs {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.trim().split(',').collect()).collect();
    let lines: Vec<&Vec<&str>> = lines.iter().filter(|fields| is_new(fields) || is_103(fields)).collect();
    if lines.is_empty() {
        return table::runs(text);
    }
    Some(lines.into_iter().map(|fields| run(fields)).collect())
}

fn is_new(fields: &[&str]) -> bool {
    ["1.96", "1.97", "1.98"].contains(&fields[0]) && fields.len() >= 20
}

/// Its line has nothing to recognize it by but its shape: every field after the size is a number, `+++`, or empty.
fn is_103(fields: &[&str]) -> bool {
    let is_value = |field: &&str| field.is_empty() || field.starts_with("++") || finite(field).is_some();
    fields.len() == FIELDS_OF_103
        && fields[2..].iter().enumerate().all(|(at, field)| is_value(field) || (at == 12 && field.contains(':')))
        && fields[2..].iter().filter(|field| finite(field).is_some()).count() >= 6
}

fn run(fields: &[&str]) -> Result<RunFigures, ForeignError> {
    let Some(layout) = Layout::of(fields) else {
        let why =
            format!("its line has {} fields; format {} has 48 (50 in 1.98): was it cut?", fields.len(), fields[0]);
        return Err(malformed(TOOL, why));
    };
    let mut phases = Phases::default();
    if let Some(bulk) = layout.bulk {
        for (at, (name, in_kib)) in BULK.into_iter().enumerate() {
            phases.rate(name, fields[bulk + 2 * at], if in_kib { Some(1024.0) } else { None });
        }
    }
    for (at, name) in SMALL.into_iter().enumerate() {
        phases.rate(name, fields[layout.small + 2 * at], None);
    }
    if let Some(latencies) = layout.latencies {
        for (at, name) in BULK.iter().map(|(name, _)| *name).chain(SMALL).enumerate() {
            phases.longest(name, fields[latencies + at]);
        }
    }
    let named = ["bonnie++ version", "concurrency", "file size", "chunk size"].into_iter().zip(layout.named);
    let facts = named.chain([("small files", Some(layout.files))]);
    let facts = facts.filter_map(|(what, at)| Some(Fact::new(what, fields[at?])));
    phases.run(facts.filter(|fact| !fact.value.is_empty()).collect())
}
