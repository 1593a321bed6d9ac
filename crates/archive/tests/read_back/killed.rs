//! A writer killed at any moment: everything up to its last acknowledged flush reads back.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::scenario::{Step, description, moment, options, rows_in, rows_of};
use archive::{FlushState, Run, RunState, Writer, WriterOptions};
use tempfile::tempdir;

const CHILD_DIRECTORY: &str = "STALLSCOPE_TEST_WRITE_TO";
/// Whether tables of some rows count as flooded.
const CHILD_FLOODED: &str = "STALLSCOPE_TEST_FLOODED";

/// Not a test by itself: what the killed process does. It says `flushed N` after each flush.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Ok(dir) = std::env::var(CHILD_DIRECTORY) else { return };
    let direct_after_bytes = if std::env::var_os(CHILD_FLOODED).is_some() { 400 } else { usize::MAX };
    let options = WriterOptions { direct_after_bytes, ..options(3) };
    let mut writer = Writer::create(Path::new(&dir), &description(), options).unwrap();
    for step in 0.. {
        Step::number(step).write(&mut writer);
        assert_eq!(writer.flush(moment(step)), FlushState::Whole);
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nflushed {}", step + 1).unwrap();
        out.flush().unwrap();
    }
}

/// Starts a writer, kills it after a while, and returns how many flushes it acknowledged.
fn write_and_kill(dir: &Path, flooded: bool, after: Duration) -> u32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(CHILD_DIRECTORY, dir)
        .envs(flooded.then_some((CHILD_FLOODED, "1")))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acknowledged = |line: String| line.strip_prefix("flushed ").and_then(|steps| steps.parse().ok());
    let first = lines.by_ref().map_while(Result::ok).find_map(acknowledged);
    std::thread::spawn(move || {
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    lines.map_while(Result::ok).filter_map(acknowledged).last().or(first).expect("the child wrote")
}

#[test]
fn a_killed_run_reads_back_to_its_last_flush() {
    for round in 0..40 {
        let base = tempdir().unwrap();
        let dir = base.path().join("run");
        let acknowledged = write_and_kill(&dir, false, Duration::from_micros(round * 737));
        let run = Run::open(&dir).unwrap();
        let rows = rows_in(&run);
        let steps = rows.samples.len() as u32;
        assert!(steps >= acknowledged, "round {round}: {steps} of {acknowledged} flushes read back");
        assert_eq!(rows, rows_of(steps), "round {round}");
        let report = run.check();
        assert!(report.lost.is_empty(), "round {round}: {report:?}");
        assert_ne!(report.state, RunState::Closed);
    }
}

/// A flooded table's batch is live a moment before the rest of its flush is.
#[test]
fn a_flooded_run_that_is_killed_reads_back_to_its_last_flush_and_at_most_a_part_of_the_next() {
    for round in 0..40 {
        let base = tempdir().unwrap();
        let dir = base.path().join("run");
        let acknowledged = write_and_kill(&dir, true, Duration::from_micros(round * 737));
        let run = Run::open(&dir).unwrap();
        let rows = rows_in(&run);
        let steps = rows.samples.len() as u32;
        assert!(steps >= acknowledged, "round {round}: {steps} of {acknowledged} flushes read back");
        assert!(
            rows_of(steps).are_among(&rows) && rows.are_among(&rows_of(steps + 1)),
            "round {round}: {steps} flushes"
        );
        assert!(run.check().lost.is_empty(), "round {round}");
    }
}
