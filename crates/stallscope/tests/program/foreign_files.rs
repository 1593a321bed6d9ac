//! Files that people have from other tools, given to the program.

use std::fs;

use crate::stage::{folder, run};

const FIO: &str = include_str!("../../../compare/src/foreign/samples/fio_unified.json");

/// A file that is cut off ends neither a directory of runs nor the comparison.
#[test]
fn a_damaged_file_does_not_end_a_directory() {
    let folder = folder();
    for side in ["a", "b"] {
        fs::create_dir(folder.path().join(side)).unwrap();
        fs::write(folder.path().join(side).join("1.json"), FIO).unwrap();
        fs::write(folder.path().join(side).join("2.json"), &FIO[..900]).unwrap();
    }
    let ended = run(&format!("compare --json {}", folder.path().display()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("left out: ").count(), 2, "{}", ended.stderr);
    assert!(ended.stdout.contains("mixed.p50"), "{}", ended.stdout);
}
