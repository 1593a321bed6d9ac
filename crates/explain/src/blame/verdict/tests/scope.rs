//! Operations in and out of a scope, and who lost the time.

use model::block::DeviceNumber;
use model::run::{Device, Mount, RunDescription};
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, Stage, description, stage};
use crate::blame::{Blame, Cause, Explanation, Scope};

/// A command with two threads, and a neighbour, which reads from another disk.
const TWO_PROGRAMS: &str = "
call:fsync 7 | ==================== | path=/mnt/a/f watched
off        7 |  ssssssssssssssssss  | stack=jbd2_log_wait_commit,ext4_sync_file watched
call:read  8 | ==========           | path=/mnt/b/g watched
off        8 |  ssssssss            | stack=folio_wait_bit request=3 watched
request    3 |  Q I D   C           | device=7,1
call:read  9 | ================     | path=/elsewhere/h
off        9 |  ssssssssssssss      | stack=folio_wait_bit request=4
request    4 |  Q I D          C    | device=7,2
task       7 | n                    | name=fio pid=7 cgroup=/x/own
task       8 | n                    | name=worker pid=7 cgroup=/x/own
task       9 | n                    | name=tar pid=9 cgroup=/x/backup.service
";

fn disk(name: &str, number: &str) -> Device {
    Device { number: number.into(), name: name.into(), identity: format!("{name}-serial"), ..Device::default() }
}

fn mount(point: &str, source: &str, device: &str) -> Mount {
    Mount {
        point: point.into(),
        source: source.into(),
        fs_type: "ext4".into(),
        options: String::new(),
        device: device.into(),
    }
}

fn run() -> RunDescription {
    RunDescription {
        devices: vec![disk("loop0", "7:0"), disk("loop1", "7:1"), disk("loop2", "7:2")],
        mounts: vec![mount("/", "/dev/loop2", "7:2"), mount("/mnt/a", "/dev/loop0", "7:0")],
        ..description(true)
    }
}

fn explain(stage: &Stage, scope: Scope) -> Explanation {
    let mut blame = Blame::new(None, &run()).scoped(scope);
    blame.stalls(&stage.stalls);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    blame.requests(&stage.requests);
    blame.finish()
}

fn tids(explanation: &Explanation) -> Vec<u32> {
    let mut tids: Vec<u32> = explanation.stalls.iter().map(|stall| stall.task.tid).collect();
    tids.sort_unstable();
    tids
}

#[test]
fn operations_are_chosen_by_task_cgroup_file_and_disk() {
    let stage = stage(TWO_PROGRAMS);
    let of = |text: &str| vec![text.to_owned()];
    let all = Scope::default;
    for (scope, expected) in [
        (all(), vec![7, 8, 9]),
        (Scope { comms: of("fio"), ..all() }, vec![7, 8]),
        (Scope { comms: of("work*"), ..all() }, vec![8]),
        (Scope { pids: vec![7], ..all() }, vec![7, 8]),
        (Scope { pids: vec![8, 9], ..all() }, vec![8, 9]),
        (Scope { cgroups: of("backup.service"), ..all() }, vec![9]),
        (Scope { cgroups: of("/x"), ..all() }, vec![7, 8, 9]),
        (Scope { paths: of("/mnt"), ..all() }, vec![7, 8]),
        (Scope { paths: of("/mnt"), comms: of("tar"), ..all() }, vec![]),
        // Its file lies there.
        (Scope { devices: of("loop0"), ..all() }, vec![7]),
        // It waited for a request there.
        (Scope { devices: of("7:1"), ..all() }, vec![8]),
        (Scope { devices: of("/dev/loop2"), ..all() }, vec![8, 9]),
        (Scope { devices: of("loop1-serial"), ..all() }, vec![8]),
    ] {
        let words = scope.words();
        let explanation = explain(&stage, scope.clone());
        assert_eq!(tids(&explanation), expected, "{words}");
        assert_eq!(explanation.slow_operations, expected.len() as u64, "{words}");
        let outside = explanation.scoped.map(|scoped| scoped.outside);
        assert_eq!(outside, (!scope.is_everything()).then_some(3 - expected.len() as u64), "{words}");
    }
}

#[test]
fn nothing_in_scope_says_what_there_is() {
    let stage = stage(TWO_PROGRAMS);
    let scope = Scope { comms: vec!["postgres".into()], devices: vec!["loop0".into()], ..Scope::default() };
    let scoped = explain(&stage, scope).scoped.expect("a scope");
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let expected = [("device", names(&["loop2", "loop0", "loop1"])), ("comm", names(&["fio", "tar", "worker"]))];
    assert_eq!(scoped.present, expected);
    assert_eq!((scoped.outside, scoped.outside_ns), (3, 46 * MS));
}

#[test]
fn the_command_is_apart_from_its_neighbours() {
    let explanation = explain(&stage(TWO_PROGRAMS), Scope::default());
    let (command, others) = (explanation.command.unwrap(), explanation.neighbours.unwrap());
    assert_eq!((command.operations, command.wall_ns), (2, 30 * MS));
    assert_eq!((others.operations, others.wall_ns), (1, 16 * MS));
    assert_eq!(command.wall_ns + others.wall_ns, explanation.wall_ns);
    // The neighbour's operation is longer than the command's second one.
    let order: Vec<u32> = explanation.stalls.iter().map(|stall| stall.task.tid).collect();
    assert_eq!(order, [7, 8, 9]);
    let processes: Vec<_> = explanation
        .processes
        .iter()
        .map(|party| (party.name.as_deref(), party.of_command, party.operations, party.cause, party.cause_ns / MS))
        .collect();
    assert_eq!(
        processes,
        [
            (Some("fio"), Some(true), 2, Some(Cause::Journal), 18),
            (Some("tar"), Some(false), 1, Some(Cause::Device), 10),
        ]
    );
    let cgroups: Vec<_> = explanation.cgroups.iter().map(|party| party.name.as_deref().unwrap()).collect();
    assert_eq!(cgroups, ["/x/own", "/x/backup.service"]);
}

