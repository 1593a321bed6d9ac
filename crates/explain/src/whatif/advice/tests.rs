//! Which remedies and absences fit.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::run::{Device, RunDescription};
use model::time::Moment;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{Change, Choice, advise};
use crate::blame::{CauseTime, ClassTimes, Culprit, EvidenceTimes, Explanation, Part, TaskId};
use crate::waits::{Burst, Dirtying, MemoryLimit, Step, Waiting, Waits};

mod absence;
mod fitting;
mod neighbour;
mod order;
mod program;
mod stopped;

const MS: u64 = 1_000_000;

/// One operation of task 7 that lost 90 of 100 ms to a cause.
fn waits(cause: Cause) -> Waits {
    let step =
        |cause| vec![Step { cause, kind: None, device: None, blamed: None, tid: 7, syncs: false, occasion: None }];
    let operation = Waiting { tid: 7, task: Some(0), pieces: vec![(0, 90 * MS), (1, 10 * MS)], ..Waiting::default() };
    Waits {
        operations: vec![operation],
        stands_for: 1,
        paths: vec![step(cause), step(Cause::Running)],
        names: vec!["victim".into()],
        ..Waits::default()
    }
}

fn explanation(cause: Cause, culprit: Option<&str>) -> Explanation {
    let time = CauseTime {
        cause,
        time_ns: 90 * MS,
        operations: 1,
        most_of: 1,
        evidence: EvidenceTimes::default(),
        again: EvidenceTimes::default(),
    };
    let culprit = culprit.map(|name| Culprit {
        evicts: false,
        task: Some(TaskId { tid: 9, name: Some(name.into()) }),
        tasks: 1,
        started_by: None,
        through: None,
        role: None,
        cgroup: None,
        container: None,
        device: None,
        device_name: None,
        file_system: None,
        cause,
        time_ns: 90 * MS,
        own_ns: 0,
        victims: Vec::new(),
        victims_count: 1,
        at_once: 0,
    });
    Explanation { wall_ns: 100 * MS, causes: vec![time], culprits: Vec::from_iter(culprit), ..Explanation::default() }
}

fn run() -> RunDescription {
    RunDescription::new("test", Moment::default())
}

/// Whether it is advised to run without the culprit.
fn advises_absence(cause: Cause, command: &[u32]) -> bool {
    advises_absence_of(cause, Waits { command: BTreeSet::from_iter(command.iter().copied()), ..waits(cause) })
}

fn advises_absence_of(cause: Cause, waits: Waits) -> bool {
    let advice = advise(&explanation(cause, Some("dd")), &waits, &Remedies::shipped(), &run());
    advice.choices.iter().any(|choice| matches!(&choice.change, Change::Absent(absence) if absence.task.is_some()))
}

#[test]
fn what_the_user_wants_done_is_not_advised_away() {
    assert!(advises_absence(Cause::Device, &[]));
    assert!(advises_absence(Cause::Device, &[7]), "a neighbour of the command");
    assert!(advises_absence(Cause::Lock, &[7]), "a neighbour of the command");
    assert!(!advises_absence(Cause::Device, &[7, 9]), "a process of the command");
    assert!(!advises_absence(Cause::NetworkFs, &[7]), "the program behind its file system");
    let waits = Waits { servers: BTreeSet::from(["dd".to_owned()]), ..waits(Cause::Lock) };
    assert!(!advises_absence_of(Cause::Lock, waits), "another process of the server that it asks");
}

