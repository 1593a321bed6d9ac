//! The cost of explaining: a million requests and a hundred thousand waits, synthetic, in four shapes.
//!
//!     cargo bench -p explain --bench blame

use std::time::Instant;

use explain::blame::{Blame, Explanation};
use model::block::{DeviceNumber, Kind};
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings};
use model::time::Moment;

const WAITS: u64 = 100_000;
const REQUESTS: u32 = 1_000_000;
const BATCH: usize = 8192;
const MS: u64 = 1_000_000;
const STACKS: [&[&str]; 5] = [
    &["folio_wait_bit_common", "filemap_read", "vfs_read"],
    &["jbd2_log_wait_commit", "ext4_sync_file", "do_fsync"],
    &["xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_file_fsync"],
    &["blk_mq_get_tag", "__blk_mq_alloc_requests", "blk_mq_submit_bio"],
    &["some_driver_waits", "vfs_write"],
];

/// Name, tasks, operations, whether operations fall behind and overlap.
const SHAPES: [(&str, u64, u64, bool); 4] = [
    ("many tasks", 200, 20_000, false),
    ("one task", 1, 20_000, false),
    ("one operation", 1, 1, false),
    // A paced task that falls behind: each operation contains those before it.
    ("one task, falling behind", 1, 20_000, true),
];

/// Each shape runs in a separate process, because peak memory is per process.
fn main() {
    let wanted = std::env::args().nth(1);
    if let Some(shape) = SHAPES.iter().find(|shape| Some(shape.0) == wanted.as_deref()) {
        return measure(shape);
    }
    for (name, ..) in SHAPES {
        let own = std::env::current_exe().expect("the path of this program is readable");
        let status = std::process::Command::new(own).arg(name).status().expect("this program can be started");
        assert!(status.success());
    }
}

fn measure(&(name, tasks, operations, behind): &(&str, u64, u64, bool)) {
    let begin = Instant::now();
    let explanation = explain(tasks, operations, behind);
    let took = begin.elapsed();
    let covered: u64 = explanation.causes.iter().map(|time| time.time_ns).sum();
    assert_eq!(covered, explanation.wall_ns);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!("{name:<30} {:>6} operations {:>6.2} s, {peak} at most", explanation.slow_operations, took.as_secs_f64());
}

fn explain(tasks: u64, operations: u64, behind: bool) -> Explanation {
    let mut blame = Blame::new(None, &description());
    let stacks = STACKS
        .iter()
        .zip(0..)
        .map(|(frames, stack)| StackRecord { stack, frames: frames.iter().map(|&frame| frame.to_owned()).collect() });
    blame.stacks(&stacks.collect::<Vec<_>>());
    let task = |tid: u64| TaskRecord {
        tid: tid as u32,
        pid: tid as u32,
        name: format!("task{tid}"),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 0,
    };
    blame.tasks(&(1..=tasks + 50).map(task).collect::<Vec<_>>());
    // Each wait has 10 ms of its task and takes 8 of them; the tasks' waits interleave.
    let of_each = WAITS / tasks;
    let waits: Vec<StallRecord> = (0..WAITS).map(|at| wait(at % tasks, at / tasks, tasks)).collect();
    waits.chunks(BATCH).for_each(|batch| blame.stalls(batch));
    let span_ns = of_each * 10 * MS;
    let each = operations / tasks;
    let operation = |at: u64| {
        let (tid, nth) = (at % tasks + 1, at / tasks);
        let (start_ns, end_ns) = (nth * span_ns / each, (nth + 1) * span_ns / each);
        let start_ns = if behind { start_ns / 2 } else { start_ns };
        OperationRecord {
            kind: OperationKind::Slow,
            class: if at.is_multiple_of(3) { "write".into() } else { "read".into() },
            tid: tid as u32,
            start_ns,
            duration_ns: end_ns - start_ns,
            bytes: None,
            errno: None,
            path: Some(format!("/mnt/a/f{}", at % 1000)),
            offset_bytes: None,
            fault: None,
        }
    };
    (0..operations).map(operation).collect::<Vec<_>>().chunks(BATCH).for_each(|batch| blame.operations(batch));
    let mut batch = Vec::with_capacity(BATCH);
    for number in 0..REQUESTS {
        batch.push(request(number, tasks));
        if batch.len() == BATCH || number + 1 == REQUESTS {
            blame.requests(&batch);
            batch.clear();
        }
    }
    blame.finish()
}

/// Half of the waits are for a request, the others for one of 50 threads.
fn wait(task: u64, nth: u64, tasks: u64) -> StallRecord {
    let start_ns = nth * 10 * MS;
    let end_ns = start_ns + 8 * MS;
    let number = nth * tasks + task;
    let for_request = number.is_multiple_of(2);
    StallRecord {
        state: Some(2),
        woken_ns: Some(end_ns - MS / 10),
        waker_tid: Some((tasks + number % 50 + 1) as u32),
        stack: Some(if for_request { 0 } else { (number % 5) as u32 }),
        request: for_request.then_some((number * 10) as u32),
        call: Some("read".into()),
        ..StallRecord::new(StallKind::OffCpu, task as u32 + 1, start_ns, end_ns)
    }
}

fn request(number: u32, tasks: u64) -> RequestRecord {
    let start_ns = u64::from(number) / 10 / tasks * 10 * MS;
    RequestRecord {
        request: number,
        device: DeviceNumber::new(8, 0),
        sector: u64::from(number) * 8,
        bytes: 4096,
        kind: Kind::from_rwbs(b"R").expect("blktrace's letters"),
        tid: 1,
        merges: 0,
        queued_ns: Some(start_ns),
        got_ns: Some(start_ns),
        inserted_ns: Some(start_ns + MS),
        issued_ns: Some(start_ns + 3 * MS),
        completed_ns: start_ns + 8 * MS,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: vec![(Kind::default(), 5)],
    }
}

fn description() -> RunDescription {
    RunDescription {
        sample_interval_ns: 1000 * MS,
        slower_than_ns: MS,
        trace: Some(TraceSettings { slow_ns: MS, interval_ns: MS, all_requests: true }),
        ..RunDescription::new("made up", Moment::default())
    }
}
