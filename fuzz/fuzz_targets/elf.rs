//! Any bytes as a program that a process runs: its build id, its tables for unwinding, its names.
#![no_main]

use std::fs::File;
use std::io::{Seek, Write};

use libfuzzer_sys::fuzz_target;
use symbols::{Binary, Question, Registers};

fuzz_target!(|bytes: &[u8]| {
    let (addresses, bytes) = bytes.split_at(bytes.len().min(8));
    let mut file: File = tempfile::tempfile_in("/dev/shm").expect("a file can be made");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("a file can be written");
    let Ok(binary) = Binary::open(&file) else { return };
    binary.build_id().and_then(|id| symbols::debug_file("/".as_ref(), id));
    let offsets: Vec<u64> =
        addresses.chunks(2).map(|pair| pair.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).collect();
    let questions: Vec<Question> =
        offsets.iter().map(|offset| Question { offset: *offset, is_after_call: offset % 2 == 0 }).collect();
    let _ = binary.locations(&file, &questions, None);
    for offset in offsets {
        let registers = Registers { instruction: offset, stack: 4096, frame: 8192 };
        if let Some(address) = binary.address(offset) {
            binary.caller(address, registers, |place| Some(place ^ offset));
        }
        binary.caller(offset, registers, |place| (place % 3 != 0).then_some(place));
    }
});