/// The command's fio waits for threads of its own, and beside it runs another fio.
#[test]
fn a_neighbour_of_the_same_program_can_be_advised_away() {
    let mut waits = Waits { command: BTreeSet::from([7]), ..waits(Cause::Device) };
    waits.names = vec!["fio".into()];
    waits.tasks = [(7, "fio/7".to_owned()), (8, "fio/7".to_owned()), (9, "fio/9".to_owned())].into();
    waits.paths[0][0].tid = 8;
    let advice = advise(&explanation(Cause::Device, Some("fio")), &waits, &Remedies::shipped(), &run());
    let absences = advice.choices.iter().filter_map(|choice| match &choice.change {
        Change::Absent(absence) => Some((absence.task.as_deref(), absence.pid)),
        _ => None,
    });
    assert_eq!(absences.collect::<Vec<_>>(), [(Some("fio"), Some(9))]);
}

#[test]
fn read_ahead_helps_no_direct_reads() {
    let is_advised = |kind: Option<WaitKind>| {
        let mut waits = waits(Cause::Device);
        waits.paths[0][0].kind = kind;
        let mut explained = explanation(Cause::Device, None);
        let causes = explained.causes.clone();
        explained.classes.push(ClassTimes { class: "pread64".into(), operations: 1, wall_ns: 100 * MS, causes });
        let advice = advise(&explained, &waits, &Remedies::shipped(), &run());
        advice.choices.iter().flat_map(|choice| &choice.remedies).any(|remedy| remedy.id == "read-ahead")
    };
    assert_eq!((is_advised(None), is_advised(Some(WaitKind::DirectIo))), (true, false));
}

/// Tasks are known by their cgroup of another hierarchy (version 1).
#[test]
fn the_limit_of_the_cgroup_that_used_it_up_is_changed() {
    for (cause, remedy) in [(Cause::IoThrottle, "limit"), (Cause::CpuThrottle, "quota")] {
        let mut explained = explanation(cause, Some("dd"));
        explained.culprits[0].cgroup = Some("/limited".into());
        let mut waits = waits(cause);
        waits.paths[0][0].kind = Some(WaitKind::Write);
        let advice = advise(&explained, &waits, &Remedies::shipped(), &run());
        let has = |choice: &&Choice| choice.remedies.iter().any(|one| one.id.contains(remedy));
        let cgroups: Vec<_> = advice.choices.iter().filter(has).map(|choice| choice.target.cgroup.as_deref()).collect();
        assert!(!cgroups.is_empty() && cgroups.iter().all(|cgroup| *cgroup == Some("/limited")), "{cgroups:?}");
    }
}

/// What stopped a task, or froze it, is seldom a program that could be left out: a shell, an administrator.
#[test]
fn what_is_stopped_is_to_be_continued() {
    for (cause, id) in [(Cause::Stopped, "continue"), (Cause::Frozen, "thaw")] {
        assert!(!advises_absence(cause, &[]), "{cause:?}");
        assert_eq!(against(cause, None)[..1], [id.to_owned()]);
    }
}

/// The ids of the remedies advised against waits of that kind.
fn against(cause: Cause, kind: Option<WaitKind>) -> Vec<String> {
    let mut waits = waits(cause);
    waits.paths[0][0].kind = kind;
    let advice = advise(&explanation(cause, None), &waits, &Remedies::shipped(), &run());
    advice.choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.clone())).collect()
}

#[test]
fn a_remedy_fits_the_lock() {
    for (kind, id) in [
        (Some(WaitKind::FileInodeLock), "split-file"),
        (Some(WaitKind::DirectoryInodeLock), "split-directory"),
        (Some(WaitKind::Flock), "file-lock"),
        (Some(WaitKind::PosixLock), "file-lock"),
        (Some(WaitKind::MmapLock), "mmap-lock"),
        (Some(WaitKind::AnotherThread), "thread-lock"),
        (Some(WaitKind::RowLock), "row-lock"),
        (Some(WaitKind::Asleep), "thread-lock"),
        (Some(WaitKind::BtrfsTreeLock), "kernel-lock"),
        (Some(WaitKind::KernelLock), "kernel-lock"),
    ] {
        assert_eq!(against(Cause::Lock, kind), [id], "{kind:?}");
    }
    assert!(against(Cause::Lock, Some(WaitKind::RcuGracePeriod)).is_empty());
}

