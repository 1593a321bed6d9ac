//! Names that local users choose (processes, files, cgroups, mounts) reach every output as text and nothing else: no
//! control sequence, no markup, no line of their own.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use archive::{Writer, WriterOptions};
use model::detail::Detail;
use model::event::{Ending, RunEvent};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{OperationKind, OperationRecord};
use model::run::{Mount, RunDescription};
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings, Traced};
use model::time::Moment;

use crate::stage::{Ended, Running, folder, is_root, run};

const SECOND: u64 = 1_000_000_000;
/// Begins a line of its own where a line break is not escaped.
const FORGED: &str = "FORGED";
const PIECES: [&str; 14] = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\u{9b}31m",
    "\r",
    "\nFORGED line\n",
    "\u{202e}gpj",
    "\u{2028}FORGED",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\",\"=cmd|' /C calc'!A0",
    "=1+1",
    "\\\"",
    "\u{7f}\u{8}",
    "{a=\"b\"} 1 2\nFORGED 1\n# EOF\n",
];

/// A name of some pieces, chosen by a seed (an LCG's high bits, Knuth 1997, 3.3.4).
fn name(seed: &mut u64) -> String {
    let mut piece = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        PIECES[(*seed >> 33) as usize % PIECES.len()]
    };
    format!("{}n{}{}", piece(), piece(), piece())
}

fn description(seed: &mut u64) -> RunDescription {
    let mut named = || name(seed);
    let mut description = RunDescription {
        command: vec![named(), named()],
        sample_interval_ns: SECOND,
        slower_than_ns: SECOND,
        trace: Some(TraceSettings { slow_ns: SECOND, interval_ns: SECOND / 10, all_requests: false }),
        under_test: vec![named()],
        ..RunDescription::new(&named(), at(1))
    };
    description.host.hostname = named();
    description.host.kernel_release = named();
    let (point, source, fs_type, options) = (format!("/{}", named()), named(), named(), named());
    description.mounts.push(Mount { point, source, fs_type, options, device: "8:0".into() });
    description
}

fn at(seconds: u64) -> Moment {
    Moment { monotonic_ns: seconds * SECOND, wall_ns: (seconds * SECOND) as i64 }
}

/// A run whose every name is hostile.
fn write(directory: &Path, seed: &mut u64) {
    let mut writer = Writer::create(directory, &description(seed), WriterOptions::default()).unwrap();
    let mut named = || name(seed);
    let descriptor = |id: u32, name: String, instance: String| MetricDescriptor {
        id: MetricId(id),
        name,
        instance,
        unit: Unit::Count,
        semantics: Semantics::Counter,
        device: None,
    };
    writer.describe(&[
        descriptor(0, "cgroups.memory".into(), named()),
        descriptor(1, named(), named()),
        descriptor(2, "vmstat.pgscan".into(), String::new()),
    ]);
    for sample in 0..10 {
        let header = SampleHeader { sample, at: at(1 + u64::from(sample)), late_ns: 0, cpu_ns: 1, took_ns: 1 };
        let changes =
            [0, 1, 2].map(|id| MetricChange { sample, metric: MetricId(id), value: Some(i64::from(sample) * 7) });
        writer.sample(header, &changes);
    }
    let mut call = StallRecord::new(StallKind::SystemCall, 7, 2 * SECOND, 6 * SECOND);
    (call.call, call.path) = (Some("fsync".into()), Some(format!("/{}", named())));
    let mut wait = StallRecord::new(StallKind::OffCpu, 7, 2 * SECOND, 6 * SECOND);
    (wait.call, wait.path, wait.detail) = (Some(named()), Some(named()), Some(Detail::Words(named())));
    (wait.stack, wait.state, wait.waker_tid) = (Some(1), Some(2), Some(8));
    (wait.woken_ns, wait.work) = (Some(6 * SECOND), Some(named()));
    let task = |tid, name, cgroup| TaskRecord {
        tid,
        pid: tid,
        name,
        cgroup: Some(cgroup),
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: SECOND,
    };
    let mut traced = Traced {
        stalls: vec![wait, call],
        stacks: vec![StackRecord { stack: 1, frames: vec![named(), "io_schedule".into(), named()] }],
        tasks: vec![task(7, named(), format!("/{}", named())), task(8, named(), named())],
        ..Traced::default()
    };
    writer.traced(&mut traced);
    writer.operations([OperationRecord {
        kind: OperationKind::Slow,
        class: named(),
        tid: 7,
        start_ns: 2 * SECOND,
        duration_ns: 4 * SECOND,
        bytes: None,
        errno: None,
        path: Some(named()),
        offset_bytes: None,
        fault: None,
    }]);
    writer.event(RunEvent::Note { at_ns: 3 * SECOND, text: named() });
    writer.event(RunEvent::Loss { what: named(), count: 1, at_ns: 3 * SECOND });
    writer.event(RunEvent::Ended { at_ns: 11 * SECOND, how: Ending::Done });
    writer.close(at(11)).unwrap();
}

