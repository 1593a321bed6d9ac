//! Whether a neighbour is to be absent, and what that is worth.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{MS, explanation, run, waits};
use crate::blame::{Culprit, Explanation};
use crate::waits::{Step, Waiting, Waits};
use crate::whatif::advice::{Advice, advise};
use crate::whatif::{Absence, Change, predict};

/// What is advised first: the id of a remedy, or who is to be absent.
fn first(advice: &Advice) -> &str {
    match &advice.choices[0] {
        choice if !choice.remedies.is_empty() => &choice.remedies[0].id,
        choice => match &choice.change {
            Change::Absent(absence) => absence.task.as_deref().unwrap_or_default(),
            _ => "",
        },
    }
}

fn absences(advice: &Advice) -> Vec<(&Absence, u64)> {
    let absent = advice.choices.iter().filter_map(|choice| match &choice.change {
        Change::Absent(absence) => Some((absence, choice.prediction.total_ns.value / MS)),
        _ => None,
    });
    absent.collect()
}

fn advised(explanation: &Explanation, waits: &Waits) -> Advice {
    advise(explanation, waits, &Remedies::shipped(), &run())
}

/// Of 90 ms at a device, a neighbour had so many, the victim the rest.
fn beside_neighbour(ms: u64) -> (Explanation, Waits) {
    let mut explanation = explanation(Cause::Device, Some("fio"));
    let victim = Culprit {
        task: Some(crate::blame::TaskId { tid: 7, name: Some("victim".into()) }),
        ..explanation.culprits[0].clone()
    };
    explanation.culprits[0].time_ns = ms * MS;
    explanation.culprits.push(Culprit { time_ns: (90 - ms) * MS, own_ns: (90 - ms) * MS, ..victim });
    let mut waits = waits(Cause::Device);
    waits.tasks.extend([(7, "victim/7".to_owned()), (9, "fio/9".to_owned())]);
    (explanation, waits)
}

/// A service's manager hears from a job, for so long, whose requests keep the victim waiting for 90 ms.
#[test]
fn a_job_from_which_a_manager_hears_can_be_absent() {
    for (ms, expected) in [(2, "fio"), (30, "faster-disk")] {
        let (explanation, mut waits) = beside_neighbour(90);
        waits.servers = BTreeSet::from(["fio".to_owned()]);
        waits.paths.push(vec![Step { cause: Cause::Running, tid: 9, ..waits.paths[1][0] }]);
        waits.operations.push(Waiting { tid: 1, pieces: vec![(2, ms * MS)], ..Waiting::default() });
        waits.tasks.insert(1, "systemd/1".to_owned());
        assert_eq!(first(&advised(&explanation, &waits)), expected, "{ms} ms");
    }
}

/// A disk that is twice as fast would save half.
#[test]
fn a_neighbour_with_a_comparable_share_comes_before_a_faster_disk() {
    for (ms, expected) in [(90, "fio"), (45, "fio"), (32, "fio"), (15, "faster-disk"), (0, "faster-disk")] {
        let (explanation, waits) = beside_neighbour(ms);
        assert_eq!(first(&advised(&explanation, &waits)), expected, "{ms} of 90 ms");
    }
}

/// With version 1, the limit on I/O is of the root, and memory of another cgroup.
#[test]
fn a_process_that_is_known_by_two_cgroups_is_absent_once() {
    for (cgroup, pid, expected) in
        [("/", 9, vec![20]), ("/a", 9, vec![20]), ("/b", 9, vec![20]), ("/b", 11, vec![50, 70])]
    {
        let (mut explanation, waits) = beside_neighbour(50);
        explanation.culprits[0].cgroup = Some("/a".into());
        let mut again = Culprit { time_ns: 30 * MS, cgroup: Some(cgroup.into()), ..explanation.culprits[0].clone() };
        again.task = Some(crate::blame::TaskId { tid: pid, name: Some("fio".into()) });
        explanation.culprits[1].time_ns = 10 * MS;
        explanation.culprits.push(again);
        let advice = advised(&explanation, &waits);
        let found: Vec<u64> = absences(&advice).iter().map(|(_, ms)| *ms).collect();
        assert_eq!(found, expected, "{cgroup} {pid}");
        assert_eq!(absences(&advice)[0].0.cgroup.as_deref(), Some("/a"));
    }
}

