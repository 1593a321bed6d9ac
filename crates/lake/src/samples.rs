//! Contents of runs, for tests.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use arrow_array::cast::AsArray;
use model::run::RunDescription;
use model::time::Moment;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::contents::Contents;
use crate::table::RunKey;
use crate::tables::counters::CounterMinutes;
use crate::tables::intervals::IntervalMinutes;
use crate::tables::runs::RunRow;
use crate::time::{MINUTE_NS, run_id};

/// 2026-11-23 00:00 UTC.
const MIDNIGHT_NS: i64 = 1_795_392_000_000_000_000;

/// A run that began some minutes after that midnight, or before it, with a counter in each of four minutes.
pub(crate) fn contents(host: &str, minute: i64) -> Contents {
    let started = Moment { monotonic_ns: 5, wall_ns: MIDNIGHT_NS + minute * MINUTE_NS };
    let mut description = RunDescription::new("record", started);
    description.host.hostname = host.to_owned();
    let key = RunKey { run: run_id(&description, None), host: host.to_owned(), kernel: "6.18".into(), complete: true };
    let run = RunRow {
        description,
        path: "/runs/a".into(),
        end_wall_ns: None,
        closed: true,
        damage: 0,
        lost: 0,
        untraced: Vec::new(),
        stalls: None,
        stall_ns: None,
        unfinished: None,
        longest_unfinished_ns: None,
    };
    let mut minutes = CounterMinutes::default();
    (0..4).for_each(|minute| minutes.add(started.wall_ns + minute * MINUTE_NS, minute as f64));
    let counters = minutes.rows("vmstat.nr_dirty", "", "pages").collect();
    Contents::new(key, run, Vec::new(), IntervalMinutes::default(), counters).unwrap()
}

/// Paths of all files below a directory.
pub(crate) fn files(lake: &Path) -> Vec<String> {
    fn walk(folder: &Path, lake: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => walk(&path, lake, found),
                path => found.push(path.strip_prefix(lake).unwrap().display().to_string()),
            }
        }
    }
    let mut found = Vec::new();
    walk(lake, lake, &mut found);
    found.sort();
    found
}

/// Rows of each run in a partition, as an engine reads them without a lock: list, then open. A directory that is
/// missing has no rows, for engines that list from above; a file that was listed and is missing is an error.
pub(crate) fn rows(partition: &Path) -> io::Result<BTreeMap<String, usize>> {
    let mut rows = BTreeMap::new();
    let entries = fs::read_dir(partition).into_iter().flatten();
    let paths: Vec<_> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    for path in paths {
        let read = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).unwrap().build().unwrap();
        for batch in read.map(Result::unwrap) {
            let runs = batch.column_by_name("run").unwrap().as_string::<i32>();
            runs.iter().flatten().for_each(|run| *rows.entry(run.to_owned()).or_default() += 1);
        }
    }
    Ok(rows)
}
