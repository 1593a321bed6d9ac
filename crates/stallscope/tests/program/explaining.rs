//! `explain`, on runs of the real kernel: causes sum to the duration, the right cause is found, and gaps are reported.

mod answers;

use std::path::Path;

use archive::{Run, Writer, WriterOptions};
use model::block::{DeviceNumber, Operation};
use model::event::RunEvent;
use model::stall::RequestRecord;
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::disk::text;
use crate::stage::{Disk, Frozen, Running, SMALL, checked, folder, is_root, number, run, shown};

/// Too little memory on a slow disk, so that many operations are slow.
const PRESSURE: &str = "--memory 48m --disk-bps 12m --slower-than 100ms";

fn explained(run_directory: &Path) -> Value {
    run(&format!("explain --json {}", run_directory.display())).expect_code(0).document()
}

/// The times of each stall add up to its duration, and those of the run to the wall time. Returns the causes.
fn with_closed_books(document: &Value) -> Vec<String> {
    let sum = |causes: &Value| causes.as_array().unwrap().iter().map(|cause| cause["time_ns"].as_u64().unwrap()).sum();
    let wall_ns: u64 = sum(&document["causes"]);
    assert_eq!(Some(wall_ns), document["wall_ns"].as_u64());
    for stall in document["stalls"].as_array().unwrap() {
        let duration_ns: u64 = sum(&stall["causes"]);
        assert_eq!(Some(duration_ns), stall["duration_ns"].as_u64(), "{stall:#}");
    }
    let causes = document["causes"].as_array().unwrap();
    causes.iter().map(|cause| cause["cause"].as_str().unwrap().to_owned()).collect()
}

/// Without the limit less time is lost, with four times the limit more than without it, and the findings say so.
fn advises_a_higher_limit(document: &Value) {
    let choices = document["what_if"]["choices"].as_array().unwrap();
    let total_ns = |factor: Value| {
        let is_of = |change: &Value| change["edge"] == "io_limit" && change["factor"] == factor;
        let choice = choices.iter().find(|choice| is_of(&choice["change"])).unwrap_or_else(|| panic!("{choices:#?}"));
        assert!(!choice["remedies"].as_array().unwrap().is_empty(), "{choice:#}");
        number(choice, "/predicted/total_ns/value")
    };
    let recorded_ns = number(document, "/what_if/recorded/total_ns");
    let (lifted_ns, raised_ns) = (total_ns(Value::Null), total_ns(4.0.into()));
    assert!(lifted_ns <= raised_ns && raised_ns < recorded_ns, "{lifted_ns}, {raised_ns}, {recorded_ns}");
    let answer = &document["answer"];
    assert_eq!((&answer["scope"], &answer["verdict"]), (&"load".into(), &"slow".into()), "{answer:#}");
    let fix = &answer["fix"];
    assert!(fix["command"].as_str().is_some_and(|command| command.starts_with("echo ")), "{fix:#}");
    assert_eq!(number(fix, "/predicted/recorded_ns"), recorded_ns);
}

#[test]
fn a_run_on_a_slowed_disk_is_explained_by_its_limit() {
    if !is_root("tracing") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let out = folder.path().join("run");
    // More files than fit into the memory: reads wait for the disk's limit.
    let load = SMALL.replace("-n 8", "-n 20");
    let ended =
        run(&format!("run simoop {load} {PRESSURE} --out {} {}", out.display(), disk.path().display())).expect_code(0);
    let (_, brief) = ended.stdout.split_once("\n  who      ").expect("an answer");
    println!("{brief}");
    assert!(brief.contains("\n  next     stallscope ") && brief.contains(out.to_str().unwrap()), "{brief}");
    let document = explained(&out);
    advises_a_higher_limit(&document);
    assert!(brief.contains("\n  fix      "), "{brief}");
    let causes = with_closed_books(&document);
    assert!(causes.contains(&"io_throttle".to_owned()), "{:#}", document["causes"]);
    assert!(number(&document, "/slow_operations") > 0.0);
    let printed = run(&format!("explain --worst 3 {}", out.display())).expect_code(0).stdout;
    assert!(printed.contains("cgroup I/O throttling") && printed.contains("Worst stall"), "{printed}");
    let few = run(&format!("explain --json --worst 1 {}", out.display())).expect_code(0).document();
    assert_eq!(few["stalls"].as_array().unwrap().len(), 1);
    // Only the disk of the load is in scope, and nothing of another program.
    let scoped = |flags: &str| run(&format!("explain --json {flags} {}", out.display())).expect_code(0).document();
    let own = scoped(&format!("--path {}", disk.path().display()));
    assert!(number(&own, "/slow_operations") > 0.0 && own["neighbours"].is_null(), "{:#}", own["processes"]);
    // Under this disk's limit is only the load, whose processes begin with another name.
    let limited = own["culprits"].as_array().unwrap().iter().filter(|culprit| culprit["cause"] == "io_throttle");
    let culprits: Vec<&str> = limited.filter_map(|culprit| culprit["task"].as_str()).collect();
    assert!(!culprits.is_empty() && !culprits.iter().any(|task| task.starts_with("exe/")), "{culprits:?}");
    let none = scoped("--comm no-such-name");
    assert!(none["slow_operations"] == 0 && none["scope"]["present"]["comm"][0].is_string(), "{:#}", none["scope"]);
    run(&format!("explain --device no-such-disk {}", out.display())).expect_code(2);
    // The run holds the cost of tracing, and nothing is lost at this rate.
    let recording = &shown(&out)["recording"];
    assert!(recording["trace"]["events"].as_u64() > Some(0), "{recording:#}");
    assert_eq!(recording["lost_events"], 0, "{recording:#}");
}

