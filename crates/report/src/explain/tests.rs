//! A small run, explained as text and as JSON.

use explain::blame::{Blame, Explanation};
use explain::whatif::Advice;
use model::block::{DeviceNumber, Kind};
use model::event::RunEvent;
use model::operation::{IntervalRecord, OperationKind, OperationRecord};
use model::preflight::Finding;
use model::run::{Device, Mount, RunDescription};
use model::stall::{RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings};
use model::time::Moment;

use super::text;
use crate::answer::Answer;
use crate::json;
use crate::style::Style;

const MS: u64 = 1_000_000;

fn description(traced: bool) -> RunDescription {
    RunDescription {
        sample_interval_ns: 1000 * MS,
        slower_than_ns: 100 * MS,
        trace: traced.then_some(TraceSettings { slow_ns: 100 * MS, interval_ns: MS, all_requests: false }),
        mounts: vec![Mount {
            point: "/mnt/a".into(),
            source: "/dev/loop0".into(),
            fs_type: "ext4".into(),
            options: String::new(),
            device: "7:0".into(),
        }],
        devices: vec![Device {
            number: "7:0".into(),
            name: "loop0".into(),
            identity: "loop0".into(),
            ..Device::default()
        }],
        preflight: vec![Finding::missing(
            "tracing: locks",
            "time that tasks wait for locks",
            "no such tracepoint",
            "Linux 5.19",
        )],
        ..RunDescription::new("test", Moment::default())
    }
}

fn task(tid: u32, name: &str) -> TaskRecord {
    TaskRecord {
        tid,
        pid: tid,
        name: name.into(),
        cgroup: Some("/box".into()),
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 0,
    }
}

fn stack(stack: u32, frames: &[&str]) -> StackRecord {
    StackRecord { stack, frames: frames.iter().map(|&frame| frame.to_owned()).collect() }
}

fn operation(class: &str, tid: u32, start_ms: u64, ms: u64, path: &str) -> OperationRecord {
    OperationRecord {
        kind: OperationKind::Slow,
        class: class.into(),
        tid,
        start_ns: start_ms * MS,
        duration_ns: ms * MS,
        bytes: None,
        errno: None,
        path: Some(path.into()),
        offset_bytes: None,
        fault: None,
    }
}

/// An fsync that waits for jbd2, which waits for a request that reads overtook, and a read that reclaims.
fn rows(run: &RunDescription, slower_than_ns: Option<u64>) -> Explanation {
    let mut blame = Blame::new(slower_than_ns, run);
    let off = |tid, from, to| StallRecord {
        state: Some(2),
        woken_ns: Some(to * MS),
        ..StallRecord::new(StallKind::OffCpu, tid, from * MS, to * MS)
    };
    blame.operations(&[operation("fsync", 7, 0, 1000, "/mnt/a/f\x1b[2J"), operation("read", 8, 100, 500, "/mnt/a/g")]);
    blame.stalls(&[
        StallRecord { stack: Some(0), waker_tid: Some(9), ..off(7, 50, 950) },
        StallRecord { stack: Some(1), request: Some(3), ..off(9, 60, 940) },
        StallRecord {
            tracepoint: Some("mm_vmscan_memcg_reclaim".into()),
            ..StallRecord::new(StallKind::Span, 8, 150 * MS, 550 * MS)
        },
    ]);
    blame.stacks(&[
        stack(0, &["jbd2_log_wait_commit", "ext4_sync_file"]),
        stack(1, &["folio_wait_bit", "folio_wait_writeback", "jbd2_journal_commit_transaction"]),
    ]);
    blame.tasks(&[task(7, "fio"), task(8, "simoop"), task(9, "jbd2/loop0-8")]);
    blame.requests(&[RequestRecord {
        request: 3,
        device: DeviceNumber::new(7, 0),
        sector: 8,
        bytes: 256 << 10,
        kind: Kind::from_rwbs(b"WS").unwrap(),
        tid: 9,
        merges: 0,
        queued_ns: Some(50 * MS),
        got_ns: None,
        inserted_ns: Some(60 * MS),
        issued_ns: Some(800 * MS),
        completed_ns: 940 * MS,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: vec![(Kind::from_rwbs(b"R").unwrap(), 445)],
    }]);
    blame.events(&[RunEvent::Loss { what: "slow requests".into(), count: 12, at_ns: 5 }]);
    blame.finish()
}

