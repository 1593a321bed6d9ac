//! The tracer on the real kernel.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::preflight::Finding;
use model::stall::{StallKind, StallRecord, TraceSettings, Traced};
use model::usage::Resource;
use record::{Roots, TraceOptions, Tracing, clock};

fn open(options: &TraceOptions) -> Option<Tracing> {
    let (tracing, findings) = Tracing::open(&Roots::default(), options);
    if !tracing.is_tracing() {
        println!("skipped: {}", findings.last().and_then(|finding| finding.why.clone()).unwrap_or_default());
        return None;
    }
    Some(tracing)
}

#[test]
fn a_slow_synchronous_write_has_its_file_its_waits_and_its_requests() {
    let options = TraceOptions {
        settings: TraceSettings { slow_ns: 1, interval_ns: 1, all_requests: false },
        user_stacks: false,
        blocked_ns: 1_000_000_000,
        follow: Vec::new(),
    };
    let Some(mut tracing) = open(&options) else { return };
    // The recording process is not traced.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = format!("of={}", folder.path().join("written").display());
    let mut child = std::process::Command::new("dd")
        .args(["if=/dev/zero", &output, "bs=64k", "count=20", "conv=fsync", "status=none"])
        .spawn()
        .unwrap();
    let dd = child.id();
    let mut traced = Traced::default();
    // Other activity of the machine comes through the ring too, which must not fill up.
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
        tracing.poll(&mut traced);
    }
    assert!(child.wait().unwrap().success());
    tracing.poll(&mut traced);
    println!("{} stalls, {} stacks, {} requests", traced.stalls.len(), traced.stacks.len(), traced.requests.len());
    assert!(traced.tasks.iter().any(|task| task.tid == dd && task.name == "dd"));
    let is_dd = |stall: &&StallRecord| stall.tid == dd;
    let mut calls = traced.stalls.iter().filter(is_dd).filter(|stall| stall.kind == StallKind::SystemCall);
    let written = calls.find(|stall| stall.call.as_deref() == Some("write"));
    let written =
        written.unwrap_or_else(|| panic!("no write: {:?}", traced.stalls.iter().filter(is_dd).collect::<Vec<_>>()));
    assert_eq!(written.bytes, Some(65536));
    assert!(written.path.as_deref().is_some_and(|path| path.ends_with("written")), "{written:?}");
    check_waits(&traced, dd);
    check_requests(&traced);
    // Other tests keep the machine busy: the kernel may have skipped a request's completion.
    let lost = tracing.lost();
    assert!(lost.iter().all(|lost| lost.what.contains("skips") && lost.count < 100), "{lost:?}");
}

/// `TASK_RUNNING`.
const RUNNABLE: u32 = 0;

fn check_waits(traced: &Traced, dd: u32) {
    // The sleep of a task that wakes another has no stack.
    let is_wait = |stall: &&StallRecord| stall.kind == StallKind::OffCpu && stall.awaits.is_none();
    let waits: Vec<_> = traced.stalls.iter().filter(is_wait).collect();
    // One that was preempted in its own code has none in the kernel.
    let is_bare = |wait: &&&StallRecord| wait.state.is_none_or(|state| state != RUNNABLE && wait.stack.is_none());
    let bare: Vec<_> = waits.iter().filter(is_bare).collect();
    assert!(!waits.is_empty() && bare.is_empty(), "{bare:#?}");
    let of_dd: Vec<_> = traced.stalls.iter().filter(|stall| stall.tid == dd).collect();
    let in_call = waits.iter().filter(|wait| wait.tid == dd && wait.call.as_deref() == Some("fsync"));
    let stacks: Vec<String> = in_call.filter_map(|wait| name_stack(traced, wait.stack?)).collect();
    assert!(stacks.iter().any(|stack| stack.contains("fsync")), "{stacks:?}, all of dd: {of_dd:#?}");
}

