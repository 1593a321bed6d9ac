//! What would be without a culprit.

use model::cause::Cause;
use model::run::Mount;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{MS, against, explanation, run, waits};
use crate::blame::{ClassTimes, Culprit, Explanation, TaskId};
use crate::waits::{Step, Waits};
use crate::whatif::Change;
use crate::whatif::advice::{Choice, advise};

/// Half of the time of 90 ms that task 7 waits for a lock of dd/9, dd computes; cp cost others as much.
fn held() -> (Explanation, Waits) {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::FileLease);
    let computes = Step { tid: 9, ..waits.paths[1][0] };
    waits.paths[0].push(computes);
    waits.tasks.extend([(7, "victim/7".to_owned()), (9, "dd/9".to_owned())]);
    let mut explanation = explanation(Cause::Lock, Some("dd"));
    let cp = Some(TaskId { tid: 11, name: Some("cp".into()) });
    explanation.culprits.push(Culprit { task: cp, ..explanation.culprits[0].clone() });
    (explanation, waits)
}

/// The total in ms without dd, and all choices.
fn without_dd((explanation, waits): &(Explanation, Waits)) -> (u64, Vec<Choice>) {
    let choices = advise(explanation, waits, &Remedies::shipped(), &run()).choices;
    let of_dd = |choice: &&Choice| matches!(&choice.change, Change::Absent(of) if of.task.as_deref() == Some("dd"));
    let total_ms = choices.iter().find(of_dd).expect("dd").prediction.total_ns.value / MS;
    (total_ms, choices)
}

#[test]
fn without_its_holder_nobody_waits_for_a_lock() {
    let mut held = held();
    assert_eq!(without_dd(&held).0, 10);
    // Another process of that name.
    held.1.tasks.insert(9, "dd/12".into());
    assert_eq!(without_dd(&held).0, 55);
    // The culprit stands for several of its name.
    held.0.culprits[0].tasks = 2;
    assert_eq!(without_dd(&held).0, 10);
}

/// Both have the same effect on those who wait; the holder's work is wanted, too.
#[test]
fn to_hold_a_lock_for_a_shorter_time_comes_before_the_absence_of_its_holder() {
    let (_, choices) = without_dd(&held());
    assert_eq!(choices[0].remedies.first().map(|remedy| remedy.id.as_str()), Some("file-lock"));
}

#[test]
fn a_larger_journal_helps_those_that_wait_for_room() {
    for (kind, helps) in [
        (Some(WaitKind::JournalSpace), true),
        (Some(WaitKind::JournalCheckpoint), true),
        (Some(WaitKind::JournalCommit), false),
        (Some(WaitKind::LockedTransaction), false),
    ] {
        assert_eq!(against(Cause::Journal, kind).contains(&"ext4-journal-size".to_owned()), helps, "{kind:?}");
    }
}

/// A synchronous mount syncs each call: there is no file that could be preallocated.
#[test]
fn a_synchronous_mount_is_advised_to_be_none() {
    for (options, is_synchronous) in [("rw,relatime,sync,dirsync", true), ("rw,sync", true), ("rw,async", false)] {
        assert_eq!(on_mount(options, 0).contains(&"mount-async".to_owned()), is_synchronous, "{options}");
    }
}

/// Only a commit that writes data first becomes shorter.
#[test]
fn the_order_of_data_is_changed_only_where_a_commit_waits_for_data() {
    let has = |options, waits: Waits| of_mount(options, (20, waits)).contains(&"ext4-writeback".to_owned());
    let commit = |kind| {
        let mut waits = waits(Cause::Journal);
        let writes = Step { tid: 3, cause: Cause::Device, kind, ..waits.paths[0][0] };
        waits.paths[0].push(writes);
        waits
    };
    assert!(has("rw,relatime", commit(Some(WaitKind::OrderedData))));
    assert!(!has("rw,relatime", commit(None)), "it writes its own record");
    assert!(!has("rw,relatime,data=writeback", commit(Some(WaitKind::OrderedData))), "in force");
}

/// A disk that is slow for the journal's own writes is no faster because the journal is on another one.
#[test]
fn a_journal_gets_a_disk_of_its_own_only_where_others_use_its_disk() {
    for id in ["ext4-external-journal", "own-file-system"] {
        assert!(on_mount("rw", 20).contains(&id.to_owned()), "{id}");
        assert!(!on_mount("rw", 70).contains(&id.to_owned()), "{id}");
    }
}

/// A synchronous mount lets each write wait, but neither reads nor what the program syncs itself.
#[test]
fn a_mount_without_sync_changes_only_what_is_not_asked_for() {
    let first = |waits: Waits| of_mount("rw,sync", (90, waits)).first().cloned();
    assert_eq!(first(waits(Cause::Journal)).as_deref(), Some("mount-async"));
    let mut sync = waits(Cause::Journal);
    sync.paths[0][0].syncs = true;
    assert_ne!(first(sync).as_deref(), Some("mount-async"));
    let mut read = waits(Cause::Journal);
    read.names[0] = "read".into();
    assert_ne!(first(read).as_deref(), Some("mount-async"));
}

/// Neither of two that wait for each other will release its lock.
#[test]
fn a_deadlock_is_to_be_ended() {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::Flock);
    let ids = |waits: &Waits| {
        let choices = advise(&explanation(Cause::Lock, None), waits, &Remedies::shipped(), &run()).choices;
        choices[0].remedies.iter().map(|remedy| remedy.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&waits), ["file-lock"]);
    waits.deadlock = true;
    assert_eq!(ids(&waits), ["end-deadlock", "file-lock"]);
}

/// The ids that are advised against waits of fsync for the journal of an ext4 with these options, of which so many ms
/// of 90 were for what it wrote itself.
fn on_mount(options: &str, own_ms: u64) -> Vec<String> {
    of_mount(options, (own_ms, waits(Cause::Journal)))
}

fn of_mount(options: &str, (own_ms, waits): (u64, Waits)) -> Vec<String> {
    let mut run = run();
    run.mounts.push(Mount {
        point: "/data".into(),
        source: "/dev/sda1".into(),
        fs_type: "ext4".into(),
        options: options.into(),
        device: "8:1".into(),
    });
    let mut explanation = explanation(Cause::Journal, Some("tar"));
    explanation.culprits[0].file_system = Some("ext4 on /data".into());
    explanation.culprits[0].own_ns = own_ms * MS;
    let causes = explanation.causes.clone();
    explanation.classes.push(ClassTimes { class: "fsync".into(), operations: 1, wall_ns: 100 * MS, causes });
    let choices = advise(&explanation, &waits, &Remedies::shipped(), &run).choices;
    choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.clone())).collect()
}

/// The samples may miss that the limit was reached.
#[test]
fn a_task_that_hangs_without_the_oom_killer_gets_a_higher_limit() {
    let mut waits = waits(Cause::OutOfMemory);
    waits.names.push("/batch".into());
    waits.operations[0].cgroup = Some(1);
    waits.memory_sampled.insert("/batch".into());
    let advice = advise(&explanation(Cause::OutOfMemory, None), &waits, &Remedies::shipped(), &run());
    assert_eq!(advice.choices[0].remedies[0].id, "v1-memory-limit-x2");
    assert_eq!(advice.choices[0].target.cgroup.as_deref(), Some("/batch"));
}
