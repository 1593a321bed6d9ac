//! Time that slow operations lost as stacks: equal sums in all formats, read by pprof where Go is installed.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{export, output_of, recorded};
use crate::stage::{folder, is_root, run};

/// The time that slow operations lost, by the explanation: all but what their own tasks ran.
fn lost_ns(run_directory: &Path) -> u64 {
    let ended = run(&format!("explain --json {}", run_directory.display())).expect_code(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let causes = document["causes"].as_array().unwrap();
    let waits = causes.iter().filter(|cause| cause["cause"] != "running");
    waits.map(|cause| cause["time_ns"].as_u64().unwrap()).sum()
}

#[test]
fn stacks_hold_all_time_that_was_lost_in_each_format() {
    if !is_root("recording stacks of waits") {
        return;
    }
    let folder = folder();
    let run = recorded(folder.path());
    let file = |format: &str| {
        let path = folder.path().join(format);
        export(&run, format, &path).expect_code(0);
        path
    };
    let folded = std::fs::read_to_string(file("folded")).unwrap();
    let lines = folded.lines().map(|line| line.rsplit_once(' ').unwrap());
    let lines: Vec<(&str, u64)> = lines.map(|(stack, ns)| (stack, ns.parse().unwrap())).collect();
    let sum: u64 = lines.iter().map(|(_, ns)| ns).sum();
    assert!(lines.iter().all(|(stack, _)| stack.ends_with(']') && stack.split(';').count() >= 3));
    assert!(lines.iter().any(|(stack, _)| stack.contains(";-;")), "no kernel stack");
    // What another task ran while an operation waited for it is lost, too, and of the cause `running`.
    let of_running: u64 = lines.iter().filter(|(stack, _)| stack.ends_with(";[running]")).map(|(_, ns)| ns).sum();
    assert_eq!(sum - of_running, lost_ns(&run));
    let speedscope: Value = serde_json::from_slice(&std::fs::read(file("speedscope")).unwrap()).unwrap();
    assert_eq!(speedscope["profiles"][0]["endValue"], sum);
    let pprof = file("pprof");
    if Command::new("go").arg("version").output().is_err() {
        return println!("skipped: reading a profile needs 'go tool pprof'");
    }
    let raw = output_of(Command::new("go").args(["tool", "pprof", "-raw"]).arg(&pprof));
    let samples = raw.lines().skip_while(|line| *line != "waits/count off_cpu/nanoseconds[dflt]");
    // COUNT TIME: LOCATION...
    let time_ns = |line: &str| line.split(':').next()?.split_whitespace().nth(1)?.parse::<u64>().ok();
    let of_pprof: u64 = samples.skip(1).take_while(|line| *line != "Locations").filter_map(time_ns).sum();
    assert_eq!(of_pprof, sum);
}

#[test]
fn a_run_without_a_trace_has_no_stacks() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --no-trace --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    for format in ["folded", "pprof", "speedscope"] {
        let ended = export(&out, format, &folder.path().join("x")).expect_code(2);
        assert!(ended.error().contains("has no trace"), "{}", ended.error());
        assert!(!folder.path().join("x").exists());
    }
}