#[test]
fn a_limit_on_reads_is_not_one_on_writes() {
    for (kind, direction) in [(WaitKind::Read, "read"), (WaitKind::Write, "write")] {
        let ids = against(Cause::IoThrottle, Some(kind));
        assert!(ids.len() >= 4 && ids.iter().all(|id| id.contains(direction)), "{direction}: {ids:?}");
    }
}

#[test]
fn a_machine_gets_remedies_of_its_cgroup_version() {
    for (version, expected) in [(1, "v1-cpu-quota-off"), (2, "v2-cpu-quota-off")] {
        let mut run = run();
        run.host.cgroup_version = Some(version);
        let cause = Cause::CpuThrottle;
        let advice = advise(&explanation(cause, None), &waits(cause), &Remedies::shipped(), &run);
        assert_eq!(advice.choices[0].remedies.len(), 1);
        assert_eq!(advice.choices[0].remedies[0].id, expected);
    }
}

#[test]
fn a_change_of_one_kind_leaves_the_others() {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::MmapLock);
    waits.paths.push(vec![Step {
        cause: Cause::Lock,
        kind: Some(WaitKind::Flock),
        device: None,
        blamed: None,
        tid: 7,
        syncs: false,
        occasion: None,
    }]);
    waits.operations[0].pieces.push((2, 50 * MS));
    let advice = advise(&explanation(Cause::Lock, None), &waits, &Remedies::shipped(), &run());
    let totals: Vec<(&str, u64)> = advice
        .choices
        .iter()
        .map(|choice| (choice.remedies[0].id.as_str(), choice.prediction.total_ns.value / MS))
        .collect();
    assert_eq!(totals, [("mmap-lock", 60), ("file-lock", 100)]);
}

#[test]
fn a_limit_behind_a_lock_calls_for_its_remedies() {
    let mut waits = waits(Cause::Lock);
    let limit = Step {
        cause: Cause::IoThrottle,
        kind: Some(WaitKind::Write),
        device: Some(DeviceNumber::new(7, 3)),
        blamed: None,
        tid: 9,
        syncs: false,
        occasion: None,
    };
    waits.paths[0].push(limit);
    let advice = advise(&explanation(Cause::Lock, None), &waits, &Remedies::shipped(), &run());
    let lifted = advice.choices.iter().find(|choice| choice.remedies[0].id == "v1-write-limit-off");
    let lifted = lifted.expect("the limit of the holder");
    assert_eq!((lifted.prediction.total_ns.value / MS, lifted.target.number.as_deref()), (10, Some("7:3")));
}

#[test]
fn a_neighbours_limit_is_not_the_commands() {
    let mut waits = waits(Cause::IoThrottle);
    waits.paths[0][0].kind = Some(WaitKind::Write);
    let mut explanation = explanation(Cause::IoThrottle, Some("dd"));
    let own = Culprit { device: Some(DeviceNumber::new(7, 3)), time_ns: MS, ..explanation.culprits[0].clone() };
    explanation.culprits[0].device = Some(DeviceNumber::new(7, 1));
    let target = |explanation: &Explanation| {
        let advice = advise(explanation, &waits, &Remedies::shipped(), &run());
        let lifted = advice.choices.into_iter().find(|choice| choice.remedies[0].id == "v1-write-limit-off");
        lifted.expect("the limit").target.number
    };
    assert_eq!(target(&explanation).as_deref(), Some("7:1"));
    explanation.command = Some(Part { operations: 1, culprits: vec![own], ..Part::default() });
    assert_eq!(target(&explanation).as_deref(), Some("7:3"));
}

const MIB: u64 = 1 << 20;