#[test]
fn a_killed_run_is_explained_up_to_its_end() {
    if !is_root("tracing") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let out = folder.path().join("run");
    let long = SMALL.replace("-r 3", "-r 600");
    let mut program =
        Running::start(&format!("run simoop {long} {PRESSURE} --out {} {}", out.display(), disk.path().display()));
    program.wait_for_the_archive(&out);
    program.wait_until("something slow was recorded", |_| {
        let rows = |name: &str| checked(&out)["rows"][name].as_u64() > Some(0);
        rows("operations") && rows("stalls")
    });
    program.signal(Signal::KILL);
    program.wait();
    assert_eq!(checked(&out)["state"], "cut_off");
    let document = explained(&out);
    with_closed_books(&document);
    // The next run removes what this one left.
    run(&format!("record --runtime 100ms -q --out {}", folder.path().join("next").display())).expect_code(0);
}

#[test]
fn a_blocked_task_is_named_at_once_and_explained_afterwards() {
    if !is_root("a frozen file system") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let out = folder.path().join("run");
    let frozen = Frozen::new(disk.path());
    let words = format!("record --slower-than 200ms --out {} -- touch {}/new", out.display(), disk.path().display());
    let mut program = Running::start(&words);
    program.wait_until("the blocked task is named", |program| program.stderr().contains("blocked: touch/"));
    drop(frozen);
    let ended = program.wait().expect_code(0);
    let remark = ended.stderr.lines().find(|line| line.contains("blocked: touch/")).unwrap();
    println!("{remark}\n{}", ended.stdout);
    assert!(remark.contains(" in ") && remark.contains("percpu_rwsem_wait"), "{remark}");
    let document = explained(&out);
    assert!(with_closed_books(&document).contains(&"frozen".to_owned()), "{:#}", document["causes"]);
    // Other tasks of this machine may wait longer.
    let is_its = |stall: &&Value| stall["task"].as_str().is_some_and(|task| task.starts_with("touch/"));
    let stall = document["stalls"].as_array().unwrap().iter().find(is_its).expect("it was slow");
    assert_eq!(stall["causes"][0]["cause"], "frozen", "{stall:#}");
}

#[test]
fn a_run_that_was_not_traced_says_why_it_cannot_be_explained() {
    let folder = folder();
    let out = folder.path().join("run");
    run(&format!("record --no-trace --runtime 200ms -q --out {}", out.display())).expect_code(0);
    assert_eq!(checked(&out)["rows"]["stalls"], Value::Null);
    let ended = run(&format!("explain {}", out.display())).expect_code(2);
    assert!(ended.error().contains("recorded without kernel tracing: with --no-trace"), "{}", ended.error());
    assert!(ended.stdout.is_empty());
    run(&format!("show {}", out.display())).expect_code(0);
}

