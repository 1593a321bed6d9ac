//! Waits of real processes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use model::stall::stall_flags;
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

/// A shell that started a child holds its parent's pipe as well, and waits.
#[test]
fn a_reader_waits_for_the_child_of_a_shell_that_waits_for_it() {
    let mut reader = Command::new("sh");
    let mut reader = reader.args(["-c", "x=$(sh -c 'sleep 60; true'); true"]).spawn().unwrap();
    let (mut tids, mut at) = (vec![reader.id()], reader.id());
    // The reader, the shell that it started, and `sleep`.
    while tids.len() < 3 {
        at = child_of(at);
        tids.push(at);
    }
    std::thread::sleep(Duration::from_millis(50));
    let mut waits = LastingWaits::begin(PathBuf::from("/proc"), u32::MAX);
    waits.begun.get();
    std::thread::sleep(Duration::from_millis(50));
    let rows: Vec<_> = waits.finish(&[], monotonic_ns()).into_iter().map(|wait| wait.row).collect();
    for tid in tids.iter().rev() {
        let pid = rustix::process::Pid::from_raw(*tid as i32).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    reader.wait().unwrap();
    let of_reader = rows.iter().find(|row| row.tid == tids[0]).unwrap();
    let is_hint = of_reader.flags.is_some_and(|flags| flags & stall_flags::HOLDER_IS_HINT != 0);
    assert_eq!((of_reader.holder_tid, is_hint), (tids.last().copied(), false), "{of_reader:?}, {tids:?}");
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