fn text_of(explanation: &Explanation, limit: usize) -> String {
    let answer = Answer::of(explanation, &Advice::default());
    text("runs/a", explanation, &answer, limit, Style::PLAIN)
}

#[test]
fn text_of_a_traced_run() {
    let text = text_of(&rows(&description(true), Some(10 * MS)), 1);
    insta::assert_snapshot!(text);
}

/// Four threads of one program wait twice for the writer that has the lock of their file.
#[test]
fn a_convoy_is_one_line_and_one_of_the_worst_stalls() {
    let mut blame = Blame::new(None, &description(true));
    let wait = |tid, from: u64, to: u64| StallRecord {
        state: Some(2),
        woken_ns: Some(to * MS),
        tracepoint: Some("contention_begin".into()),
        stack: Some(0),
        lock: Some(1),
        holder_tid: Some(20),
        waker_tid: Some(20),
        ..StallRecord::new(StallKind::OffCpu, tid, from * MS, to * MS)
    };
    for (from, to) in [(100, 1100), (2000, 2900)] {
        let operations: Vec<_> = (11..15).map(|tid| operation("write", tid, from, to - from, "/mnt/a/log")).collect();
        blame.operations(&operations);
        blame.stalls(&(11..15).map(|tid| wait(tid, from, to)).collect::<Vec<_>>());
    }
    blame.operations(&[operation("fsync", 9, 5000, 200, "/mnt/a/other")]);
    blame.stacks(&[stack(0, &["ext4_buffered_write_iter", "vfs_write"])]);
    let threads = (11..15).map(|tid| TaskRecord { pid: 10, ..task(tid, "worker") });
    blame.tasks(&threads.chain([task(10, "fio"), task(20, "tar"), task(9, "dd")]).collect::<Vec<_>>());
    let text = text_of(&blame.finish(), 5);
    assert!(
        text.contains("4 threads of fio/10 waited, 2 times, up to 4 at once, at most 1.00 s each, for tar/20"),
        "{text}"
    );
    assert!(text.contains("   7 more stalls of the same convoy\n"), "{text}");
    assert!(text.contains("fsync of /mnt/a/other by dd/9 took 200 ms"), "another stall is seen: {text}");
    assert!(!text.contains("see --worst"), "{text}");
}

#[test]
fn text_of_an_untraced_run_has_the_remedy() {
    let mut run = description(false);
    run.preflight.clear();
    let explanation = Blame::new(None, &run).finish();
    let text = text_of(&explanation, 5);
    insta::assert_snapshot!(text);
}

#[test]
fn without_slow_operations_the_slowest_is_shown() {
    let run = description(true);
    let mut blame = Blame::new(None, &run);
    blame.events(&[RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns: 0 }]);
    blame.intervals(&[IntervalRecord {
        phase: "run".into(),
        class: "read".into(),
        count: 4000,
        max_ns: Some(31 * MS),
        ..IntervalRecord::default()
    }]);
    let text = text_of(&blame.finish(), 5);
    assert!(text.contains("4,000 operations of the load; the slowest, read, took 31.0 ms"), "{text}");
}

#[test]
fn a_large_unexplained_share_is_reported() {
    let text_of = |asleep_ms: u64| {
        let mut blame = Blame::new(None, &description(true));
        blame.operations(&[operation("read", 7, 0, 1000, "/mnt/a/f")]);
        let off = StallRecord::new(StallKind::OffCpu, 7, 0, asleep_ms * MS);
        blame.stalls(&[StallRecord { state: Some(2), ..off }]);
        text_of(&blame.finish(), 5)
    };
    assert!(text_of(200).contains(" 20 % is unexplained; 'stalls'"), "{}", text_of(200));
    assert!(!text_of(90).contains("is unexplained;"), "{}", text_of(90));
}

