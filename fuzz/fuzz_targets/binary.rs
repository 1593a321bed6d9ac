//! Any bytes as a binary trace, through reader and lifecycle.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use lifecycle::{Lifecycle, Settings};

fuzz_target!(|bytes: &[u8]| {
    // Start with the magic number: the fuzzer need not find it.
    let mut trace = vec![0x07, 0x74, 0x61, 0x65];
    trace.extend_from_slice(bytes);
    let Ok(mut trace) = blktrace::Trace::from_reader("fuzz", Cursor::new(trace)) else { return };
    let mut lifecycle = Lifecycle::new(Settings { max_in_flight: 64, slower_than_ns: 1000, ..Settings::default() });
    while let Some(events) = trace.next_batch().expect("memory can be read") {
        lifecycle.feed_all(events);
        assert!(lifecycle.bios_in_flight() <= 66);
    }
    lifecycle.finish();
});
