//! Waits of real processes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::thread::gettid;

use super::LastingWaits;
use crate::bytes::read_text;
use crate::clock::monotonic_ns;

/// The number of a process's only child, as soon as it has one.
fn child_of(pid: u32) -> u32 {
    loop {
        let children = read_text(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Threads whose waits are recorded at the end by a recorder of that number.
fn waiting(recorder: u32) -> Vec<u32> {
    let mut waits = LastingWaits::begin(PathBuf::from("/proc"), recorder);
    waits.begun.get();
    std::thread::sleep(Duration::from_millis(50));
    waits.finish(&[], monotonic_ns()).into_iter().map(|wait| wait.row.tid).collect()
}

/// The same shell is recorded by a recorder that it did not start.
#[test]
fn what_started_the_recorder_waits_for_it_and_is_no_stall() {
    let mut shell = Command::new("sh").args(["-c", "sleep 60; true"]).spawn().unwrap();
    let number = shell.id();
    let (named, name) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || {
        named.send(gettid().as_raw_nonzero().get() as u32).unwrap();
        shell.wait()
    });
    let (waiter_tid, child) = (name.recv().unwrap(), child_of(number));
    std::thread::sleep(Duration::from_millis(50));
    let (of_child, of_stranger) = (waiting(child), waiting(u32::MAX));
    for tid in [child, number] {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(tid as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
    waiter.join().unwrap().unwrap();
    for tid in [waiter_tid, number] {
        assert!(of_stranger.contains(&tid) && !of_child.contains(&tid), "{tid}: {of_stranger:?}, {of_child:?}");
    }
}