/// Operations of a cgroup with a limit of 32 MiB, which read or filled so much.
fn limited(cause: Cause, class: &str, (read, refaulted, filled): (u64, u64, u64)) -> Waits {
    let mut waits = waits(cause);
    waits.names.extend(["/batch/7".to_owned(), class.to_owned()]);
    (waits.operations[0].cgroup, waits.operations[0].class) = (Some(1), 2);
    let of = |cgroup: &str, bytes: u64| MemoryLimit {
        cgroup: cgroup.into(),
        bytes,
        read_bytes: read * MIB,
        refaulted_bytes: refaulted * MIB,
        filled_bytes: filled * MIB,
        ..MemoryLimit::default()
    };
    waits.memory = vec![of("/batch", 32 * MIB), of("/bat", MIB)];
    waits
}

/// The predicted total in ms and the cgroup of a remedy.
fn predicted(cause: Cause, waits: &Waits, id: &str) -> Option<(u64, Option<String>)> {
    let advice = advise(&explanation(cause, None), waits, &Remedies::shipped(), &run());
    let is_it = |choice: &&Choice| choice.remedies.iter().any(|remedy| remedy.id == id);
    advice
        .choices
        .iter()
        .find(is_it)
        .map(|choice| (choice.prediction.total_ns.value / MS, choice.target.cgroup.clone()))
}

#[test]
fn a_limit_that_evicts_what_is_read_again_is_advised_to_be_raised() {
    let of =
        |cause, class: &str, amounts| predicted(cause, &limited(cause, class, amounts), "v1-memory-limit-x4-refaults");
    // Two thirds of what is read was read before: 90 ms of waits become 30.
    let raised = Some((40, Some("/batch".to_owned())));
    assert_eq!(of(Cause::IoThrottle, "pread64", (120, 80, 120)), raised);
    assert_eq!(of(Cause::Device, "page_fault", (120, 80, 120)), raised);
    assert_eq!(of(Cause::Device, "pread64", (120, 20, 120)), None, "most is read once");
    assert_eq!(of(Cause::Device, "pread64", (8, 7, 8)), None, "little of the limit");
    assert_eq!(of(Cause::Device, "fsync", (120, 80, 120)), None, "not a read");
    let mut shell = limited(Cause::IoThrottle, "wait4", (120, 80, 120));
    assert_eq!(
        predicted(Cause::IoThrottle, &shell, "v1-memory-limit-x4-refaults"),
        None,
        "of what it waits for is unknown"
    );
    shell.paths[0][0].kind = Some(WaitKind::Read);
    assert_eq!(predicted(Cause::IoThrottle, &shell, "v1-memory-limit-x4-refaults"), raised, "for a command that reads");
    assert_eq!(of(Cause::DirtyThrottle, "pread64", (120, 80, 120)), None, "no wait for a disk");
    let mut others = limited(Cause::Device, "pread64", (120, 80, 120));
    others.names[1] = "/batch7".into();
    assert_eq!(predicted(Cause::Device, &others, "v1-memory-limit-x4-refaults"), None, "another cgroup");
    let mut writes = limited(Cause::IoThrottle, "read", (120, 80, 120));
    writes.paths[0][0].kind = Some(WaitKind::Write);
    assert_eq!(predicted(Cause::IoThrottle, &writes, "v1-memory-limit-x4-refaults"), None, "a write behind a read");
}

