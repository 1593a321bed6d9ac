//! Any bytes as a perf.data, up to the text of its events: most of the mutations of a whole one are of its records.
#![no_main]

use std::io::{BufRead, BufReader, Cursor};
use std::sync::{Arc, LazyLock};

use ingest::{HostKernel, PerfDataText};
use libfuzzer_sys::fuzz_target;

static KERNEL: LazyLock<Arc<HostKernel>> = LazyLock::new(Arc::default);

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = PerfDataText::open(Cursor::new(bytes), &KERNEL) else { return };
    // A line needs a record: text is at most so much longer.
    let lines = BufReader::new(text).lines().map_while(Result::ok).count();
    assert!(lines <= 130 * bytes.len());
});
