//! This very program is read: its functions, lines and frames.

use std::fs::File;

use super::{Binary, Caller, Question, Registers, SourceLocation, by_frame_pointer, debug_file};

/// Where this function lies in the program's file.
fn offset_of(address: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let offset = maps.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (start, end) = words[0].split_once('-')?;
        (number(start)..number(end)).contains(&address).then(|| address - number(start) + number(words[2]))
    });
    offset.expect("it is mapped")
}

#[inline(never)]
fn marked(value: u64) -> u64 {
    std::hint::black_box(value).wrapping_mul(3)
}

fn this_program() -> (File, Binary) {
    let file = File::open("/proc/self/exe").unwrap();
    let binary = Binary::open(&file).unwrap();
    (file, binary)
}

#[test]
fn a_function_has_its_name_file_and_line() {
    let (file, binary) = this_program();
    let offset = offset_of(marked as fn(u64) -> u64 as usize as u64);
    let asked = [Question { offset, is_after_call: false }, Question { offset: u64::MAX, is_after_call: true }];
    let locations = binary.locations(&file, &asked, None).unwrap();
    let SourceLocation { function, file, line } = locations[0].last().unwrap().clone();
    assert!(function.as_deref().unwrap().ends_with("marked"), "{locations:?}");
    assert!(file.unwrap().ends_with("symbols/src/tests.rs"), "{locations:?}");
    let expected = include_str!("tests.rs").lines().position(|line| line.starts_with("fn marked")).unwrap() as u32 + 1;
    assert_eq!(line, Some(expected), "{locations:?}");
    assert_eq!(locations[1], []);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn at_its_first_instruction_a_function_has_its_return_address_on_top_of_the_stack() {
    let (_, binary) = this_program();
    let address = binary.address(offset_of(marked as fn(u64) -> u64 as usize as u64)).unwrap();
    let registers = Registers { instruction: 1, stack: 0x1000, frame: 0x2000 };
    let caller = binary.caller(address, registers, |at| (at == 0x1000).then_some(0x7777));
    assert_eq!(caller, Caller::At(Registers { instruction: 0x7777, stack: 0x1008, frame: 0x2000 }));
    assert_eq!(binary.caller(address, registers, |_| None), Caller::Unknown);
    assert_eq!(binary.caller(u64::MAX, registers, |_| Some(1)), Caller::Unknown);
}

#[test]
fn a_frame_pointer_leads_to_the_caller() {
    let registers = Registers { instruction: 1, stack: 0x1000, frame: 0x1010 };
    let read = |at: u64| [(0x1010, 0x1100), (0x1018, 0x7777)].into_iter().find(|word| word.0 == at).map(|word| word.1);
    let above = Registers { instruction: 0x7777, stack: 0x1020, frame: 0x1100 };
    assert_eq!(by_frame_pointer(registers, read), Some(above));
    for frame in [0, 0xff8, 0x1011, 0x2000, u64::MAX] {
        assert_eq!(by_frame_pointer(Registers { frame, ..registers }, read), None, "{frame:#x}");
    }
}

#[test]
fn what_is_no_program_is_refused() {
    let file = tempfile::tempfile().unwrap();
    assert!(Binary::open(&file).is_err());
}

#[test]
fn debug_information_is_found_by_build_id() {
    let path = |id: &str| debug_file("/".as_ref(), id).map(|path| path.display().to_string());
    assert_eq!(path("c0ffee").as_deref(), Some("/usr/lib/debug/.build-id/c0/ffee.debug"));
    assert_eq!([path(""), path("../../x")], [None, None]);
}

/// A run directory may name a pipe as a program: opening it would wait for a writer.
#[test]
fn a_pipe_or_device_is_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(crate::open(&pipe).is_err());
    assert!(crate::open(std::path::Path::new("/dev/null")).is_err());
    assert!(crate::open(&std::env::current_exe().unwrap()).is_ok());
}

/// A sparse file with one section of that name, type and size.
fn crafted(name: &str, kind: u32, bytes: u64) -> File {
    use std::io::Write;
    let word = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let half = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let names = format!("\0.shstrtab\0{name}\0");
    let section = |at: u32, kind: u32, offset: u64, bytes: u64| {
        let (link, entry) = (1u32.to_le_bytes(), if kind == 2 { 24 } else { 0 });
        [
            [at.to_le_bytes(), kind.to_le_bytes()].concat(),
            word(&[0, 0, offset, bytes]),
            [link, [0; 4]].concat(),
            word(&[1, entry]),
        ]
        .concat()
    };
    let parts = [
        [b"\x7fELF\x02\x01\x01\0".as_slice(), &[0; 8]].concat(),
        half(&[2, 62, 1, 0]),
        word(&[0, 0, 64]),
        half(&[0, 0, 64, 56, 0, 64, 3, 1]),
        vec![0; 64],
        section(1, 3, 256, names.len() as u64),
        section(11, kind, 4096, bytes),
        names.into_bytes(),
    ];
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&parts.concat()).unwrap();
    file.set_len(4096 + bytes).unwrap();
    file
}

/// A program that a stranger made may claim any size: nothing of that size is allocated.
#[test]
fn of_a_crafted_program_no_more_is_read_than_a_real_one_has() {
    const PROGRAM_DATA: u32 = 1;
    const SYMBOLS: u32 = 2;
    const HUGE: u64 = 1 << 30;
    for (name, most) in [(".eh_frame", 4 << 20), (".eh_frame_hdr", 0)] {
        assert!(Binary::open(&crafted(name, PROGRAM_DATA, HUGE)).unwrap().unwind.is_none(), "{name}");
        let small = Binary::open(&crafted(name, PROGRAM_DATA, most)).unwrap();
        assert_eq!(small.unwind.is_some(), most > 0, "{name}");
    }
    assert!(Binary::open(&crafted(".symtab", SYMBOLS, 24 * (HUGE / 24))).is_err());
    let asked = [Question { offset: 0, is_after_call: false }];
    for name in [".debug_info", ".zdebug_info"] {
        let file = crafted(name, PROGRAM_DATA, HUGE);
        let binary = Binary::open(&file).unwrap();
        assert_eq!(binary.locations(&file, &asked, Some(file.try_clone().unwrap())).unwrap(), [[]], "{name}");
    }
}

#[test]
fn tables_beyond_what_is_left_are_dropped() {
    let (_, binary) = this_program();
    let mut left = u64::MAX;
    let binary = binary.within(&mut left);
    assert!(left < u64::MAX && binary.unwind.is_some());
    assert!(binary.within(&mut 7).unwind.is_none());
}
