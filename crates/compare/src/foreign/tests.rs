//! Real output of the tools (fio 3.33, fs_mark 3.3, bonnie++ 2.00a; simoop's lines are from its documentation), output
//! as people paste it, and arbitrary text.

mod columns;
mod fio_forms;
mod pasted;
mod tables;

use proptest::prelude::*;

use super::foreign_runs;
use crate::{Amount, RunFigures};
use statistics::Steadiness;

const FIO: &str = include_str!("samples/fio.json");
const FS_MARK: &str = include_str!("samples/fs_mark.txt");
const SIMOOP: &str = include_str!("samples/simoop.txt");
const BONNIE: &str = include_str!("samples/bonnie.txt");

fn value(run: &RunFigures, name: &str) -> f64 {
    let found = run.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", run.metrics)).amount.value().unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected, "{found} is not {expected}");
}

fn fact<'a>(run: &'a RunFigures, what: &str) -> Option<&'a str> {
    run.facts.iter().find(|fact| fact.what == what).map(|fact| fact.value.as_str())
}

fn names(run: &RunFigures) -> Vec<&str> {
    run.metrics.iter().map(|metric| metric.name.as_str()).collect()
}

#[test]
fn fio_with_text_before_and_after_its_json() {
    let runs = foreign_runs("a.json", FIO).unwrap();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!(run.name, "a.json");
    close(value(run, "read.per_s"), 505713.286713);
    close(value(run, "write.bytes_per_s"), 2076987076.0);
    close(value(run, "read.p99"), 1048.0);
    close(value(run, "read.p999"), 1416.0);
    assert!(value(run, "fsync.p50") > 0.0 && value(run, "fsync.per_s") > 0.0);
    assert!(!names(run).iter().any(|name| name.starts_with("trim")), "a direction without I/O is absent");
    assert_eq!((fact(run, "fio rw"), fact(run, "fio directory")), (Some("randrw"), None));
    assert!(run.cautions.is_empty());
}

