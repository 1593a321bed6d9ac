//! What a recording lost before it was written is said by every output, and sets the exit code: each kind of loss, in a
//! run that is made for it.

use std::path::Path;
use std::process::Command;

use archive::{Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::metric::SampleHeader;
use model::run::RunDescription;
use model::stall::{StallKind, StallRecord, TaskRecord, TraceSettings, Traced};
use model::time::Moment;
use serde_json::Value;

use crate::stage::{Running, folder, run};

const SECOND: u64 = 1_000_000_000;

/// A traced run of ten seconds with these events, and an inconsistent stall if `inconsistent`.
fn write(directory: &Path, events: &[RunEvent], inconsistent: bool) {
    let at = |seconds: u64| Moment { monotonic_ns: seconds * SECOND, wall_ns: (seconds * SECOND) as i64 };
    let description = RunDescription {
        sample_interval_ns: SECOND,
        slower_than_ns: SECOND,
        trace: Some(TraceSettings { slow_ns: SECOND, interval_ns: SECOND / 10, all_requests: false }),
        ..RunDescription::new("written", at(1))
    };
    let mut writer = Writer::create(directory, &description, WriterOptions::default()).unwrap();
    for sample in 0..10 {
        let at = at(1 + u64::from(sample));
        writer.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 1, took_ns: 1 }, &[]);
    }
    let mut stall = StallRecord::new(StallKind::OffCpu, 7, 2 * SECOND, 2 * SECOND);
    if inconsistent {
        stall.duration_ns = u64::MAX;
    }
    let task = TaskRecord {
        tid: 7,
        pid: 7,
        name: "dd".into(),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: SECOND,
    };
    writer.traced(&mut Traced { stalls: vec![stall], tasks: vec![task], ..Traced::default() });
    events.iter().for_each(|event| writer.event(event.clone()));
    writer.event(RunEvent::Ended { at_ns: 11 * SECOND, how: Ending::Done });
    writer.close(at(11)).unwrap();
}

fn loss(what: &str) -> RunEvent {
    RunEvent::Loss { what: what.into(), count: 3, at_ns: 5 * SECOND }
}

/// Exit code and output of each command that reads a run, and of `compare` with a whole one.
fn each_command(folder: &Path, lossy: &Path, mut judge: impl FnMut(&str, Option<i32>, &str, &str)) {
    let (path, whole) = (lossy.display(), folder.join("whole"));
    let compared = format!("compare --a {} --b {path}", whole.display());
    for command in [&format!("show {path}"), &format!("explain {path}"), &compared, &format!("top --once {path}")] {
        let json = run(&format!("{command} --json"));
        judge(command, json.code, "json", &json.stdout);
        let text = run(command);
        judge(command, text.code, "text", &text.stdout);
    }
    for (at, command) in [format!("report {path}"), format!("export {path} --to csv")].iter().enumerate() {
        let out = tempfile::tempdir_in(folder).unwrap();
        let ended = run(&format!("{command} -o {}", out.path().join(format!("{at}.html")).display()));
        judge(command, ended.code, "file", &format!("{}{}", ended.stdout, ended.stderr));
    }
}

#[test]
fn every_output_names_what_the_recording_lost() {
    let folder = folder();
    write(&folder.path().join("whole"), &[], false);
    each_command(folder.path(), &folder.path().join("whole").clone(), |command, code, form, out| {
        let is_itself = command.starts_with("compare");
        assert!(is_itself || (code == Some(0) && !out.contains("INCOMPLETE")), "{command} {form}: {out}");
    });
    let table =
        |table: &str| RunEvent::TableDropped { table: table.into(), why: "disk full".into(), at_ns: 5 * SECOND };
    let losses = [
        (
            loss("off-CPU intervals (the kernel's ring was full)"),
            "3 off-CPU intervals (the kernel's ring was full) lost",
        ),
        (loss("unfinished waits (the kernel's ring was full)"), "3 unfinished waits"),
        (loss("rows of stalls"), "3 rows of stalls lost"),
        (loss("slow operations"), "3 slow operations lost"),
        (table("stalls"), "table stalls abandoned: disk full"),
        (table("samples"), "table samples abandoned: disk full"),
    ];
    for (at, (event, says)) in losses.iter().enumerate() {
        let lossy = folder.path().join(format!("lossy-{at}"));
        write(&lossy, std::slice::from_ref(event), false);
        each_command(folder.path(), &lossy, |command, code, form, out| incomplete(command, code, form, out, says));
    }
}

/// A row that no clock can have written: commands that explain rows leave it out and say so.
#[test]
fn rows_with_impossible_times_are_excluded_and_said() {
    let folder = folder();
    let path = folder.path().join("inconsistent");
    write(&path, &[], true);
    write(&folder.path().join("whole"), &[], false);
    each_command(folder.path(), &path, |command, code, form, out| {
        let explains = ["explain", "compare", "report"].iter().any(|word| command.starts_with(word));
        if explains {
            incomplete(command, code, form, out, "with impossible timestamps");
        } else {
            assert_eq!(code, Some(0), "{command} {form}: {out}");
        }
    });
    let document = run(&format!("explain {} --json", path.display())).document();
    assert_eq!((&document["losses"]["damaged_rows"], &document["slow_operations"]), (&1.into(), &0.into()));
}

/// A recording that cannot make its first file of rows gives up tables and goes on. With -q there is no text to say so,
/// and standard output may go nowhere.
#[test]
fn a_quiet_recording_says_what_it_lost_and_its_exit_code_does() {
    let folder = folder();
    let record = |name: &str, loses: bool, words: &[&str]| {
        let out = folder.path().join(name);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=openat"]);
        let inject = "inject=openat:error=ENOSPC:when=1";
        strace.args(["-e", if loses { inject } else { "signal=none" }, "-P"]).arg(out.join("recent-0001"));
        strace.arg(env!("CARGO_BIN_EXE_stallscope")).args(["record", "--no-trace", "-q", "--out"]).arg(&out);
        let ended = Running::spawn({
            strace.args(words);
            strace
        });
        ended.wait()
    };
    if Command::new("strace").arg("-V").output().is_err() {
        return println!("skipped: strace is not installed");
    }
    let whole = record("whole", false, &["--runtime", "300ms"]);
    if whole.stderr.contains("PTRACE_") {
        return println!("skipped: strace may not trace here");
    }
    assert_eq!((whole.code, whole.stderr.contains("incomplete")), (Some(0), false), "{}", whole.stderr);
    let cases: [(&[&str], i32); 3] =
        [(&["--runtime", "300ms"], 1), (&["--", "sleep", "0.3"], 1), (&["--", "sh", "-c", "sleep 0.3; exit 7"], 7)];
    for (at, (words, code)) in cases.iter().enumerate() {
        let ended = record(&format!("lossy-{at}"), true, words);
        assert_eq!(ended.code, Some(*code), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(": incomplete: table "), "{words:?}: {}", ended.stderr);
    }
}

fn incomplete(command: &str, code: Option<i32>, form: &str, out: &str, says: &str) {
    assert_eq!(code, Some(1), "{command} {form}: {out}");
    match form {
        "json" => {
            let document: Value = serde_json::from_str(out).unwrap();
            assert_eq!(document["complete"], false, "{command}: {out}");
            assert_eq!(document["lost"].as_array().map(Vec::len), Some(1), "{command}: {out}");
        }
        "text" => {
            assert!(out.starts_with("INCOMPLETE: the recording of ") && out.contains(says), "{command}: {out}");
        }
        _ => assert!(out.to_lowercase().contains("incomplete: ") && out.contains(says), "{command}: {out}"),
    }
}
