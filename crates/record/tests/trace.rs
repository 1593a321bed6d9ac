//! The tracer on the real kernel.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::stall::{StallKind, TraceSettings, Traced};
use record::{Roots, TraceOptions, Tracing};

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
        blocked_ns: 1_000_000_000,
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
    let is_dd = |stall: &&model::stall::StallRecord| stall.tid == dd;
    let written = traced.stalls.iter().filter(is_dd).find(|stall| stall.call.as_deref() == Some("write")).unwrap();
    assert_eq!(written.kind, StallKind::SystemCall);
    assert_eq!(written.bytes, Some(65536));
    assert!(written.path.as_deref().is_some_and(|path| path.ends_with("written")), "{written:?}");
    check_waits(&traced, dd);
    // Other tests keep the machine busy: the kernel may have skipped a request's completion.
    let lost = tracing.lost();
    assert!(lost.iter().all(|lost| lost.what.contains("skips") && lost.count < 100), "{lost:?}");
}

fn check_waits(traced: &Traced, dd: u32) {
    let waits: Vec<_> = traced.stalls.iter().filter(|stall| stall.kind == StallKind::OffCpu).collect();
    assert!(!waits.is_empty() && waits.iter().all(|wait| wait.state.is_some() && wait.stack.is_some()));
    let in_call = waits.iter().filter(|wait| wait.tid == dd && wait.call.as_deref() == Some("fsync"));
    let stacks: Vec<String> = in_call.filter_map(|wait| name_stack(traced, wait.stack?)).collect();
    assert!(stacks.iter().any(|stack| stack.contains("fsync")), "{stacks:?}");
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
