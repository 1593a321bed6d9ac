//! Any text as another tool's output: fio's JSON, fs_mark, simoop, bonnie++.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(runs) = compare::foreign_runs("fuzz", &text) {
        assert!(!runs.is_empty());
    }
});
