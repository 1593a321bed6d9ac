use std::fs;
use std::path::Path;

use model::run::RunDescription;
use model::time::Moment;

use super::{Lake, MARKER, STAGING, runs_of};
use crate::{Contents, CounterMinutes, IntervalMinutes, LakeError, MINUTE_NS, RunKey, RunRow, run_id};

/// 2026-11-23 00:00 UTC.
const MIDNIGHT_NS: i64 = 1_795_392_000_000_000_000;

/// A run that began two minutes before midnight, with a counter in each of four minutes.
fn contents(host: &str) -> Contents {
    let started = Moment { monotonic_ns: 5, wall_ns: MIDNIGHT_NS - 2 * MINUTE_NS };
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
        stalls: None,
        stall_ns: None,
    };
    let mut minutes = CounterMinutes::default();
    (0..4).for_each(|minute| minutes.add(started.wall_ns + minute * MINUTE_NS, minute as f64));
    let counters = minutes.rows("vmstat.nr_dirty", "", "pages").collect();
    Contents::new(key, run, Vec::new(), IntervalMinutes::default(), counters).unwrap()
}

fn files(lake: &Path) -> Vec<String> {
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

#[test]
fn a_run_over_midnight_is_in_two_days_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/lake");
    let contents = contents("a/b");
    let lake = Lake::open_or_create(&path).unwrap();
    assert!(!lake.has(&contents).unwrap());
    assert!(lake.add(&contents).unwrap() > 0);
    let run = &contents.key.run;
    let expected = [
        MARKER.to_owned(),
        format!("table=counters/date=2026-11-22/host=a%2Fb/{run}.parquet"),
        format!("table=counters/date=2026-11-23/host=a%2Fb/{run}.parquet"),
        format!("table=runs/date=2026-11-22/host=a%2Fb/{run}.parquet"),
    ];
    assert_eq!(files(&path), expected);
    drop(lake);
    let lake = Lake::open_or_create(&path).unwrap();
    assert!(lake.has(&contents).unwrap());
    lake.add(&contents).unwrap();
    assert_eq!(files(&path), expected);
    // Of several runs in a file under another name each counts.
    fs::rename(path.join(&expected[3]), path.join("table=runs/date=2026-11-22/host=a%2Fb/more.parquet")).unwrap();
    assert!(lake.has(&contents).unwrap());
    assert_eq!(runs_of(&path.join(&expected[1])).unwrap(), [run.as_str()]);
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(MARKER), "").unwrap();
    fs::create_dir(folder.path().join(STAGING)).unwrap();
    fs::write(folder.path().join(STAGING).join("0"), "PAR1").unwrap();
    Lake::open_or_create(folder.path()).unwrap();
    assert_eq!(files(folder.path()), [MARKER]);
    assert_eq!(fs::read_to_string(folder.path().join(MARKER)).unwrap(), "{\"stallscope_lake\":1}\n");
}

#[test]
fn another_directory_or_version_is_refused() {
    let check = |file: &str, text: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        let error = Lake::open_or_create(folder.path()).unwrap_err();
        assert!(!matches!(error, LakeError::Io { .. }) && error.to_string().contains(expected), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), text);
    };
    check("letter", "mine", "neither empty nor a lake");
    check(MARKER, "{\"stallscope_lake\":2}", "schema version 2");
    check(MARKER, "{\"stallscope_lake\":\"1\"}", "no number");
    check(MARKER, "nonsense", "no number");
}
