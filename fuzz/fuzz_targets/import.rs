//! Any text as events of ftrace, trace-cmd and perf, up to the rows of a run.
#![no_main]

use std::sync::atomic::{AtomicU64, Ordering};

use access::Sharing;
use ingest::{RunWriter, TextContents, import_text};
use libfuzzer_sys::fuzz_target;
use model::run::RunDescription;
use model::stall::TraceSettings;
use model::time::Moment;

static RUNS: AtomicU64 = AtomicU64::new(0);

fuzz_target!(|bytes: &[u8]| {
    let contents = TextContents::of(bytes).expect("memory can be read");
    if !contents.has("sched_switch") {
        return;
    }
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let directory = format!("/dev/shm/stallscope-fuzz-import-{}-{number}", std::process::id());
    let directory = std::path::Path::new(&directory);
    let trace = TraceSettings { slow_ns: 1_000_000, interval_ns: 1_000, all_requests: false };
    let description = RunDescription {
        sample_interval_ns: 1_000_000_000,
        slower_than_ns: trace.slow_ns,
        trace: Some(trace),
        ..RunDescription::new("import", Moment::default())
    };
    let mut run = RunWriter::new(directory, Sharing::PRIVATE, &description, false);
    import_text(bytes, &contents, &[], &mut run).expect("memory can be read");
    let length_ns = contents.last_ns.saturating_sub(contents.first_ns.unwrap_or(0));
    let closed = run.close(length_ns, Vec::new());
    let read = archive::Run::open(directory).map(|run| run.stalls().flatten().flatten().count());
    let _ = std::fs::remove_dir_all(directory);
    let _ = closed.expect("there is room");
    read.expect("what was written is read");
});
