//! Any bytes as a trace.dat, up to the text of its events.
#![no_main]

use std::io::{BufRead, BufReader, Cursor};

use ingest::TraceDatText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = TraceDatText::open(Cursor::new(bytes)) else { return };
    // Several CPUs may have the same pages, but not without end; decompressed events are longer.
    let _ = BufReader::new(text).lines().map_while(Result::ok).take(1 << 20).count();
});
