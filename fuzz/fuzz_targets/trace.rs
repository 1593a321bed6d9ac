//! Any bytes as a block trace of any format, also compressed, through reader and lifecycle.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use lifecycle::{Lifecycle, Settings};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut trace) = blktrace::Trace::from_reader("fuzz", Cursor::new(bytes.to_vec())) else { return };
    let mut lifecycle = Lifecycle::new(Settings { max_in_flight: 64, slower_than_ns: 1000, ..Settings::default() });
    while let Ok(Some(events)) = trace.next_batch() {
        lifecycle.feed_all(events);
        assert!(lifecycle.bios_in_flight() <= 66);
    }
    lifecycle.finish();
});
