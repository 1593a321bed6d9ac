//! The archive's disk is full: the load ends cleanly, and the recording so far stays readable.

use std::path::{Path, PathBuf};

use archive::Run;
use model::event::{Ending, RunEvent};

use crate::stage::disk::{Tmpfs, fill_up};
use crate::stage::{Disk, Ended, Running, SMALL, checked, folder, is_root, shown};

/// Starts a run, and calls `fill` from the first measured reads in the archive on until it ends.
fn run_on_a_full_disk(archive_disk: &Path, seconds: u32, mut fill: impl FnMut(&Running)) -> (Ended, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let out = archive_disk.join("run");
    let words = SMALL.replace("-r 3", &format!("-r {seconds}"));
    let mut program =
        Running::start(&format!("run simoop {words} --json --out {} {}", out.display(), data.path().display()));
    program.wait_for_the_run();
    program.wait_until("reads are in the archive", |_| reads(&out) > Some(0));
    program.keep_doing(&mut fill);
    let ended = program.wait();
    println!("{:.1} s in all; {}", ended.took.as_secs_f64(), ended.stderr);
    ended.document();
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "the data set is removed");
    let report = checked(&out);
    assert_eq!((&report["whole"], report["state"].as_str()), (&true.into(), Some("closed")), "{report:#}");
    assert!(reads(&out) > Some(0));
    (ended, out)
}

/// Measured reads that the archive holds.
fn reads(run: &Path) -> Option<u64> {
    shown(run)["operations"]["read"]["count"].as_u64()
}

fn dropped(run: &Path) -> Vec<String> {
    let run = Run::open(run).unwrap();
    let table = |event: &RunEvent| match event {
        RunEvent::TableDropped { table, .. } => Some(table.clone()),
        _ => None,
    };
    run.events().iter().filter_map(table).collect()
}

fn a_full_disk_ends_the_run_cleanly(archive_disk: &Path) {
    let (ended, out) = run_on_a_full_disk(archive_disk, 60, |program| {
        // The space freed here is for closing the archive.
        if !program.stderr().contains("operations") {
            fill_up(archive_disk);
        }
    });
    assert_eq!(ended.code, Some(3));
    assert!(ended.error().contains("full"), "{}", ended.error());
    assert!(dropped(&out).contains(&"operations".to_owned()), "{:?}", dropped(&out));
    let run = Run::open(&out).unwrap();
    assert!(run.events().iter().any(|event| matches!(event, RunEvent::Ended { how: Ending::ArchiveFull, .. })));
}

#[test]
fn a_full_ext4_ends_the_run_cleanly() {
    if is_root("a disk that fills up") {
        a_full_disk_ends_the_run_cleanly(Disk::ext4(48 << 20).path());
    }
}

#[test]
fn a_full_tmpfs_ends_the_run_cleanly() {
    if is_root("a disk that fills up") {
        a_full_disk_ends_the_run_cleanly(Tmpfs::new(24).path());
    }
}

#[test]
fn a_run_continues_without_its_trace_while_its_figures_can_be_written() {
    if !is_root("a disk that fills up") {
        return;
    }
    // In memory, where it fills up at once.
    let memory = folder();
    let disk = Disk::ext4_in(memory.path(), 48 << 20);
    let mut filled = false;
    let (ended, out) = run_on_a_full_disk(disk.path(), 10, |_| {
        if !std::mem::replace(&mut filled, true) {
            fill_up(disk.path());
        }
    });
    assert_eq!(ended.code, Some(1), "its trace is lost");
    assert!(ended.stderr.contains("no longer recorded: stalls, stacks, requests"), "{}", ended.stderr);
    assert_eq!(
        dropped(&out),
        ["stalls", "stacks", "requests", "request_intervals", "tasks", "usage", "user_stacks", "user_frames"]
    );
}

#[test]
fn a_disk_that_is_full_from_the_start_is_refused() {
    if !is_root("a full disk") {
        return;
    }
    let (disk, data) = (Tmpfs::new(4), tempfile::tempdir().unwrap());
    let out = disk.path().join("run");
    let ended = crate::stage::run(&format!("run simoop {SMALL} --out {} {}", out.display(), data.path().display()));
    let ended = ended.expect_code(3);
    println!("{}", ended.error());
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

/// The command matters more than its recording.
#[test]
fn a_recorded_command_continues_when_the_archive_is_full() {
    if !is_root("a disk that fills up") {
        return;
    }
    let (disk, folder) = (Tmpfs::new(24), tempfile::tempdir().unwrap());
    let (out, finished) = (disk.path().join("run"), folder.path().join("finished"));
    let command = format!("until test -e {0}.go; do sleep 0.1; done; echo yes > {0}", finished.display());
    let out_text = out.display().to_string();
    let mut program =
        Running::start_with(&["record", "--interval", "100ms", "--out", &out_text, "--", "sh", "-c", &command]);
    program.wait_for_the_archive(&out);
    program.wait_until("the archive is full", |program| {
        fill_up(disk.path());
        program.stderr().contains("continues without being recorded")
    });
    assert!(!finished.exists());
    std::fs::write(folder.path().join("finished.go"), "").unwrap();
    let ended = program.wait().expect_code(3);
    assert!(ended.error().contains("is full; what was recorded before is complete"), "{}", ended.error());
    assert!(finished.exists(), "the command was terminated");
    assert!(Run::open(&out).unwrap().check().whole);
}
