//! Streams on disks that are full or fail in the middle.

use serde_json::Value;

use crate::stage::disk::Tmpfs;
use crate::stage::{Disk, Running, folder, is_root, run};

fn failures(document: &Value, class: &str) -> u64 {
    document["operations"][class]["errors"].as_u64().unwrap()
}

#[test]
fn a_file_system_that_fills_up_ends_a_stream_with_file_and_offset() {
    if !is_root("a small file system") {
        return;
    }
    let (folder, disk) = (folder(), Tmpfs::new(4));
    let words = format!(
        "run sequential-write -s 8m --block 64k --force --no-trace -q --json --out {} {}",
        folder.path().join("run").display(),
        disk.path().display()
    );
    let document = run(&words).expect_code(1).document();
    let write = &document["operations"]["write"];
    let bytes = write["bytes"].as_u64().unwrap();
    assert!((3 << 20..=4 << 20).contains(&bytes) && write["count"].as_u64().unwrap() < 100, "{write}");
    // The last block is a short write; the next one finds no space at all.
    let failed = document["failed"].as_array().unwrap();
    let full = failed.iter().find(|failed| failed["errno"] == 28).expect("no space is an error");
    let offset = full["offset_bytes"].as_u64().unwrap();
    assert!(offset >= bytes && offset <= bytes + (64 << 10), "{offset} after {bytes}");
    assert!(full["path"].as_str().unwrap().ends_with("stallscope-sequential-write/file/0000/000"));
    assert!(failures(&document, "write") <= 2, "it goes no further: {write}");
}

#[test]
fn a_rewrite_on_a_disk_that_fails_in_the_middle_reports_the_offset() {
    if !is_root("a disk that fails") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(96 << 20));
    let words = format!(
        "run rewrite -s 48m -p 1 -r 60 --direct --no-trace -q --json --out {} {}",
        folder.path().join("run").display(),
        disk.path().display()
    );
    let mut program = Running::start(&words);
    let marker = disk.path().join("stallscope-rewrite/.stallscope");
    program.wait_until("the file is filled", |_| {
        std::fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete"))
    });
    disk.fail_beyond(16 << 20);
    // Eight failures in a row end the share before the runtime does.
    let ended = program.wait().expect_code(1);
    let document = ended.document();
    assert!((8..200).contains(&failures(&document, "rewrite")), "{}", document["operations"]);
    let failed = &document["failed"][0];
    let offset = failed["offset_bytes"].as_u64().unwrap();
    assert!(failed["errno"] == 5 && offset < 48 << 20 && offset.is_multiple_of(8192), "{failed}");
    assert!(failed["path"].as_str().unwrap().ends_with("stallscope-rewrite/file/0000/000"), "{failed}");
}