/// That of a cgroup which was not sampled may be reached: that is not the same as none.
#[test]
fn a_memory_limit_that_was_not_sampled_is_unknown() {
    let of = |cause, class: &str, sampled: &[&str], cgroup: &str| {
        let mut waits = limited(cause, class, (120, 80, 120));
        (waits.names[1], waits.memory) = (cgroup.into(), Vec::new());
        waits.memory_sampled = sampled.iter().map(|cgroup| (*cgroup).to_owned()).collect();
        let mut explanation = explanation(cause, None);
        let causes = explanation.causes.clone();
        let class = ClassTimes { class: class.into(), operations: 1, wall_ns: 100 * MS, causes };
        explanation.classes.push(class);
        let advice = advise(&explanation, &waits, &Remedies::shipped(), &run());
        let ids = advice.choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.as_str()));
        let raises = ids.clone().any(|id| id == "v1-memory-limit-x2");
        (advice.memory_limit_is_unknown, raises)
    };
    let (reclaim, device) = (Cause::DirectReclaim, Cause::Device);
    assert_eq!(of(reclaim, "write", &["/batch", "/batch/7"], "/batch/7"), (false, false), "no limit was reached");
    assert_eq!(of(reclaim, "write", &["/batch/7"], "/batch/7"), (true, true), "one above");
    assert_eq!(of(reclaim, "write", &["/other"], "/batch/7"), (true, true));
    assert_eq!(of(reclaim, "write", &["/other"], "/"), (true, true), "the root");
    assert_eq!(of(device, "pread64", &[], "/batch/7"), (true, false), "what is read may have been evicted");
    assert_eq!(of(device, "fsync", &[], "/batch/7"), (false, false));
}

/// Dirty pages go as far as the next limit: the waits are for what lies beyond it.
#[test]
fn twice_the_limit_helps_only_as_far_as_it_goes() {
    let of = |amounts| {
        let waits = limited(Cause::DirectReclaim, "write", amounts);
        predicted(Cause::DirectReclaim, &waits, "v1-memory-limit-x2").map(|(ms, _)| ms)
    };
    assert_eq!(of((0, 0, 96)), Some(55), "half of 90 ms");
    assert_eq!(of((0, 0, 60)), Some(10), "all fits");
    assert_eq!(of((0, 0, 32 << 10)), None, "a stream without end");
    assert_eq!(of((1024, 1000, 1024)), Some(10), "what is read again is no more memory");
}

/// A writer without end reaches any limit, and is as fast as its disk then; one that ends may fit into a higher limit.
#[test]
fn a_higher_limit_of_dirty_pages_does_not_help_a_writer_without_end() {
    let of = |id: &str, bursts: &[(u64, bool)]| {
        let bursts = bursts.iter().map(|(mib, goes_on)| Burst { dirtied_bytes: mib * MIB, goes_on: *goes_on });
        let dirtying = Dirtying { limit_bytes: 200 * MIB, bursts: bursts.collect() };
        let waits = Waits { dirtying: Some(dirtying), ..waits(Cause::DirtyThrottle) };
        predicted(Cause::DirtyThrottle, &waits, id).map(|(ms, _)| ms)
    };
    for id in ["dirty-bytes", "strict-limit-off"] {
        assert_eq!(of(id, &[(150, false)]), Some(10), "{id}: all fits");
        assert_eq!(of(id, &[(400, false)]), Some(55), "{id}: half of 90 ms");
        assert_eq!(of(id, &[(150, false), (150, false)]), Some(10), "{id}: one after the other");
        assert_eq!(of(id, &[(150, true)]), None, "{id}: without end");
        assert_eq!(of(id, &[(150, false), (150, true)]), Some(55), "{id}: one of two without end");
    }
    assert_eq!(of("faster-writeback", &[(150, true)]), Some(55));
    assert_eq!(
        predicted(Cause::DirtyThrottle, &waits(Cause::DirtyThrottle), "dirty-bytes").map(|(ms, _)| ms),
        Some(10)
    );
}

#[test]
fn kswapd_does_not_help_a_cgroup_at_its_limit() {
    let id = "watermark-scale";
    assert!(predicted(Cause::DirectReclaim, &limited(Cause::DirectReclaim, "write", (0, 0, 60)), id).is_none());
    assert!(predicted(Cause::DirectReclaim, &waits(Cause::DirectReclaim), id).is_some());
}

