//! Any text as a sweep file, up to the order of its runs.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(file) = sweep::SweepFile::parse("fuzz.toml".as_ref(), &text) else { return };
    let setups = sweep::configurations(&file);
    for cell in sweep::cells(&setups, file.repetitions, file.noise_floor, 1) {
        sweep::run_name(&cell, &setups[cell.setup]);
    }
});
