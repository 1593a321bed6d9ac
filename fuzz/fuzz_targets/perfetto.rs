//! Any bytes as a trace of Perfetto, up to the text of its events.
#![no_main]

use std::io::{BufRead, BufReader, Cursor};

use ingest::PerfettoText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = PerfettoText::open(Cursor::new(bytes)) else { return };
    // Compressed packets are longer than the file.
    let _ = BufReader::new(text).lines().map_while(Result::ok).take(1 << 20).count();
});
