//! Which remedies and absences fit.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::run::RunDescription;
use model::time::Moment;
use remedy::Remedies;

use super::{Change, advise};
use crate::blame::{CauseTime, Culprit, EvidenceTimes, Explanation, Part, Who};
use crate::waits::{Step, Waiting, Waits};

const MS: u64 = 1_000_000;

/// One operation of task 7 that lost 90 of 100 ms to a cause.
fn waits(cause: Cause) -> Waits {
    let step = |cause| vec![Step { cause, kind: "", device: None, tid: 7 }];
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
    let time = CauseTime { cause, time_ns: 90 * MS, operations: 1, most_of: 1, evidence: EvidenceTimes::default() };
    let culprit = culprit.map(|name| Culprit {
        task: Some(Who { tid: 9, name: Some(name.into()) }),
        tasks: 1,
        cgroup: None,
        device: None,
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

/// What stopped a task, or froze it, is seldom a program that could be left out: a shell, an administrator.
#[test]
fn what_is_stopped_is_to_be_continued() {
    for (cause, id) in [(Cause::Stopped, "continue"), (Cause::Frozen, "thaw")] {
        assert!(!advises_absence(cause, &[]), "{cause:?}");
        assert_eq!(against(cause, "")[..1], [id.to_owned()]);
    }
}

/// The ids of the remedies advised against waits of that kind.
fn against(cause: Cause, kind: &'static str) -> Vec<String> {
    let mut waits = waits(cause);
    waits.paths[0][0].kind = kind;
    let advice = advise(&explanation(cause, None), &waits, &Remedies::shipped(), &run());
    advice.choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.clone())).collect()
}

#[test]
fn a_remedy_fits_the_lock() {
    for (words, id) in [
        ("inode lock of a file", "split-file"),
        ("inode lock of a directory", "split-directory"),
        ("file lock (flock)", "file-lock"),
        ("file lock (fcntl)", "file-lock"),
        ("mmap lock", "mmap-lock"),
        ("another thread", "thread-lock"),
        ("row or table lock", "row-lock"),
    ] {
        assert_eq!(against(Cause::Lock, words), [id], "{words}");
    }
    assert!(against(Cause::Lock, "btrfs tree lock").is_empty());
}

#[test]
fn a_limit_on_reads_is_not_one_on_writes() {
    for direction in ["read", "write"] {
        let ids = against(Cause::IoThrottle, direction);
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
    waits.paths[0][0].kind = "mmap lock";
    waits.paths.push(vec![Step { cause: Cause::Lock, kind: "file lock (flock)", device: None, tid: 7 }]);
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
    let limit = Step { cause: Cause::IoThrottle, kind: "write", device: Some(DeviceNumber::new(7, 3)), tid: 9 };
    waits.paths[0].push(limit);
    let advice = advise(&explanation(Cause::Lock, None), &waits, &Remedies::shipped(), &run());
    let lifted = advice.choices.iter().find(|choice| choice.remedies[0].id == "v1-write-limit-off");
    let lifted = lifted.expect("the limit of the holder");
    assert_eq!((lifted.prediction.total_ns.value / MS, lifted.target.number.as_deref()), (10, Some("7:3")));
}

#[test]
fn a_neighbours_limit_is_not_the_commands() {
    let mut waits = waits(Cause::IoThrottle);
    waits.paths[0][0].kind = "write";
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
