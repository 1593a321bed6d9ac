//! Any bytes as a text trace, through reader and lifecycle.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use lifecycle::{Lifecycle, Settings};

fuzz_target!(|bytes: &[u8]| {
    // The first line makes it a text trace.
    let mut text = b"  8,0    1        1     0.000000000   123  Q  WS 0 + 8 [dd]\n".to_vec();
    text.extend_from_slice(bytes);
    let mut trace = blktrace::Trace::from_reader("fuzz", Cursor::new(text)).expect("the first line is an event");
    let mut lifecycle = Lifecycle::new(Settings { max_in_flight: 64, slower_than_ns: 1000, ..Settings::default() });
    while let Some(events) = trace.next_batch().expect("memory can be read") {
        lifecycle.feed_all(events);
        assert!(lifecycle.bios_in_flight() <= 66);
    }
    lifecycle.finish();
});
