use std::fs;

use super::{Lake, MARKER, STAGING};
use crate::LakeError;
use crate::files::runs_of;
use crate::samples::{contents, files};

#[test]
fn a_run_over_midnight_is_in_two_days_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/lake");
    let contents = contents("a/b", -2);
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
    assert_eq!(runs_of(&path.join(&expected[1])).unwrap(), [run.clone()].into());
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