#[test]
fn json_keeps_its_contract() {
    let value = json::explanation("runs/a", &rows(&description(true), None));
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let sum = |causes: &serde_json::Value| {
        causes.as_array().unwrap().iter().map(|cause| number(&cause["time_ns"])).sum::<u64>()
    };
    assert_eq!((number(&value["slow_operations"]), number(&value["wall_ns"])), (2, 1500 * MS));
    assert_eq!(sum(&value["causes"]), 1500 * MS);
    assert_eq!((number(&value["running_ns"]), number(&value["unexplained_ns"])), (200 * MS, 0));
    assert_eq!(value["operations"], serde_json::Value::Null);
    let first = &value["causes"][0];
    assert_eq!((&first["cause"], &first["operations"]), (&"journal".into(), &1.into()));
    assert_eq!(first["share"], 0.6);
    assert_eq!(first["evidence"], serde_json::json!({"event": 0, "stack": 900 * MS, "correlation": 0, "none": 0}));
    let stall = &value["stalls"][0];
    assert_eq!(sum(&stall["causes"]), number(&stall["duration_ns"]));
    assert_eq!((&stall["task"], &stall["tid"], &stall["operation"]), (&"fio/7".into(), &7.into(), &"fsync".into()));
    assert_eq!(stall["causes"][0]["evidence"], "stack");
    assert_eq!((&stall["chain"][0]["task"], &stall["chain"][0]["waits_for"]), (&"fio/7".into(), &"journal".into()));
    assert_eq!(stall["chain"][1]["waits_for"], "scheduler_queue");
    assert_eq!((&stall["request"]["device"], &stall["request"]["overtaken_by"]["R"]), (&"7,0".into(), &445.into()));
    let culprit = &value["culprits"][0];
    assert_eq!((&culprit["task"], &culprit["cgroup"]), (&"jbd2/loop0-8/9".into(), &"/box".into()));
    assert_eq!((&culprit["device"], &culprit["file_system"]), (&"7,0".into(), &"ext4 on /mnt/a".into()));
    assert_eq!(culprit["device_name"], "loop0");
    assert_eq!(value["losses"]["lost"]["slow requests"], 12);
}

/// Nobody is known for the longest wait: it leads the text and the document, of which the page takes its first entries,
/// and the sentences say so.
#[test]
fn a_root_blocker_that_nobody_knows_is_not_hidden() {
    let mut blame = Blame::new(None, &description(true));
    let off = |tid, ms| StallRecord {
        state: Some(2),
        woken_ns: Some(ms * MS),
        stack: Some(0),
        ..StallRecord::new(StallKind::OffCpu, tid, 0, ms * MS)
    };
    blame.operations(&[operation("unlink", 7, 0, 900, "/mnt/a/f"), operation("unlink", 8, 0, 400, "/mnt/a/g")]);
    blame.stalls(&[off(7, 900), StallRecord { waker_tid: Some(9), ..off(8, 400) }]);
    blame.stacks(&[stack(0, &["percpu_rwsem_wait", "cpus_read_lock"])]);
    blame.tasks(&[task(7, "rm"), task(8, "rm"), task(9, "tar")]);
    let explanation = blame.finish();
    let value = json::explanation("runs/a", &explanation);
    let ranked = |at: usize| (value["culprits"][at]["task"].clone(), value["culprits"][at]["time_ns"].clone());
    assert_eq!((ranked(0), ranked(1)), ((None::<&str>.into(), (900 * MS).into()), ("tar/9".into(), (400 * MS).into())));
    let text = text_of(&explanation, 1);
    let blockers: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("Root blockers")).skip(1).take(2).collect();
    assert!(blockers[0].contains("900 ms") && blockers[0].contains("unknown"), "{text}");
    assert!(blockers[1].contains("400 ms") && blockers[1].contains("tar/9"), "{text}");
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.blocker[0].text(), "unknown (lock): 69 %");
    assert_eq!(answer.headline.text(), "rm's removals waited 1.30 s for a system-wide lock");
}