/// In the format of versions before tracing.
#[test]
fn an_older_run_and_a_foreign_directory_are_distinguished() {
    let folder = folder();
    let (traced, older) = (folder.path().join("traced"), folder.path().join("older"));
    run(&format!("record --no-trace --runtime 200ms -q --out {}", traced.display())).expect_code(0);
    let description = Run::open(&traced).unwrap().description().clone();
    let options = WriterOptions { reserve_bytes: 1 << 20, ..WriterOptions::default() };
    Writer::create(&older, &description, options).unwrap().close(description.started).unwrap();
    let text = std::fs::read_to_string(older.join("run.json")).unwrap();
    let mut words: Value = serde_json::from_str(&text).unwrap();
    words.as_object_mut().unwrap().remove("trace").unwrap();
    std::fs::write(older.join("run.json"), words.to_string()).unwrap();
    let ended = run(&format!("explain --json {}", older.display())).expect_code(2);
    assert!(ended.error().contains("without kernel tracing"), "{}", ended.error());
    let ended = run(&format!("explain {}", folder.path().display())).expect_code(2);
    assert!(ended.error().ends_with("not a run directory: run.json is missing"), "{}", ended.error());
}

#[test]
fn a_truncated_trace_is_explained_up_to_its_end() {
    if !is_root("tracing") {
        return;
    }
    let folder = folder();
    let (out, file) = (folder.path().join("run"), tempfile::NamedTempFile::new().unwrap());
    let command = format!("dd if=/dev/zero of={} bs=1M count=20 conv=fsync 2>/dev/null", file.path().display());
    let words = ["record", "--slower-than", "1ms", "-q", "--out", &text(&out), "--", "sh", "-c", &command];
    Running::start_with(&words).wait().expect_code(0);
    with_closed_books(&explained(&out));
    for table in ["stalls", "stacks", "requests"] {
        let path = out.join(format!("{table}-0000.arrows"));
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(length - 64).unwrap();
    }
    let ended = run(&format!("explain --json {}", out.display())).expect_code(1);
    assert!(ended.stderr.contains("rows of stalls at offset"), "{}", ended.stderr);
    with_closed_books(&ended.document());
    let text = run(&format!("explain {}", out.display())).expect_code(1).stdout;
    assert!(text.starts_with("INCOMPLETE: ") && !text.contains("Nothing took longer"), "{text}");
    assert_eq!(run(&format!("check --json {}", out.display())).expect_code(1).document()["whole"], false);
}

/// Reads that a device has finished, from `/sys/dev/block/*/stat`.
fn reads_in(stat: &Path) -> u64 {
    std::fs::read_to_string(stat).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn every_request_is_recorded_with_requests_all() {
    if !is_root("tracing") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let device = disk.number().split_once(':').unwrap();
    let device = DeviceNumber::new(device.0.parse().unwrap(), device.1.parse().unwrap());
    let stat = format!("/sys/dev/block/{}/stat", disk.number());
    let name = std::fs::canonicalize(format!("/sys/dev/block/{}", disk.number())).unwrap();
    let path = Path::new("/dev").join(name.file_name().unwrap());
    // Count only while the tracer is attached: others read a new device before that.
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    let command = format!(
        "cat {stat} > {}; dd if={} of=/dev/null bs=4k count=5000 iflag=direct; cat {stat} > {}",
        before.display(),
        path.display(),
        after.display()
    );
    let count = |requests: &str| {
        let out = folder.path().join(requests);
        let words = ["record", "--requests", requests, "-q", "--out", &text(&out), "--", "sh", "-c", &command];
        Running::start_with(&words).wait().expect_code(0);
        let run = Run::open(&out).unwrap();
        let is_read = |request: &RequestRecord| request.device == device && request.kind.operation() == Operation::Read;
        let recorded = run.requests().flat_map(Result::unwrap).filter(is_read).count() as u64;
        (recorded, run.events().to_vec())
    };
    let (recorded, events) = count("all");
    let finished = reads_in(&after) - reads_in(&before);
    assert!(finished >= 5000);
    // The kernel skips a program that interrupts itself, which on a busy machine loses some of thousands. A tracer that
    // is starved of CPU loses some and reports it.
    let lost: u64 = events
        .iter()
        .filter_map(|event| if let RunEvent::Loss { count, .. } = event { Some(count) } else { None })
        .sum();
    let few = finished / 100;
    assert!(recorded + few + lost >= finished && recorded <= finished + few, "{recorded} of {finished}; {events:?}");
    let (recorded, _) = count("slow");
    assert!(recorded < 5000, "{recorded} slow requests");
}