#[test]
fn without_a_command_nobody_is_a_neighbour() {
    let explanation = explain(&stage(&TWO_PROGRAMS.replace(" watched", "")), Scope::default());
    assert_eq!((explanation.command, explanation.neighbours), (None, None));
    assert!(explanation.stalls.iter().all(|stall| stall.of_command.is_none()));
    assert_eq!(explanation.processes.iter().map(|party| party.operations).sum::<u64>(), 3);
}

/// Output names the cgroup of a disk's limit (version 1), which is not that of the task's memory.
#[test]
fn the_cgroup_in_which_a_disk_was_used_is_in_scope() {
    let used = |resource, pid, cgroup: &str| UsageRecord {
        device: Some(DeviceNumber::new(7, 0)),
        pid: Some(pid),
        cgroup: Some(cgroup.into()),
        ..UsageRecord::new(resource, 0, 30 * MS)
    };
    let usage = [used(Resource::DeviceWrite, 7, "/slow"), used(Resource::DeviceRead, 9, "/slow/below")];
    for (cgroup, expected) in
        [("/slow", vec![7, 8, 9]), (".../below", vec![9]), ("/x/own", vec![7, 8]), ("/fast", vec![])]
    {
        let stage = stage(TWO_PROGRAMS);
        let mut blame = Blame::new(None, &run()).scoped(Scope { cgroups: vec![cgroup.into()], ..Scope::default() });
        blame.stalls(&stage.stalls);
        blame.tasks(&stage.tasks);
        blame.usage(&usage);
        assert_eq!(tids(&blame.finish()), expected, "{cgroup}");
    }
}

/// Tasks that wait for a lock, and use no disk, are in the cgroup of the I/O controller too.
#[test]
fn the_cgroup_of_the_io_controller_is_in_scope() {
    for (cgroup, expected) in [("/io/slow", vec![7]), ("slow", vec![7]), ("/x/own", vec![7, 8])] {
        let drawing = TWO_PROGRAMS.replacen("pid=7 cgroup=/x/own", "pid=7 cgroup=/x/own io_cgroup=/io/slow", 1);
        let stage = stage(&drawing);
        let mut blame = Blame::new(None, &run()).scoped(Scope { cgroups: vec![cgroup.into()], ..Scope::default() });
        blame.stalls(&stage.stalls);
        blame.tasks(&stage.tasks);
        assert_eq!(tids(&blame.finish()), expected, "{cgroup}");
    }
}

/// The request does not exist yet: its disk is that of the file.
#[test]
fn a_task_that_keeps_a_writer_waiting_for_a_request_used_the_disk_of_its_file() {
    let culprits = blamed_for_a_wait_in("rq_qos_wait,wbt_wait", "/mnt/a/f");
    assert_eq!(culprits[0], (Some(9), Some(DeviceNumber::new(7, 0)), Cause::RequestWait));
}

/// Cgroups share by weight what the disk can do: it is not a limit of the victim's own cgroup.
#[test]
fn a_task_that_uses_what_a_disk_can_do_by_its_model_is_in_any_cgroup() {
    for stack in ["ioc_rqos_throttle,__rq_qos_throttle", "blkcg_iolatency_throttle,__rq_qos_throttle"] {
        // Of a file whose disk is unknown: the only one that the victim uses.
        for path in ["/mnt/a/f", "unknown"] {
            let culprits = blamed_for_a_wait_in(stack, path);
            assert_eq!(culprits[0], (Some(9), Some(DeviceNumber::new(7, 0)), Cause::IoThrottle));
        }
    }
}

/// Task, disk and cause, of one that waits with that stack, while `tar` in another cgroup uses the disk of its file.
fn blamed_for_a_wait_in(stack: &str, path: &str) -> Vec<(Option<u32>, Option<DeviceNumber>, Cause)> {
    let drawing = format!(
        "
call:fsync 7 | ==================== | path={path}
off        7 |  ssssssssssssssssss  | stack={stack}
task       9 | n                    | name=tar pid=9"
    );
    let used = |minor, pid, cgroup: &str, bytes: u64| UsageRecord {
        device: Some(DeviceNumber::new(7, minor)),
        pid: Some(pid),
        busy_ns: bytes,
        bytes,
        cgroup: Some(cgroup.into()),
        ..UsageRecord::new(Resource::DeviceWrite, 0, 30 * MS)
    };
    let stage = stage(&drawing);
    let mut blame = Blame::new(None, &run());
    blame.stalls(&stage.stalls);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    blame.usage(&[used(0, 9, "/theirs", 1 << 20), used(0, 7, "/own", 4096), used(1, 8, "/own", 1 << 20)]);
    let culprits = blame.finish().culprits;
    culprits.iter().map(|culprit| (culprit.task.as_ref().map(|task| task.tid), culprit.device, culprit.cause)).collect()
}