/// The victim writes to a fast disk; pages for a slow one fill the limit of the machine.
#[test]
fn a_task_that_fills_the_dirty_limit_with_pages_for_another_disk_can_be_absent() {
    let disk = |minor| Some(DeviceNumber::new(7, minor));
    let mut waits = waits(Cause::DirtyThrottle);
    waits.paths[0][0].blamed = disk(6);
    let mut explanation = explanation(Cause::DirtyThrottle, Some("cp"));
    explanation.culprits[0].device = disk(5);
    let advice = advised(&explanation, &waits);
    assert_eq!(first(&advice), "cp");
    assert_eq!(absences(&advice)[0].1, 10);
}

/// The server of a file system waits for a disk that another program uses.
#[test]
fn a_task_that_uses_the_disk_of_a_file_server_can_be_absent() {
    let mut waits = waits(Cause::NetworkFs);
    waits.paths[0][0].blamed = Some(DeviceNumber::new(7, 1));
    let at_disk = Step { tid: 8, cause: Cause::Device, ..waits.paths[0][0] };
    waits.paths[0].push(at_disk);
    waits.tasks.extend([(7, "victim/7".to_owned()), (8, "bindfs/8".to_owned()), (9, "cksum/9".to_owned())]);
    let mut explanation = explanation(Cause::NetworkFs, Some("cksum"));
    explanation.culprits[0].device = Some(DeviceNumber::new(7, 1));
    let advice = advised(&explanation, &waits);
    assert_eq!((first(&advice), absences(&advice)[0].1), ("cksum", 10));
    explanation.culprits[0].device = None;
    assert!(absences(&advised(&explanation, &waits)).is_empty(), "it stopped the server");
}

/// find and ls hold the lock of a directory in turn: each has half of the blame, and is awaited for half of the time.
#[test]
fn an_absence_saves_what_its_culprit_is_blamed_for() {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::DirectoryInodeLock);
    let held = |tid: u32| vec![waits.paths[0][0], Step { tid, cause: Cause::Device, kind: None, ..waits.paths[0][0] }];
    let held_by = [held(9), held(11)];
    waits.paths.extend(held_by);
    waits.operations[0].pieces = vec![(1, 10 * MS), (2, 45 * MS), (3, 45 * MS)];
    waits.tasks.extend([(7, "victim/7".to_owned()), (9, "find/9".to_owned()), (11, "ls/11".to_owned())]);
    let mut explanation = explanation(Cause::Lock, Some("find"));
    explanation.culprits[0].time_ns = 45 * MS;
    let ls = Some(crate::blame::TaskId { tid: 11, name: Some("ls".into()) });
    explanation.culprits.push(Culprit { task: ls, ..explanation.culprits[0].clone() });
    let advice = advised(&explanation, &waits);
    assert_eq!(absences(&advice).iter().map(|(_, ms)| *ms).collect::<Vec<_>>(), [55, 55]);
}

/// dd appends to the file while the others wait for its inode. Half of the time is for a CPU.
#[test]
fn a_lock_of_the_kernel_is_held_for_as_long_as_the_call_takes() {
    for (kind, expected) in
        [(Some(WaitKind::FileInodeLock), "dd"), (Some(WaitKind::Flock), "own-cpus"), (None, "own-cpus")]
    {
        let mut waits = waits(Cause::Lock);
        waits.paths[0][0].kind = kind;
        let holds = Step { tid: 9, cause: Cause::Device, kind: None, ..waits.paths[0][0] };
        waits.paths[0].push(holds);
        waits.paths[1][0].cause = Cause::CpuWait;
        waits.operations[0].pieces = vec![(0, 52 * MS), (1, 48 * MS)];
        waits.tasks.extend([(7, "victim/7".to_owned()), (9, "dd/9".to_owned())]);
        assert_eq!(first(&advised(&explanation(Cause::Lock, Some("dd")), &waits)), expected, "{kind:?}");
    }
}

/// Task 7 asks redis-server/8, whose sync waits for what another task writes.
fn server(culprit: &str, role: Option<&str>) -> (Explanation, Waits) {
    let mut waits = waits(Cause::Journal);
    waits.paths[0][0].tid = 8;
    let journal = Step { tid: 9, cause: Cause::Device, ..waits.paths[0][0] };
    waits.paths[0].push(journal);
    waits.servers = BTreeSet::from(["redis-server".to_owned()]);
    let named = |(tid, name): (u32, &str)| (tid, format!("{name}/{tid}"));
    waits.tasks.extend([(7, "redis-cli"), (8, "redis-server"), (9, culprit)].map(named));
    let mut explanation = explanation(Cause::Journal, Some(culprit));
    explanation.culprits[0].role = role.map(str::to_owned);
    (explanation, waits)
}

