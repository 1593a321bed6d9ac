//! Any text as a dump of blocked tasks, up to who waits for whom.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = hung::Reader::default();
    text.split_inclusive('\n').for_each(|line| reader.line(line));
    let dump = reader.finish();
    let analysis = hung::analyze(&dump);
    hung::advice(&dump, &analysis);
});
