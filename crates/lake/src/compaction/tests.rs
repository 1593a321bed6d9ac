use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Compaction;
use crate::contents::Contents;
use crate::directory::Lake;
use crate::samples::{contents, files, rows};

const COUNTERS: &str = "table=counters/date=2026-11-23/host=a";

/// A lake with runs of host `a`, and its counters of 2026-11-23.
fn lake(folder: &Path, minutes: &[i64]) -> (Lake, Vec<Contents>, PathBuf) {
    let lake = Lake::open_or_create(folder).unwrap();
    let runs: Vec<Contents> = minutes.iter().map(|minute| contents("a", *minute)).collect();
    for run in &runs {
        lake.add(run).unwrap();
    }
    (lake, runs, folder.join(COUNTERS))
}

fn expected(runs: &[(&Contents, usize)]) -> BTreeMap<String, usize> {
    runs.iter().map(|(run, rows)| (run.key.run.clone(), *rows)).collect()
}

#[test]
fn files_of_a_partition_become_one_and_their_runs_stay_in_the_lake() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, runs, counters) = lake(folder.path(), &[-2, 10, 20]);
    let all = expected(&[(&runs[0], 2), (&runs[1], 4), (&runs[2], 4)]);
    let before = files(folder.path());
    let planned = lake.compact(true).unwrap();
    assert_eq!(files(folder.path()), before);
    let done = lake.compact(false).unwrap();
    // Counters and runs of the second day; the first day has one run.
    assert_eq!((done.partitions, done.files, done.removed_runs.len(), done.skipped.len()), (2, 5, 0, 0));
    assert!(done.bytes_after > 0 && done.bytes_after < done.bytes_before, "{done:?}");
    assert_eq!(planned, Compaction { bytes_after: 0, ..done });
    assert_eq!((rows(&counters).unwrap(), files(folder.path()).len()), (all, 1 + 2 + 2));
    // A second time nothing happens, and no run is added again.
    let compact = files(folder.path());
    assert_eq!(lake.compact(false).unwrap(), Compaction::default());
    assert_eq!(files(folder.path()), compact);
    assert!(runs.iter().all(|run| lake.has(run).unwrap()));
    assert!(!lake.has(&contents("a", 30)).unwrap());
    // A later run joins what was compacted, under a name that no file had.
    lake.add(&contents("a", 30)).unwrap();
    assert_eq!(lake.compact(false).unwrap().files, 4);
    assert_eq!(rows(&counters).unwrap().values().sum::<usize>(), 14);
    assert!(files(folder.path()).iter().filter(|file| file.contains("compacted-")).all(|file| !compact.contains(file)));
}

#[test]
fn rows_without_a_run_and_copies_go() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, runs, counters) = lake(folder.path(), &[-2, 10]);
    lake.compact(false).unwrap();
    // A crash left the run at 20 without its row in `runs`, and alone on a host's day; the run at 10 was copied back.
    for orphan in [contents("a", 20), contents("b", 20)] {
        lake.add(&orphan).unwrap();
        fs::remove_file(folder.path().join(orphan.run.0.path()).join(format!("{}.parquet", orphan.key.run))).unwrap();
    }
    let copied = tempfile::tempdir().unwrap();
    let (other, ..) = self::lake(copied.path(), &[10]);
    drop(other);
    let name = format!("{}.parquet", runs[1].key.run);
    fs::copy(copied.path().join(COUNTERS).join(&name), counters.join(&name)).unwrap();
    let done = lake.compact(false).unwrap();
    assert_eq!(done.removed_runs.len(), 3, "{done:?}");
    assert_eq!(rows(&counters).unwrap(), expected(&[(&runs[0], 2), (&runs[1], 4)]));
    assert!(!folder.path().join("table=counters/date=2026-11-23/host=b").exists());
    assert_eq!(lake.compact(false).unwrap().partitions, 0);
}

#[test]
fn a_partition_with_something_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, _, counters) = lake(folder.path(), &[10, 20]);
    fs::write(counters.join("notes.txt"), "mine").unwrap();
    let done = lake.compact(false).unwrap();
    assert_eq!((done.skipped, done.partitions), (vec![counters.clone()], 1));
    assert_eq!(fs::read_dir(&counters).unwrap().count(), 3);
}

/// Where a process may die: after a step, the next writer finds every row once, and removes what the dead one left.
#[test]
fn a_crash_after_any_step_loses_nothing() {
    for (table, is_published) in [("runs", false), ("runs", true), ("counters", false), ("counters", true)] {
        let folder = tempfile::tempdir().unwrap();
        let (lake, runs, counters) = lake(folder.path(), &[10, 20]);
        let all = expected(&[(&runs[0], 4), (&runs[1], 4)]);
        let plans = lake.plans(table, "date=2026-11-23", &mut Compaction::default()).unwrap();
        lake.stage(&plans).unwrap();
        if is_published {
            lake.publish_all(&plans).unwrap();
        }
        assert_eq!(rows(&counters).unwrap(), all);
        assert!(runs.iter().all(|run| lake.has(run).unwrap()));
        drop(lake);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        let lake = Lake::open(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        lake.compact(false).unwrap();
        assert_eq!(rows(&counters).unwrap(), all);
        assert!(runs.iter().all(|run| lake.has(run).unwrap()));
        assert_eq!(files(folder.path()).len(), 3);
    }
}

/// Readers without a lock, while runs are added and compacted: what they read holds each row once, or they fail.
#[test]
fn a_reader_sees_each_row_once_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, _, counters) = lake(folder.path(), &[10]);
    let done = AtomicBool::new(false);
    let (mut whole, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for minute in 2..40 {
                lake.add(&contents("a", 10 * minute)).unwrap();
                lake.compact(false).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut seen = 0;
        while !done.load(Ordering::Relaxed) {
            match rows(&counters) {
                Ok(rows) => {
                    assert!(rows.values().all(|count| *count == 4), "{rows:?}");
                    assert!(rows.len() >= seen, "{seen} runs, then {}", rows.len());
                    seen = rows.len();
                    whole += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound);
                    refused += 1;
                }
            }
        }
    });
    println!("{whole} readings, {refused} refused");
    assert!(whole > 0);
    assert_eq!(rows(&counters).unwrap().len(), 39);
}
