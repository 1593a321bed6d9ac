//! The archive's own disk is full: the load ends in order, and what was recorded stays readable.

use std::path::Path;

use archive::Run;
use model::event::{Ending, RunEvent};

use crate::stage::disk::{Tmpfs, fill_up};
use crate::stage::{Disk, Running, SMALL, checked, is_root, shown};

fn fill_up_under_a_run(archive_disk: &Path) {
    let data = tempfile::tempdir().unwrap();
    let out = archive_disk.join("run");
    let long = SMALL.replace("-r 3", "-r 60");
    let mut program =
        Running::start(&format!("run simoop {long} --json --out {} {}", out.display(), data.path().display()));
    program.wait_for_the_run();
    let ballast = fill_up(archive_disk);
    let ended = program.wait().expect_code(3);
    println!("{:.1} s in all; {}", ended.took.as_secs_f64(), ended.error());
    assert!(ended.error().contains("full"), "{}", ended.error());
    ended.document();
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "the data set is gone");
    let report = checked(&out);
    println!("{report}");
    assert_eq!((&report["whole"], report["state"].as_str()), (&true.into(), Some("closed")), "{report:#}");
    let run = Run::open(&out).unwrap();
    let dropped: Vec<_> = run.events().iter().filter(|event| matches!(event, RunEvent::TableDropped { .. })).collect();
    println!("{dropped:?}");
    assert!(!dropped.is_empty());
    assert!(run.events().iter().any(|event| matches!(event, RunEvent::Ended { how: Ending::ArchiveFull, .. })));
    assert!(shown(&out)["operations"]["read"]["count"].as_u64() > Some(0));
    std::fs::remove_file(ballast).unwrap();
}

#[test]
fn a_full_ext4_ends_the_run_in_order() {
    if is_root("a disk that fills up") {
        let disk = Disk::ext4(48 << 20);
        fill_up_under_a_run(disk.path());
    }
}

#[test]
fn a_full_tmpfs_ends_the_run_in_order() {
    if is_root("a disk that fills up") {
        let disk = Tmpfs::new(24);
        fill_up_under_a_run(disk.path());
    }
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