/// Nothing that a terminal obeys, and no line that a name began.
fn is_harmless(what: &str, text: &str) {
    let steers = |c: &char| (c.is_control() && !"\n\t".contains(*c)) || "\u{202e}\u{2028}".contains(*c);
    assert_eq!(text.chars().find(steers), None, "{what}: {text:?}");
    let forged = text.lines().find(|line| line.trim_start().starts_with(FORGED));
    assert_eq!(forged, None, "{what}: {text}");
}

fn answered(words: &str) -> Ended {
    let ended = run(words);
    is_harmless(words, &ended.stdout);
    is_harmless(words, &ended.stderr);
    assert!(matches!(ended.code, Some(0 | 1)), "{words}: {:?} {}", ended.code, ended.stderr);
    ended
}

/// Cells in each record of a CSV text (RFC 4180).
fn cells(text: &str) -> Vec<usize> {
    let (mut records, mut cells, mut quoted) = (Vec::new(), 1, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells += 1,
            '\n' if !quoted => records.push(std::mem::replace(&mut cells, 1)),
            _ => {}
        }
    }
    records
}

fn exports_are_well_formed(path: &str, folder: &Path) {
    for format in ["csv", "parquet", "perfetto", "openmetrics", "pcp"] {
        let out = folder.join(format);
        answered(&format!("export {path} --to {format} -o {}", out.display()));
        assert!(out.exists(), "{format}");
    }
    let tables = fs::read_dir(folder.join("csv")).unwrap().flatten();
    for file in tables.filter(|file| file.path().extension().is_some_and(|suffix| suffix == "csv")) {
        let records = cells(&fs::read_to_string(file.path()).unwrap());
        assert!(records.iter().all(|cells| *cells == records[0]), "{}: {records:?}", file.path().display());
    }
    let metrics = fs::read_to_string(folder.join("openmetrics")).unwrap();
    // Names are as they are: only a quote, a backslash and the end of a line have a meaning there.
    assert!(!metrics.lines().any(|line| line.starts_with(FORGED)), "{metrics}");
    assert_eq!(metrics.lines().filter(|line| *line == "# EOF").count(), 1, "{metrics}");
    let is_metric =
        |line: &str| line.starts_with('#') || line.starts_with("stallscope_") || line.starts_with(char::is_alphabetic);
    assert!(metrics.lines().all(is_metric), "{metrics}");
}

fn outputs_are_harmless(path: &str, folder: &Path) {
    for command in ["show", "explain", "top --once", "check"] {
        answered(&format!("{command} {path}"));
        let document = answered(&format!("{command} --json {path}")).document();
        assert!(document.is_object(), "{command}");
    }
    let other = folder.join("other");
    fs::create_dir(&other).unwrap();
    for file in fs::read_dir(path).unwrap().flatten() {
        fs::copy(file.path(), other.join(file.file_name())).unwrap();
    }
    answered(&format!("compare --a {path} --b {}", other.display()));
    answered(&format!("explain --what-if {path}"));
    let page = folder.join("page.html");
    answered(&format!("report {path} -o {}", page.display()));
    let text = fs::read_to_string(&page).unwrap();
    assert!(!text.contains("onerror=alert") && !text.contains("<script>alert"), "markup reached the page");
    exports_are_well_formed(path, folder);
}

