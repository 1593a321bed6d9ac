//! A long run of a fast disk, explained in bounded memory.

use std::path::Path;
use std::process::Command;

use archive::{FlushState, Writer, WriterOptions};
use model::block::{DeviceNumber, Kind, Operation};
use model::run::RunDescription;
use model::stall::{RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings, Traced};
use model::time::Moment;
use serde_json::Value;

use crate::stage::{folder, number};

const REQUESTS: u32 = 1_000_000;
const TASKS: u32 = 64;
/// One request in this many is waited for, and half of these waits belong to slow reads.
const WAITED_FOR: u32 = 10;
const SLOW_NS: u64 = 10_000_000;
const LIMIT_KIB: u32 = 256 << 10;

fn description() -> RunDescription {
    RunDescription {
        version: "test".into(),
        sample_interval_ns: 1_000_000_000,
        slower_than_ns: SLOW_NS,
        trace: Some(TraceSettings { slow_ns: SLOW_NS, interval_ns: 1_000_000, all_requests: true }),
        ..RunDescription::new("record", Moment { monotonic_ns: 1, wall_ns: 1 })
    }
}

/// 10 000 requests a second, 8 ms in the queue each and 1 ms at the device.
fn request(number: u32) -> RequestRecord {
    let completed_ns = 1_000_000_000 + u64::from(number) * 100_000;
    RequestRecord {
        request: number,
        device: DeviceNumber::new(7, 0),
        sector: u64::from(number.wrapping_mul(2_654_435_761) >> 8) * 8,
        bytes: 4096,
        kind: Kind::of(Operation::Read),
        tid: 100 + number % TASKS,
        merges: 0,
        queued_ns: Some(completed_ns - 9_000_000),
        got_ns: Some(completed_ns - 9_000_000),
        inserted_ns: Some(completed_ns - 9_000_000),
        issued_ns: Some(completed_ns - 1_000_000),
        completed_ns,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

/// The wait for a request, and the read of 10 ms that contains it.
fn stalls(request: &RequestRecord) -> Vec<StallRecord> {
    let began_ns = request.completed_ns - 9_000_000;
    let wait = StallRecord {
        state: Some(2),
        woken_ns: Some(request.completed_ns),
        waker_tid: Some(0),
        stack: Some(request.request % 20),
        request: Some(request.request),
        ..StallRecord::new(StallKind::OffCpu, request.tid, began_ns, request.completed_ns)
    };
    let read = StallRecord {
        call: Some("pread64".into()),
        path: Some(format!("/data/{}", request.request % 1000)),
        ..StallRecord::new(StallKind::SystemCall, request.tid, began_ns, began_ns + SLOW_NS)
    };
    let is_slow = request.request.is_multiple_of(2 * WAITED_FOR);
    if is_slow { vec![wait, read] } else { vec![wait] }
}

fn write(run: &Path) {
    let frames = ["io_schedule", "folio_wait_bit_common", "filemap_read", "vfs_read", "__x64_sys_pread64"];
    let stack = |stack| StackRecord { stack, frames: frames.map(str::to_owned).into() };
    let task = |tid| TaskRecord {
        tid,
        pid: 100,
        name: "reader".into(),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 1,
    };
    let options = WriterOptions { sync: false, ..WriterOptions::default() };
    let mut writer = Writer::create(run, &description(), options).unwrap();
    let mut traced = Traced {
        stacks: (0..20).map(stack).collect(),
        tasks: (100..100 + TASKS).map(task).collect(),
        ..Traced::default()
    };
    for number in 0..REQUESTS {
        let request = request(number);
        if number.is_multiple_of(WAITED_FOR) {
            traced.stalls.extend(stalls(&request));
        }
        traced.requests.push(request);
        if traced.requests.len() == 25_000 {
            let now = Moment { monotonic_ns: u64::from(number), wall_ns: 1 };
            writer.traced(&mut traced);
            assert_eq!(writer.flush(now), FlushState::Whole);
        }
    }
    let rows = writer.close(Moment { monotonic_ns: u64::from(REQUESTS), wall_ns: 1 }).unwrap().rows;
    assert_eq!((rows["requests"], rows["stalls"]), (1_000_000, 150_000));
}

#[test]
fn a_million_requests_and_150_000_stalls_are_explained_in_256_mib() {
    let folder = folder();
    let run = folder.path().join("run");
    write(&run);
    let words = format!(
        "ulimit -v {LIMIT_KIB} && exec {} explain --json --worst 1 {}",
        env!("CARGO_BIN_EXE_stallscope"),
        run.display()
    );
    let ended = Command::new("sh").args(["-c", &words]).output().unwrap();
    assert!(ended.status.success(), "{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let slow = f64::from(REQUESTS / WAITED_FOR / 2);
    assert_eq!(number(&document, "/slow_operations"), slow);
    assert_eq!(number(&document, "/wall_ns"), slow * SLOW_NS as f64);
    let time_of = |cause: &str| {
        let causes = document["causes"].as_array().unwrap();
        causes.iter().find(|found| found["cause"] == cause).and_then(|found| found["time_ns"].as_f64())
    };
    assert_eq!(time_of("scheduler_queue"), Some(slow * 8e6));
    assert_eq!(time_of("device"), Some(slow * 1e6));
    assert_eq!(time_of("running"), Some(slow * 1e6));
}