/// The file's pages reached the disk by requests that are recorded, each with its device and its times in order.
fn check_requests(traced: &Traced) {
    let written = traced.requests.iter().filter(|request| request.kind.to_string().starts_with('W'));
    let bytes: u64 = written.map(|request| u64::from(request.bytes)).sum();
    assert!(bytes >= 20 * 65536, "{bytes} bytes: {:?}", traced.requests);
    for request in &traced.requests {
        assert_ne!(request.device.0, 0, "{request:?}");
        let moments = [request.queued_ns, request.inserted_ns, request.issued_ns, Some(request.completed_ns)];
        assert!(moments.into_iter().flatten().is_sorted(), "{request:?}");
    }
    let issued = traced.requests.iter().filter(|request| request.issued_ns.is_some()).count();
    assert!(issued > 0, "{:?}", traced.requests);
}

fn name_stack(traced: &Traced, stack: u32) -> Option<String> {
    Some(traced.stacks.iter().find(|known| known.stack == stack)?.frames.join(" < "))
}

#[test]
fn a_tracer_that_is_idle_loses_nothing_and_lets_go() {
    let Some(mut tracing) = open(&TraceOptions::slower_than(1_000_000_000, false)) else { return };
    let file = File::open("/proc/self/exe").unwrap();
    let _ = file.read_at(&mut [0; 4096], 0);
    std::thread::sleep(Duration::from_millis(50));
    tracing.poll(&mut Traced::default());
    // Other tests keep the machine busy: the kernel may have skipped a request's completion.
    let lost = tracing.lost();
    assert!(lost.iter().all(|lost| lost.what.contains("skips") && lost.count < 100), "{lost:?}");
}

/// A victim of the recorder finds it among the culprits.
#[test]
fn what_the_recorder_uses_counts_for_it() {
    let Some(mut tracing) = open_with_usage() else { return };
    let mut traced = Traced::default();
    // Sums are those of half seconds; what a process had before the first is no growth.
    let mut wait = |tracing: &mut Tracing| {
        std::thread::sleep(Duration::from_millis(700));
        tracing.poll(&mut traced);
    };
    wait(&mut tracing);
    let filled = std::hint::black_box(vec![1_u8; 128 << 20]);
    wait(&mut tracing);
    drop(filled);
    let own = |resource| {
        traced.usage.iter().filter(move |used| used.resource == resource && used.pid == Some(std::process::id()))
    };
    assert!(
        own(Resource::Memory).any(|used| used.bytes >= 100 << 20),
        "{:?}",
        own(Resource::Memory).collect::<Vec<_>>()
    );
    assert!(own(Resource::Cpu).next().is_some());
}

fn open_with_usage() -> Option<Tracing> {
    let (tracing, findings) = Tracing::open(&Roots::default(), &TraceOptions::slower_than(1_000_000_000, false));
    let lacks = |finding: &&Finding| !finding.available && finding.capability.ends_with("use by processes");
    let missing = findings.iter().find(lacks).or(findings.last().filter(|_| !tracing.is_tracing()));
    if let Some(missing) = missing {
        println!("skipped: {}", missing.why.as_deref().unwrap_or_default());
        return None;
    }
    Some(tracing)
}

/// The caller reads its clock before the tracer takes what is pending, which may begin another interval.
#[test]
fn usage_ends_after_it_begins_at_the_end_of_a_recording_too() {
    let Some(mut tracing) = open_with_usage() else { return };
    let now_ns = clock::monotonic_ns();
    let mut busy =
        std::process::Command::new("timeout").args(["0.8", "sh", "-c", "while :; do :; done"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let mut traced = Traced::default();
    tracing.finish(now_ns, &mut traced);
    busy.wait().unwrap();
    assert!(!traced.usage.is_empty());
    let backwards: Vec<_> = traced.usage.iter().filter(|used| used.end_ns <= used.start_ns).collect();
    assert!(backwards.is_empty(), "{backwards:?}");
}