#[test]
fn hostile_names_of_a_run_reach_no_terminal_no_page_and_no_line() {
    let mut seed = 20;
    for round in 0..4 {
        let folder = folder();
        let directory = folder.path().join("run");
        println!("round {round}, seed {seed}");
        write(&directory, &mut seed);
        outputs_are_harmless(&directory.display().to_string(), folder.path());
    }
}

#[test]
fn a_hostile_path_on_the_command_line_is_escaped() {
    let forged = "/no\x1b[31m\u{202e}/run\nstallscope: FORGED";
    for words in [["show", forged], ["compare", forged], ["blk", "/no\u{9b}31m\r"], ["recipes", "no\x1b]0;x\x07"]] {
        let ended = Running::start_with(&words).wait();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(!ended.stderr.contains(['\x1b', '\u{9b}', '\u{202e}', '\r']), "{:?}", ended.stderr);
        assert!(!ended.stderr.lines().any(|line| line.starts_with("stallscope: FORGED")), "{:?}", ended.stderr);
    }
}

/// A process with such a name, which syncs such a file.
#[test]
fn a_hostile_process_is_recorded_and_explained() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &[u8]| data.path().join(std::ffi::OsStr::from_bytes(name));
    let program = file(b"\x1b[2J\xff<b>\n=x");
    fs::copy("/bin/dd", &program).unwrap();
    let written = file(b"\x1b]0;t\x07\xfe\nFORGED,\"<img src=x>\r");
    let out = folder.path().join("run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command
        .args(["record", "-q", "--interval", "100ms", "--slower-than", "100us", "--out"])
        .arg(&out)
        .arg("--")
        .arg(&program);
    let mut to = std::ffi::OsString::from("of=");
    to.push(&written);
    command.args(["if=/dev/zero", "bs=64k", "count=16", "conv=fsync", "status=none"]).arg(to);
    let ended = Running::spawn(command).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    is_harmless("record", &ended.stderr);
    let path = out.display().to_string();
    outputs_are_harmless(&path, folder.path());
    let document = run(&format!("explain --json {path}")).document();
    let text = document.to_string();
    assert!(text.contains("fsync") && text.contains("src=x"), "the file is named: {document:#}");
}

/// A recipe from a stranger: its texts in help, its names in errors.
#[test]
fn a_hostile_recipe_is_shown_as_text() {
    let folder = folder();
    let path = folder.path().join("recipe.toml");
    let shipped = include_str!("../../../../recipes/fsync-storm.toml");
    let hostile = "\"\\u001b[2J\\u001b]0;t\\u0007\\u009b31m\\u202e\\u2028\\r\"";
    let about = shipped.lines().find(|line| line.starts_with("about = ")).unwrap();
    let name = shipped.lines().find(|line| line.starts_with("name = ")).unwrap();
    let forging = "\"\\nFORGED\"";
    let recipes = [
        (shipped.replace(about, &format!("about = {hostile}")), 0),
        (shipped.replace(name, &format!("name = {hostile}")), 2),
        (shipped.replace(name, &format!("name = {forging}")), 2),
        (format!("{shipped}\n[{forging}]\n"), 2),
    ];
    for (text, code) in recipes {
        assert_ne!(text, shipped);
        fs::write(&path, text).unwrap();
        let words = format!("run {} --help", path.display());
        let ended = run(&words);
        is_harmless(&words, &ended.stdout);
        is_harmless(&words, &ended.stderr);
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    }
    let sweep = format!("name = {forging}\nworkload = \"randrw\"\nrepetitions = 1\n");
    fs::write(&path, sweep).unwrap();
    let ended = run(&format!("sweep {} --plan", path.display()));
    is_harmless("sweep", &ended.stderr);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}
