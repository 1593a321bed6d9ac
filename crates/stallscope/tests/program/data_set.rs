//! The data set is kept and reused, or removed.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::stage::{SMALL, folder, run};

#[test]
fn a_kept_set_is_used_again_and_the_next_run_without_keep_removes_it() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let small = SMALL.replace("-r 3", "-r 1").replace("-w 1", "-w 0");
    let set = load::data::FileSet {
        name: "set".into(),
        files: 8,
        size_bytes: 4 << 20,
        replaced: false,
        filled: true,
        stamped: false,
        names: load::data::FileNames::default(),
    };
    let file = load::data::file_path(&data.path().join("stallscope-simoop"), &set, 0);
    let run = |keep: &str, name: &str| {
        let out = folder.path().join(name);
        run(&format!("run simoop {small} {keep} --out {} {}", out.display(), data.path().display())).expect_code(0)
    };
    let first = run("--keep", "first");
    assert!(!first.stderr.contains("again"), "{}", first.stderr);
    let made = fs::metadata(&file).unwrap();
    let second = run("--keep", "second");
    assert!(second.stderr.contains("reusing the kept data set in 1 of the directories"), "{}", second.stderr);
    assert_eq!(fs::metadata(&file).unwrap().ino(), made.ino());
    let third = run("", "third");
    assert!(third.stderr.contains("reusing the kept data set"), "{}", third.stderr);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0, "nothing is left");
}
