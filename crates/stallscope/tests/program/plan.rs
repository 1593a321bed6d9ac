//! `--plan` prints what a run would do, and does nothing; a plan that does not fit is refused.

use std::fs;
use std::process::Command;

use crate::stage::{Disk, Running, SMALL, folder, is_root, run};

#[test]
fn a_plan_is_printed_and_nothing_is_written() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let ended = run(&format!("run simoop {SMALL} --plan --out {} {}", out.display(), data.path().display()));
    let text = ended.expect_code(0).stdout;
    println!("{text}");
    assert!(text.contains("thread") && text.contains("32.0 MiB"), "{text}");
    assert!(!out.exists());
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

/// 25 minutes and gigabytes in a directory that nobody named.
#[test]
fn a_large_load_without_a_directory_says_what_it_would_do_and_asks() {
    let folder = folder();
    let start = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
        command.current_dir(folder.path()).args(["run", "simoop"]).args(words);
        Running::spawn(command).wait()
    };
    let long = SMALL.replace("-w 1", "-w 300").replace("-r 3", "-r 1200");
    let refused = start(&long.split(' ').collect::<Vec<_>>()).expect_code(2);
    let error = refused.error();
    for part in ["32.0 MiB", "25.0 min", &folder.path().display().to_string(), "--yes", "name a directory"] {
        assert!(error.contains(part), "no '{part}' in: {error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(start(&["--yes", "."]).expect_code(2).stderr.contains("cannot be used with"));
    // A short and small one goes on.
    start(&SMALL.split(' ').chain(["--no-trace", "-q"]).collect::<Vec<_>>()).expect_code(0);
}

#[test]
fn a_data_set_larger_than_the_disk_is_refused_unless_forced() {
    if !is_root("a disk too small for its load") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(32 << 20));
    let out = folder.path().join("run");
    let small = SMALL.replace("-n 8", "-n 16");
    let words = format!("run simoop {small} --out {} {}", out.display(), disk.path().display());
    let refused = run(&words).expect_code(3);
    println!("{}", refused.error());
    assert!(refused.error().contains("64.0 MiB"), "{}", refused.error());
    let planned = run(&format!("{words} --plan --json")).expect_code(3).document();
    assert_eq!(planned["fits"], false);
    assert!(!out.exists());
    assert_eq!(disk.names(), [""; 0]);
    // With --force the fill reports that the disk is full.
    let forced = run(&format!("{words} --force")).expect_code(1);
    println!("{}", forced.error());
    assert!(forced.error().contains("No space left"), "{}", forced.error());
    assert_eq!(disk.names(), [""; 0]);
}

#[test]
fn a_foreign_directory_is_left_alone_also_when_forced() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let foreign = data.path().join("stallscope-simoop");
    fs::create_dir_all(foreign.join("set/0000")).unwrap();
    fs::write(foreign.join("set/0000/0000"), "precious").unwrap();
    let out = folder.path().join("run");
    for force in ["", "--force"] {
        let words = format!("run simoop {SMALL} {force} --out {} {}", out.display(), data.path().display());
        let refused = run(&words);
        assert!(refused.code != Some(0), "{refused:?}");
        assert!(refused.error().contains("has no readable marker"), "{}", refused.error());
        println!("{}", refused.error());
        assert_eq!(fs::read_to_string(foreign.join("set/0000/0000")).unwrap(), "precious");
        assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
        let _ = fs::remove_dir_all(&out);
    }
}
