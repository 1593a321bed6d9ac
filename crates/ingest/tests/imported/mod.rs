//! Recordings in `data/`, and the rows that an import makes of text.

use std::path::Path;

use access::Sharing;
use ingest::{RunWriter, TextContents, import_text};
use model::run::RunDescription;
use model::stall::{StackRecord, StallRecord, TaskRecord, TraceSettings};
use model::time::Moment;

pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

/// Stalls, stacks, tasks, and how many operations.
pub(crate) type Rows = (Vec<StallRecord>, Vec<StackRecord>, Vec<TaskRecord>, usize);

pub(crate) fn rows(text: &str) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let trace = TraceSettings { slow_ns: 1_000_000, interval_ns: 10_000, all_requests: false };
    let description = RunDescription {
        sample_interval_ns: 1_000_000_000,
        slower_than_ns: trace.slow_ns,
        trace: Some(trace),
        ..RunDescription::new("import", Moment::default())
    };
    let contents = TextContents::of(text.as_bytes()).unwrap();
    let mut run = RunWriter::new(&directory, Sharing::PRIVATE, &description, false);
    import_text(text.as_bytes(), &contents, &[], &mut run).unwrap();
    let _ = run.close(contents.last_ns - contents.first_ns.unwrap(), Vec::new()).unwrap();
    let run = archive::Run::open(&directory).unwrap();
    let stalls = run.stalls().flatten().flatten().collect();
    let stacks = run.stacks().flatten().flatten().collect();
    let tasks = run.tasks().flatten().flatten().collect();
    (stalls, stacks, tasks, run.operations().flatten().flatten().count())
}
