//! Ends of paths.

use std::collections::BTreeMap;

use model::cause::Cause;

use super::{Behind, behind};
use crate::waits::{Path, Step, Waiting, Waits};

const MS: u64 = 1_000_000;

fn path(steps: &[(Cause, u32)]) -> Path {
    steps
        .iter()
        .map(|&(cause, tid)| Step { cause, kind: None, device: None, blamed: None, tid, syncs: false, occasion: None })
        .collect()
}

/// One operation of thread 7, of pieces of 1, 2, 4, ... ms; each stands for two.
fn waits(paths: Vec<Path>) -> Waits {
    let pieces = (0..paths.len() as u32).map(|at| (at, MS << at)).collect();
    Waits {
        operations: vec![Waiting { tid: 7, pieces, ..Waiting::default() }],
        stands_for: 2,
        paths,
        tasks: BTreeMap::from([(7, "victim/7".into()), (9, "dd/9".into()), (10, "dd/9".into()), (11, "tar/11".into())]),
        ..Waits::default()
    }
}

#[test]
fn the_last_task_of_a_chain_is_named_by_its_process() {
    let found = behind(&waits(vec![
        path(&[(Cause::Lock, 7), (Cause::IoThrottle, 9)]),
        path(&[(Cause::Lock, 7), (Cause::WritebackWait, 11), (Cause::IoThrottle, 11)]),
        path(&[(Cause::Lock, 7), (Cause::IoThrottle, 10)]),
        path(&[(Cause::Device, 7)]),
    ]));
    let tasks = vec![("dd/9".to_owned(), 10 * MS), ("tar/11".to_owned(), 4 * MS)];
    let (cause, end, share) = (Cause::Lock, Cause::IoThrottle, 7.0 / 15.0);
    assert_eq!(found, [Behind { cause, end, time_ns: 14 * MS, share, tasks }]);
}

#[test]
fn the_wait_of_a_server_is_behind_the_wait_of_its_client() {
    let found = behind(&waits(vec![path(&[(Cause::Stopped, 9)])]));
    let tasks = vec![("dd/9".to_owned(), 2 * MS)];
    assert_eq!(found, [Behind { cause: Cause::Stopped, end: Cause::Stopped, time_ns: 2 * MS, share: 1.0, tasks }]);
}

#[test]
fn another_thread_of_the_same_process_is_not_named() {
    let mut waits = waits(vec![path(&[(Cause::IoThrottle, 9)])]);
    waits.operations[0].tid = 10;
    assert_eq!(behind(&waits), []);
}

#[test]
fn what_is_unknown_is_not_behind_anything() {
    assert_eq!(behind(&waits(vec![path(&[(Cause::Lock, 7), (Cause::Unexplained, 9)])])), []);
}

/// A commit that waits for the disk: the request that it ends with is one of the victim's.
#[test]
fn the_victim_is_not_named_behind_its_own_wait() {
    let found = behind(&waits(vec![path(&[(Cause::Journal, 7), (Cause::Device, 7)])]));
    let (cause, end) = (Cause::Journal, Cause::Device);
    assert_eq!(found, [Behind { cause, end, time_ns: 2 * MS, share: 1.0, tasks: Vec::new() }]);
}
