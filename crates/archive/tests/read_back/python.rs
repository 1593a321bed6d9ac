//! `docs/FORMAT.md` is sufficient to read a run from Python: the script uses nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scenario::{METRICS, Step, moment, options, rows_of, skip, write_steps};
use model::latency::range_of;
use serde_json::{Value, json};
use tempfile::tempdir;

const STEPS: u32 = 11;

/// A Python with pyarrow; `Err` says why there is none.
fn python() -> Result<PathBuf, String> {
    let python = PathBuf::from(std::env::var_os("STALLSCOPE_PYTHON").unwrap_or_else(|| "python3".into()));
    match Command::new(&python).args(["-c", "import pyarrow"]).output() {
        Ok(output) if output.status.success() => Ok(python),
        Ok(_) => Err(format!("{} has no pyarrow; set STALLSCOPE_PYTHON to a Python with pyarrow", python.display())),
        Err(error) => Err(format!("{}: {error}", python.display())),
    }
}

fn read(python: &Path, dir: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/read_run.py");
    let output =
        Command::new(python).arg(script).arg(dir).args(["--metric", "vmstat.field_4", "--class", "read"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Value of metric 4 at each sample, from its changes.
fn series() -> Vec<Option<i64>> {
    let changed = |step| Step::number(step).changes.into_iter().find(|change| change.metric.0 == 4);
    let latest = |value: &mut Option<i64>, step| {
        *value = changed(step).map_or(*value, |change| change.value);
        Some(*value)
    };
    (0..STEPS).scan(None, latest).collect()
}

/// Upper bound of the bucket that holds the class's median.
fn median() -> u64 {
    let intervals = (0..STEPS).flat_map(|step| Step::number(step).intervals);
    let mut buckets: Vec<_> =
        intervals.filter(|interval| interval.class == "read").flat_map(|interval| interval.buckets).collect();
    buckets.sort_by_key(|bucket| bucket.index);
    let half = buckets.iter().map(|bucket| bucket.count).sum::<u64>().div_ceil(2);
    let reached = buckets.iter().scan(0, |seen, bucket| {
        *seen += bucket.count;
        Some((*seen, bucket.index))
    });
    let (_, index) = reached.filter(|(seen, _)| *seen >= half).min().unwrap();
    range_of(index).1
}

#[test]
fn python_reads_a_cut_off_run_and_a_closed_one_alike() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let dir = tempdir().unwrap();
    let expected = rows_of(STEPS);
    let rows = json!({
        "descriptors": METRICS, "samples": STEPS, "metrics": expected.changes.len(),
        "intervals": expected.intervals.len(), "operations": expected.operations.len(),
        "stalls": expected.stalls.len(), "stacks": expected.stacks.len(), "requests": expected.requests.len(),
        "request_intervals": expected.request_intervals.len(), "tasks": expected.tasks.len(),
        "usage": expected.usage.len(),
        "user_stacks": expected.user_stacks.len(), "user_frames": expected.user_frames.len(),
    });
    let cut_off = dir.path().join("cut-off");
    drop(write_steps(&cut_off, STEPS, options(4)));
    let closed = dir.path().join("closed");
    write_steps(&closed, STEPS, options(4)).close(moment(STEPS)).unwrap();
    for run in [cut_off, closed] {
        let summary = read(&python, &run);
        assert_eq!(summary["rows"], rows);
        assert_eq!(summary["events"], json!(["phase_started"]));
        assert_eq!(summary["series"], json!(series()));
        assert_eq!(summary["percentiles"]["50"], json!(median()));
    }
}

#[test]
fn python_reads_the_moments_of_a_request_and_the_frames_of_a_stack() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let dir = tempdir().unwrap();
    write_steps(dir.path(), STEPS, options(4)).close(moment(STEPS)).unwrap();
    let program = "import json, pyarrow, sys; \
                   rows = lambda name: \
                   pyarrow.ipc.open_stream(f'{sys.argv[1]}/{name}-0000.arrows').read_all().to_pylist(); \
                   full = rows('requests')[5]; bare = rows('requests')[4]; \
                   print(json.dumps([full['request'], full['completed_ns'] - full['queued_before_ns'], full['kind'], \
                   full['device'], \
                   full['in_flight'], full['throttled'], bare['queued_before_ns'], rows('stacks')[2]['frames']]))";
    let output = Command::new(&python).args(["-c", program]).arg(dir.path()).output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let traced = Step::number(2).traced;
    let full = &traced.requests[1];
    let frames = &traced.stacks[0].frames;
    assert_eq!(printed, json!([full.request, full.queued_ns, "FWFS", "7,3", "R445 RM22", true, null, frames]));
}

#[test]
fn a_closed_table_opens_as_a_plain_arrow_stream() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let dir = tempdir().unwrap();
    write_steps(dir.path(), STEPS, options(4)).close(moment(STEPS)).unwrap();
    let program = "import pyarrow, sys; table = pyarrow.ipc.open_stream(sys.argv[1]).read_all(); \
                   print(table.num_rows, table.schema.field('sample').metadata[b'unit'].decode())";
    let output = Command::new(&python).args(["-c", program]).arg(dir.path().join("metrics-0000.arrows")).output();
    let output = output.unwrap();
    let expected = format!("{} ordinal\n", rows_of(STEPS).changes.len());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
}