#[test]
fn a_limit_on_writes_delays_discards_and_one_on_reads_does_not() {
    let ids = against(Cause::IoThrottle, Some(WaitKind::Discard));
    assert!(ids.contains(&"v1-write-limit-off".to_owned()) && !ids.iter().any(|id| id.contains("read")), "{ids:?}");
    for cause in [Cause::IoThrottle, Cause::Device] {
        assert!(against(cause, Some(WaitKind::Discard)).contains(&"discard-less".to_owned()), "{cause:?}");
        assert!(!against(cause, None).contains(&"discard-less".to_owned()), "{cause:?}");
    }
}

/// Threads of one process keep each other from the CPU.
#[test]
fn own_cpus_are_no_help_against_oneself() {
    let mut explanation = explanation(Cause::CpuWait, Some("victim"));
    let ids = |explanation: &Explanation| {
        let advice = advise(explanation, &waits(Cause::CpuWait), &Remedies::shipped(), &run());
        advice.choices.into_iter().flat_map(|choice| choice.remedies).map(|remedy| remedy.id).collect::<Vec<_>>()
    };
    assert!(ids(&explanation).contains(&"own-cpus".to_owned()));
    explanation.culprits[0].own_ns = explanation.culprits[0].time_ns;
    assert!(!ids(&explanation).iter().any(|id| ["own-cpus", "nice", "v1-cpu-shares"].contains(&id.as_str())));
}

#[test]
fn a_pinned_task_gets_more_cpus_first() {
    assert!(!against(Cause::CpuWait, None).contains(&"more-cpus".to_owned()));
    let waits = Waits { pinned: true, ..waits(Cause::CpuWait) };
    let advice = advise(&explanation(Cause::CpuWait, None), &waits, &Remedies::shipped(), &run());
    assert_eq!(advice.choices[0].remedies[0].id, "more-cpus");
}

#[test]
fn a_lock_of_a_database_server_is_that_of_a_transaction() {
    assert!(!against(Cause::Lock, Some(WaitKind::AnotherThread)).contains(&"session-lock".to_owned()));
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::AnotherThread);
    waits.tasks.insert(7, "mariadbd/93".into());
    let advice = advise(&explanation(Cause::Lock, None), &waits, &Remedies::shipped(), &run());
    assert_eq!(advice.choices[0].remedies[0].id, "session-lock");
}

/// Of two limits on a disk, the one that is set is to be changed.
#[test]
fn the_limit_that_a_cgroup_has_is_to_be_changed() {
    let mut waits = waits(Cause::IoThrottle);
    waits.paths[0][0].kind = Some(WaitKind::Write);
    let mut explanation = explanation(Cause::IoThrottle, Some("dd"));
    explanation.culprits[0].device = Some(DeviceNumber::new(7, 3));
    let mut run = run();
    run.host.cgroup_version = Some(1);
    run.devices.push(Device {
        number: "7:3".into(),
        name: "loop3".into(),
        identity: "/images/a:b".into(),
        ..Device::default()
    });
    let mut advised = |limits: &[(&str, &'static str)]| {
        waits.io_limits = limits.iter().map(|(disk, kind)| ((*disk).to_owned(), *kind)).collect();
        let advice = advise(&explanation, &waits, &Remedies::shipped(), &run);
        let ids = advice.choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.clone()));
        ids.collect::<Vec<_>>()
    };
    assert_eq!(advised(&[("/images/a:b", "write_iops")]), ["v1-write-iops-off", "v1-write-iops-x4"]);
    assert_eq!(
        advised(&[("/images/a:b", "write_bps"), ("sda", "write_iops")]),
        ["v1-write-limit-x4", "v1-write-limit-off"]
    );
    assert_eq!(advised(&[("sda", "write_iops")]).len(), 4, "unknown: all");
    assert_eq!(advised(&[("/images/a:b", "read_bps")]).len(), 4, "that on writes is of a cgroup that was not sampled");
}

