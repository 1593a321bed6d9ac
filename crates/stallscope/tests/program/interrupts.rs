//! Ctrl-C: final statistics and a clean end within two seconds, also while every thread is stuck in the kernel.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::kernel::cgroups_of;
use crate::stage::{Disk, Ended, Frozen, Running, SMALL, folder, is_root, number, shown, sweep_until};

/// Far more than the two seconds of an idle machine, and far less than a missed interrupt would take: the file system
/// stays frozen, and a run lasts ten minutes.
const LIMIT: Duration = Duration::from_secs(60);

fn interrupt(program: Running) -> Ended {
    let began = Instant::now();
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(130);
    let took = began.elapsed();
    println!("{:.2} s from SIGINT to the end", took.as_secs_f64());
    assert!(took < LIMIT, "{took:?}");
    ended
}

#[test]
fn a_run_ends_cleanly() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let long = SMALL.replace("-r 3", "-r 600");
    let mut program = Running::start(&format!("run simoop {long} --out {} {}", out.display(), data.path().display()));
    program.wait_for_the_run();
    program.wait_until("something is read", |_| {
        shown(&out).pointer("/operations/read/count").and_then(Value::as_u64) > Some(0)
    });
    let ended = interrupt(program);
    assert!(ended.stdout.contains("\nFinal stats\n"), "{}", ended.stdout);
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "the data set is removed");
    let document = shown(&out);
    assert_eq!(document["ended"], "interrupted");
    assert!(number(&document, "/operations/read/count") > 0.0);
}

#[test]
fn a_fill_ends_cleanly() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let large = SMALL.replace("-n 8", "-n 500");
    let mut program = Running::start(&format!("run simoop {large} --out {} {}", out.display(), data.path().display()));
    program.wait_until("the fill has begun", |_| data.path().join("stallscope-simoop/set").exists());
    interrupt(program);
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "the data set is removed");
}

#[test]
fn threads_stuck_in_a_frozen_file_system_do_not_delay_the_end() {
    if !is_root("a frozen file system") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let out = folder.path().join("run");
    let long = SMALL.replace("-r 3", "-r 600");
    let words =
        format!("run simoop {long} --memory 64m --slower-than 500ms --out {} {}", out.display(), disk.path().display());
    let mut program = Running::start(&words);
    let pid = program.pid();
    program.wait_for_the_run();
    let frozen = Frozen::new(disk.path());
    program
        .wait_until("an interval with all workers stuck", |program| program.stdout().contains("Still stuck: 2 write"));
    let ended = interrupt(program);
    let (_, last) = ended.stdout.split_once("\nFinal stats\n").expect("the final statistics");
    assert!(last.contains("Still stuck: 2 write operations, the oldest for "), "{last}");
    println!("{}", last.lines().find(|line| line.starts_with("Still stuck")).unwrap());
    let document = shown(&out);
    assert_eq!(number(&document, "/operations/write/stuck"), 2.0);
    assert!(number(&document, "/operations/write/stuck_oldest_ns") > 0.5e9);
    drop(frozen);
    // After the thaw the killed load dies, and one or two runs later nothing is left.
    sweep_until(|| disk.names().is_empty() && cgroups_of(pid).is_empty());
}

#[test]
fn a_run_in_preparation_does_not_begin() {
    if !is_root("a memory cgroup") {
        return;
    }
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let words = format!("run simoop {SMALL} --json --memory 48m --out {} {}", out.display(), data.path().display());
    let mut program = Running::start(&words);
    let pid = program.pid();
    program.wait_until("its memory cgroup exists", |_| !cgroups_of(pid).is_empty());
    let ended = interrupt(program);
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "{}", ended.stderr);
    for document in [ended.document(), shown(&out)] {
        assert_eq!((document["phases"].as_array().unwrap().len(), &document["ended"]), (0, &"interrupted".into()));
    }
    assert!(cgroups_of(pid).is_empty());
}

/// The load dies at once, but its files cannot be removed from a frozen file system.
#[test]
fn a_data_set_that_cannot_be_removed_does_not_delay_the_end() {
    if !is_root("a frozen file system") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let (recipe, out) = (folder.path().join("reader.toml"), folder.path().join("run"));
    std::fs::write(&recipe, READ).unwrap();
    let words = format!("run {} --out {} {}", recipe.display(), out.display(), disk.path().display());
    let mut program = Running::start(&words);
    let marker = disk.path().join("stallscope-reader/.stallscope");
    program.wait_until("the set is filled", |_| {
        std::fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete"))
    });
    std::thread::sleep(Duration::from_millis(500));
    let frozen = Frozen::new(disk.path());
    let ended = interrupt(program);
    println!("{}", ended.stderr);
    drop(frozen);
    sweep_until(|| disk.names().is_empty());
}

const READ: &str = r#"
name = "reader"
about = "reads of what is in memory"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "10m"

[files.set]
count = 4
size = "1m"

[[actor]]
name = "reader"
count = 1
work = true

[[actor.step]]
do = "read"
from = "set"
size = "64k"

[[actor.step]]
do = "pause"
duration = "10ms"
"#;
