//! The statements of `fleet/sql` give the same answers on all engines that this machine has (`engines.py`): DataFusion,
//! DuckDB, Spark on two executors, and a cluster of Ballista. Without at least two of them nothing is tested.

mod s3 {
    pub(crate) mod lake;
}

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array};
use s3::lake::{lake, write_on};
use statistics::SplitMix64;

const FINGERPRINTS: [&str; 4] = ["00ab00ab00ab00ab", "11cd11cd11cd11cd", "22ef22ef22ef22ef", "33aa33aa33aa33aa"];
const CAUSES: [&str; 4] = ["device", "lock", "dirty_throttling", "journal_commit"];
const KERNELS: [&str; 3] = ["6.1.90", "6.12.8", "6.18.4"];
/// 2026-11-05 00:00 UTC; some days lie before the border of the questions, some after it.
const FIRST_US: i64 = 1_793_836_800_000_000;
const DAY_US: i64 = 86_400_000_000;
const DAYS: i64 = 8;
const HOSTS: u64 = 9;
const STALLS: usize = 40;

/// More hosts, kernels, issues and days than the small lake has, some stalls in two runs, and values that are null.
fn fleet(folder: &Path) {
    lake(folder);
    let mut random = SplitMix64::of(20_261_127);
    for (host, day) in (0..HOSTS).flat_map(|host| (0..DAYS).map(move |day| (host, day))) {
        let (name, date) = (format!("db-{host}"), format!("2026-11-{:02}", 5 + day));
        let run = format!("{}T000000Z-{host:016x}", date.replace('-', ""));
        let mut pick = |of: usize| random.below(of);
        let which: Vec<usize> = (0..STALLS).map(|_| pick(CAUSES.len())).collect();
        let text = |value: &dyn Fn(usize) -> Option<&'static str>| -> ArrayRef {
            Arc::new(StringArray::from(which.iter().map(|&issue| value(issue)).collect::<Vec<_>>()))
        };
        let starts = (0..STALLS as i64).map(|at| FIRST_US + day * DAY_US + at * 1_000_000);
        let durations: Vec<u64> = (0..STALLS).map(|_| 1_000_000 + pick(9_000_000_000) as u64).collect();
        let kernel = KERNELS[host as usize % KERNELS.len()];
        let stalls = [
            ("run", Arc::new(StringArray::from(vec![run.as_str(); STALLS])) as ArrayRef),
            ("kernel", text(&|_| Some(kernel))),
            ("start_utc", Arc::new(TimestampMicrosecondArray::from(starts.collect::<Vec<_>>()))),
            ("tid", Arc::new(UInt32Array::from((0..STALLS as u32).map(|at| at % 7).collect::<Vec<_>>()))),
            ("task", text(&|_| Some("postgres"))),
            ("operation", text(&|issue| Some(["fsync", "read"][issue % 2]))),
            ("duration_ns", Arc::new(UInt64Array::from(durations))),
            ("main_cause", text(&|issue| Some(CAUSES[issue]))),
            ("chain", text(&|issue| Some(CAUSES[issue]))),
            ("lock", text(&|issue| (issue == 1).then_some("inode lock of a file"))),
            ("file_system", text(&|issue| Some(["xfs", "ext4"][issue / 2]))),
            ("device_model", text(&|issue| (issue != 3).then_some("WDC"))),
            ("blocker_task", text(&|issue| (issue != 0).then_some("kworker"))),
            ("fingerprint", text(&|issue| Some(FINGERPRINTS[issue]))),
        ];
        write_on(folder, "stalls", (&date, &name), &run, &stalls);
        if day == 3 {
            // A flight recorder may save a moment twice.
            write_on(folder, "stalls", (&date, &name), &format!("{run}-again"), &stalls);
        }
        let start: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![FIRST_US + day * DAY_US]));
        let own = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
        let runs = [("run", own(&run)), ("kernel", own(kernel)), ("start_utc", start), ("path", own("/runs/a"))];
        write_on(folder, "runs", (&date, &name), &run, &runs);
    }
}

#[test]
fn all_engines_give_the_same_answers() {
    let python = std::env::var_os("STALLSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
    let has = Command::new(&python).args(["-c", "import datafusion, duckdb, pyarrow"]).output();
    if !has.is_ok_and(|has| has.status.success()) {
        println!(
            "skipped: 1 test of engines needs Python with datafusion and duckdb, and tries pyspark; name one in \
             STALLSCOPE_PYTHON"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fleet(folder.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines.py");
    let words = ["--repeat", "1", "--fingerprint", FINGERPRINTS[1]];
    let ended = Command::new(&python).arg(script).arg(folder.path()).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    println!("{said}");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    for line in said.lines().filter(|line| line.contains(": left out: ")) {
        println!("skipped: {line}");
    }
    // Nine questions, each with rows.
    let rows: Vec<u64> = said.lines().filter_map(|line| line.split('|').nth(2)?.trim().parse().ok()).collect();
    assert!(rows.len() == 9 && rows.iter().all(|rows| *rows > 0), "{said}");
}