#[test]
fn a_task_that_uses_what_a_server_waits_for_is_not_asked() {
    let (explanation, waits) = server("fio", None);
    assert_eq!(first(&advised(&explanation, &waits)), "fio");
}

/// A process that waits for the other end of a pipe asks nobody; a server that does, does.
#[test]
fn the_other_end_of_a_servers_connection_is_asked_too() {
    for (waiter, is_asked) in [(7, false), (8, true)] {
        let mut waits = waits(Cause::Peer);
        waits.paths[0][0].tid = waiter;
        let other_end = Step { tid: 9, cause: Cause::Device, ..waits.paths[0][0] };
        waits.paths[0].push(other_end);
        waits.tasks.extend([(7, "web/7".to_owned()), (8, "app/8".to_owned()), (9, "db/9".to_owned())]);
        let advice = advised(&explanation(Cause::Peer, Some("db")), &waits);
        assert_eq!(absences(&advice).is_empty(), is_asked);
    }
}

/// Its child that writes a snapshot, or its checkpointer.
#[test]
fn what_a_server_does_for_itself_can_be_done_at_another_time() {
    let (explanation, waits) = server("redis-server", Some("redis-rdb-bgsave"));
    let advice = advised(&explanation, &waits);
    assert_eq!((first(&advice), advice.choices[0].is_bound()), ("redis-server", true));
    assert_eq!(absences(&advice)[0].0.duty.as_deref(), Some("redis-rdb-bgsave"));
    let (explanation, waits) = server("redis-server", None);
    assert!(absences(&advised(&explanation, &waits)).is_empty(), "without a role, it may answer");
    let (explanation, mut waits) = server("redis-server", Some("worker process"));
    waits.roles.insert(8, "worker process".into());
    assert!(absences(&advised(&explanation, &waits)).is_empty(), "another one of those that answer");
}

/// The victim waits for find, which waits for the same directory, held by ls.
#[test]
fn a_task_that_waits_for_the_same_lock_is_no_holder_of_it() {
    for (lock, expected_ms) in [(Some(WaitKind::DirectoryInodeLock), 100), (Some(WaitKind::FileInodeLock), 10)] {
        let mut waits = waits(Cause::Lock);
        waits.paths[0][0].kind = Some(WaitKind::DirectoryInodeLock);
        let find = Step { tid: 9, kind: lock, ..waits.paths[0][0] };
        let ls = Step { tid: 11, cause: Cause::Device, kind: None, ..find };
        waits.paths[0].extend([find, ls]);
        waits.tasks.extend([(7, "victim/7".to_owned()), (9, "find/9".to_owned()), (11, "ls/11".to_owned())]);
        let without = |tid: u32| {
            let absence = Absence { threads: [tid].into(), ..Absence::default() };
            predict(&waits, &Change::Absent(absence)).total_ns.value / MS
        };
        assert_eq!((without(9), without(11)), (expected_ms, 10), "{lock:?}");
    }
}

/// The holder of a file's lock waits for a shell: that is all that is known of what it does.
#[test]
fn a_holder_that_waits_for_another_holds_its_lock_by_choice() {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::PosixLock);
    let other = Step { tid: 12, cause: Cause::Sleep, kind: None, ..waits.paths[0][0] };
    waits.paths[0].push(other);
    waits.tasks.extend([(7, "victim/7".to_owned()), (9, "sqlite3/9".to_owned()), (12, "bash/12".to_owned())]);
    assert_eq!(first(&advised(&explanation(Cause::Lock, Some("sqlite3")), &waits)), "file-lock");
}

/// A program waits for itself most of the time, and the victim for it alone.
#[test]
fn a_neighbour_that_waits_for_itself_counts_by_what_the_others_lose() {
    for (own_ms, expected) in [(900, "fio"), (4000, "faster-disk")] {
        let (mut explanation, mut waits) = beside_neighbour(90);
        explanation.culprits[0].time_ns += own_ms * MS;
        let own = Waiting { tid: 9, task: Some(1), pieces: vec![(0, own_ms * MS)], ..waits.operations[0].clone() };
        waits.operations.push(own);
        waits.names.push("fio".into());
        assert_eq!(first(&advised(&explanation, &waits)), expected, "{own_ms}");
    }
}
