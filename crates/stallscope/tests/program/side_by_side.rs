//! Two instances at once do not disturb each other.

use std::collections::BTreeSet;

use rustix::process::Signal;

use crate::stage::kernel::{cgroups_of, is_slowed};
use crate::stage::{Disk, Running, SMALL, folder, is_root, number};

/// debugfs and tracefs are mounted once, used by both, and unmounted by the last.
#[test]
fn the_first_recording_to_end_is_silent_about_mounts_that_the_other_uses() {
    if !is_root("mounting debugfs and tracefs") {
        return;
    }
    let folder = folder();
    let start = |name: &str, runtime: &str| {
        let out = folder.path().join(name);
        let mut program = Running::start(&format!("record --runtime {runtime} --json --out {}", out.display()));
        program.wait_for_the_archive(&out);
        program
    };
    let (first, second) = (start("first", "1s"), start("second", "3s"));
    for program in [first, second] {
        let ended = program.wait().expect_code(0);
        // Remains of another test's dead program may not be removed yet.
        let mut warnings = ended.stderr.lines().filter(|line| line.contains("warning"));
        assert!(warnings.all(|line| line.contains("stays registered")), "{}", ended.stderr);
        let remarks = ended.document()["remarks"].to_string();
        assert!(!remarks.contains("bdi") && !remarks.contains("tracepoint"), "{remarks}");
    }
}

#[test]
fn a_directory_in_use_by_a_run_is_refused_to_another() {
    let folder = folder();
    let at = folder.path().display().to_string();
    let long = SMALL.replace("-r 3", "-r 600");
    let mut first = Running::start(&format!("run simoop {long} --quiet --out {at}/first {at}"));
    first.wait_for_the_run();
    for keep in ["", "--keep"] {
        let refused =
            Running::start(&format!("run simoop {SMALL} {keep} --out {at}/second {at}")).wait().expect_code(3);
        assert!(refused.stderr.contains("is in use by another run; wait until it ends"), "{}", refused.stderr);
    }
    first.signal(Signal::INT);
    first.wait().expect_code(130);
    assert!(!folder.path().join("stallscope-simoop").exists());
    Running::start(&format!("run simoop {SMALL} --quiet --out {at}/third {at}")).wait().expect_code(0);
}

#[test]
fn two_runs_have_separate_memory_cgroups() {
    if !is_root("memory cgroups") {
        return;
    }
    let folder = folder();
    let disks = [Disk::ext4(96 << 20), Disk::ext4(96 << 20)];
    let start = |index: usize, runtime: u32| {
        let out = folder.path().join(format!("run-{index}"));
        let small = SMALL.replace("-r 3", &format!("-r {runtime}"));
        let at = disks[index].path().display();
        Running::start(&format!(
            "run simoop {small} --memory {}m --disk-bps 32m --json --out {} {at}",
            40 + index,
            out.display()
        ))
    };
    // The short run has not ended when the long one is prepared, however long that takes.
    let mut long = start(1, 600);
    long.wait_for_the_run();
    let mut short = start(0, 4);
    let pids = [short.pid(), long.pid()];
    short.wait_for_the_run();
    let cgroups: BTreeSet<_> = pids.iter().flat_map(|&pid| cgroups_of(pid)).collect();
    println!("{cgroups:?}");
    assert!(cgroups.len() >= 2);
    let short = short.wait().expect_code(0).document();
    assert!(cgroups_of(pids[0]).is_empty() && !is_slowed(disks[0].number()));
    assert!(!cgroups_of(pids[1]).is_empty(), "the other's cgroup exists");
    assert!(is_slowed(disks[1].number()), "the other's rule stands");
    long.signal(Signal::INT);
    let long = long.wait().expect_code(130).document();
    for (index, document) in [short, long].iter().enumerate() {
        assert_eq!(number(document, "/memory_cgroup/limit_bytes"), (40 + index) as f64 * 1048576.0);
        assert!(number(document, "/operations/write/count") > 0.0);
        assert_eq!(crate::stage::errors(document), 0);
    }
    assert!(cgroups_of(pids[1]).is_empty() && !is_slowed(disks[1].number()));
    assert!(disks.iter().all(|disk| disk.names().is_empty()));
}