#[test]
fn only_time_based_jobs_have_a_measured_time() {
    let job = |options: &str| {
        let read = r#""read": {"total_ios": 10, "runtime": 2000, "iops": 5.0, "bw_bytes": 100}"#;
        format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "x", "job_runtime": 2000, "job options": {{{options}}}, {read}}}]}}"#
        )
    };
    let of_job = |options: &str| foreign_runs("x", &job(options)).unwrap()[0].measured_ns;
    assert_eq!(of_job(r#""time_based": "", "runtime": "2""#), Some(2_000_000_000));
    assert_eq!(of_job(r#""size": "1g""#), None);
}

#[test]
fn fio_of_several_jobs() {
    let job = |name: &str, error: u32| {
        let clat = r#""clat_ns": {"percentile": {"99.000000": 5000}}"#;
        let read = format!(r#""read": {{"total_ios": 1000, "iops": 100.0, "bw_bytes": 4096, {clat}}}"#);
        format!(r#"{{"jobname": "{name}", "error": {error}, "job_runtime": 2000, {read}}}"#)
    };
    let document = |jobs: &[String]| format!("{{\n\"fio version\": \"fio-3.33\", \"jobs\": [{}]}}", jobs.join(","));
    let one = |jobs: &[String]| foreign_runs("x", &document(jobs)).unwrap().remove(0);

    let same = one(&[job("t", 0), job("t", 0)]);
    assert_eq!(names(&same), ["read.per_s", "read.bytes_per_s"]);
    close(value(&same, "read.per_s"), 200.0);
    assert!(same.cautions[0].contains("--group_reporting"));

    let different = one(&[job("db", 0), job("log", 5)]);
    assert_eq!(names(&different)[..3], ["db.read.per_s", "db.read.bytes_per_s", "db.read.p99"]);
    assert!(different.cautions[0].contains("error"));
}

/// 4000, 4000 and 4000 files at those rates; then an invocation with -v.
#[test]
fn fs_mark_twice_in_a_file() {
    let runs = foreign_runs("out", FS_MARK).unwrap();
    let [plain, verbose] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!((plain.name.as_str(), verbose.name.as_str()), ("out #1", "out #2"));
    let rates = [191811.1, 202492.7, 203348.4];
    close(value(plain, "files_per_s"), 12000.0 / rates.iter().map(|rate| 4000.0 / rate).sum::<f64>());
    assert_eq!(names(plain), ["files_per_s"]);
    close(value(verbose, "create.mean"), 4000.0);
    close(value(verbose, "create.max"), 33000.0);
    assert!(!names(verbose).contains(&"unlink.mean"), "it did not unlink");
    assert_eq!(fact(plain, "fs_mark version and threads"), Some("3.3, 2"));
    assert_eq!(plain.steadiness, Steadiness::TooShort { intervals: 3 });
    assert_eq!(verbose.steadiness, Steadiness::TooShort { intervals: 2 });
}

#[test]
fn simoop_after_its_warm_up() {
    let twice = format!("{SIMOOP}{}", SIMOOP.replace("8.77", "11.16"));
    let runs = foreign_runs("log", &twice).unwrap();
    let [before, after] = &runs[..] else { panic!("{runs:?}") };
    close(value(before, "read.p99"), 36_896_768e3);
    close(value(before, "allocation.p99"), 36_110_336e3);
    assert_eq!((value(before, "work_per_s"), value(after, "work_per_s")), (8.77, 11.16));
    let stalls = before.metrics.iter().find(|metric| metric.name == "alloc_stalls_per_s").unwrap();
    assert_eq!(stalls.amount, Amount::Count { events: 149_340.0, over: 3623.0 });
    assert_eq!(before.steadiness, Steadiness::TooShort { intervals: 2 });
    let still_going = SIMOOP.split("Final stats").next().unwrap();
    close(value(&foreign_runs("log", still_going).unwrap()[0], "work_per_s"), 8.77);
}

#[test]
fn bonnie_omits_phases_that_were_too_short() {
    let run = &foreign_runs("out", BONNIE).unwrap()[0];
    close(value(run, "put.bytes_per_s"), 2264.0 * 1024.0);
    close(value(run, "rewrite.max"), 52_000.0);
    close(value(run, "delete-random.max"), 3_899_000.0);
    assert!(!names(run).contains(&"write.bytes_per_s"));
    assert!(run.cautions[0].contains("write, rewrite"), "{:?}", run.cautions);
    assert_eq!((fact(run, "file size"), fact(run, "small files")), (Some("64M"), Some("16")));
    let old = "1.97,1.97,host,1,1369934872,64G,,743,99,123456,20,65432,15,1480,99,234567,22,345.6,10,16,,,,,21000,50,\
               +++++,+++,31000,60,22000,55,+++++,+++,32000,61,11ms,12ms,13ms,14us,15ms,1s,1us,2us,3us,4us,5us,6us";
    let old = &foreign_runs("out", old).unwrap()[0];
    close(value(old, "rewrite.bytes_per_s"), 65432.0 * 1024.0);
    close(value(old, "seeks.per_s"), 345.6);
    close(value(old, "create.per_s"), 21000.0);
    close(value(old, "seeks.max"), 1e9);
}

#[test]
fn unknown_text_is_refused() {
    let refused = |text: &str| foreign_runs("x", text).unwrap_err().to_string();
    assert!(refused("").contains("neither a run directory"));
    assert!(refused("hello").contains("fs_mark"));
    assert!(refused("{\n \"fio version\": \"fio-3.33\",").contains("truncated or invalid"));
    assert!(refused("{\n \"fio version\": \"fio-3.33\"}").contains("no 'jobs'"));
    assert!(refused("FSUse%        Count         Size    Files/sec     App Overhead\n").contains("no row"));
    assert!(refused("Version 2.00a ------Sequential Output------\n -Per Chr- --Block--").contains("values"));
    assert!(refused("Read latency (p50: 1)\nwork rate = \n").contains("warm-up"));
}

/// A sample with some bytes changed, lines removed or the end truncated.
fn damaged() -> impl Strategy<Value = String> {
    let sample = proptest::sample::select(vec![FIO, FS_MARK, SIMOOP, BONNIE]);
    let change = (
        any::<prop::sample::Index>(),
        prop_oneof![Just(""), Just("-"), Just("1e999"), Just("NaN"), Just("9"), Just("\n"), Just(",")],
    );
    (sample, prop::collection::vec(change, 0..8), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(sample, changes, end, is_cut)| {
            let mut text: Vec<char> = sample.chars().collect();
            for (at, with) in changes {
                let at = at.index(text.len());
                text.splice(at..=at, with.chars());
            }
            let end = if is_cut { end.index(text.len() + 1) } else { text.len() };
            text[..end].iter().collect()
        },
    )
}

proptest! {
    /// For any text there is a result, and every figure in it is comparable.
    #[test]
    fn damaged_output_is_an_error_or_has_sound_figures(text in damaged()) {
        if let Ok(runs) = foreign_runs("x", &text) {
            prop_assert!(!runs.is_empty());
            let group = crate::Group { name: "a".into(), runs, ..Default::default() };
            for metric in &crate::compare(&group, &[&group], Default::default())[0].metrics {
                prop_assert!(metric.a.iter().all(|value| value.is_finite() && *value >= 0.0), "{metric:?}");
            }
        }
    }

    #[test]
    fn any_text_has_an_answer(text in "(\\PC|\n){0,200}") {
        let _ = foreign_runs("x", &text);
        let _ = foreign_runs("x", &format!("{FIO}{text}"));
    }
}