/// `logger` waits for `rsyslogd`, which a limit delays.
#[test]
fn a_task_that_the_victim_needs_is_not_advised_away() {
    let mut waits = waits(Cause::IoThrottle);
    waits.tasks.extend([(7, "logger/7".to_owned()), (9, "dd/9".to_owned())]);
    waits.paths[0].insert(
        0,
        Step { cause: Cause::Lock, kind: None, device: None, blamed: None, tid: 7, syncs: false, occasion: None },
    );
    waits.paths[0][1].tid = 9;
    assert!(advises_absence_of(Cause::Lock, waits.clone()), "a holder of a lock");
    waits.paths[0].remove(0);
    assert!(!advises_absence_of(Cause::IoThrottle, waits), "it awaits its answer");
}

/// Without the limit on reads 86 ms are gone; a higher memory limit may save the time at the device, too.
#[test]
fn what_helps_for_certain_comes_before_what_may_help_a_little_more() {
    let mut waits = limited(Cause::IoThrottle, "pread64", (120, 119, 120));
    waits.paths[0][0].kind = Some(WaitKind::Read);
    waits.paths.push(vec![Step {
        cause: Cause::Device,
        kind: None,
        device: None,
        blamed: None,
        tid: 7,
        syncs: false,
        occasion: None,
    }]);
    waits.operations[0].pieces = vec![(0, 86 * MS), (1, 10 * MS), (2, 4 * MS)];
    let advice = advise(&explanation(Cause::IoThrottle, None), &waits, &Remedies::shipped(), &run());
    let first = &advice.choices[0];
    assert!(first.remedies[0].id.starts_with("v1-read-limit"), "{:?}", first.remedies);
    let may_save = advice.choices.iter().filter(|choice| choice.is_bound()).map(Choice::saved_ns).max();
    assert!(may_save > Some(first.saved_ns()), "{may_save:?}");
}

#[test]
fn a_setting_that_saves_nearly_as_much_comes_before_the_absence_of_a_culprit() {
    let mut waits = waits(Cause::IoThrottle);
    waits.paths[0][0].kind = Some(WaitKind::Write);
    // 5 of 95 ms lie behind a lock that the culprit holds.
    waits.operations[0].pieces[1] = (2, 5 * MS);
    waits.paths.push(vec![Step {
        cause: Cause::Lock,
        kind: Some(WaitKind::MmapLock),
        device: None,
        blamed: None,
        tid: 7,
        syncs: false,
        occasion: None,
    }]);
    let mut explanation = explanation(Cause::IoThrottle, Some("dd"));
    let lock = Culprit { cause: Cause::Lock, time_ns: 5 * MS, ..explanation.culprits[0].clone() };
    explanation.culprits.push(lock);
    let advice = advise(&explanation, &waits, &Remedies::shipped(), &run());
    let absent = advice.choices.iter().find(|choice| matches!(choice.change, Change::Absent(_)));
    assert!(absent.map(Choice::saved_ns) > Some(advice.choices[0].saved_ns()), "{absent:?}");
    assert!(advice.choices[0].remedies[0].id.starts_with("v1-write-limit"));
}

/// A little that is certain is no answer to a lot that is possible: 90 % of a journal, and a part of a limit on reads.
#[test]
fn a_bound_counts_for_a_quarter() {
    let first = |certain_ms: u64| {
        let mut waits = waits(Cause::Journal);
        waits.operations[0].pieces[1] = (2, certain_ms * MS);
        waits.paths.push(vec![Step {
            cause: Cause::IoThrottle,
            kind: Some(WaitKind::Read),
            device: None,
            blamed: None,
            tid: 7,
            syncs: false,
            occasion: None,
        }]);
        let advice = advise(&explanation(Cause::Journal, None), &waits, &Remedies::shipped(), &run());
        assert!(advice.choices.is_sorted_by(|a, b| a.rank() >= b.rank()));
        advice.choices[0].is_bound()
    };
    assert!(first(5));
    assert!(!first(30));
}
