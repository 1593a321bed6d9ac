//! Verdicts as they are for answers.

use explain::blame::{
    Cause, CauseTime, ClassTimes, Culprit, Evidence, EvidenceTimes, Explanation, Holds, Link, Part, Sleep, Stall,
    StallCause, TaskId, VictimGroup,
};
use model::block::DeviceNumber;
use model::stall::TraceSettings;

pub(super) const S: u64 = 1_000_000_000;

pub(super) fn task(name: &str, tid: u32) -> TaskId {
    TaskId { tid, name: Some(name.to_owned()) }
}

/// A cause whose time counts for a client as well, up to `again_ns` of it.
pub(super) fn counted_again(cause: Cause, time_ns: u64, again_ns: u64) -> CauseTime {
    let mut time = time(cause, time_ns);
    time.again.add(Evidence::Event, again_ns);
    time
}

pub(super) fn time(cause: Cause, time_ns: u64) -> CauseTime {
    CauseTime {
        cause,
        time_ns,
        operations: 1,
        most_of: 1,
        evidence: EvidenceTimes::default(),
        again: EvidenceTimes::default(),
    }
}

pub(super) fn culprit(cause: Cause, name: &str, tid: u32, time_ns: u64) -> Culprit {
    Culprit {
        task: Some(task(name, tid)),
        tasks: 1,
        started_by: None,
        through: None,
        role: None,
        cgroup: Some("/system.slice/backup.service".to_owned()),
        container: None,
        device: Some(DeviceNumber::new(7, 0)),
        device_name: Some("loop0".to_owned()),
        file_system: Some("ext4 on /srv".to_owned()),
        cause,
        evicts: false,
        time_ns,
        own_ns: 0,
        victims: Vec::new(),
        victims_count: 1,
        at_once: 0,
    }
}

pub(super) fn link(name: &str, tid: u32, cause: Cause, holds: Option<Holds>) -> Link {
    Link {
        task: Some(task(name, tid)),
        cause,
        detail: None,
        object: None,
        time_ns: S,
        span_ns: None,
        request: None,
        holds,
        kernel_stack: Vec::new(),
        user_stack: None,
    }
}

pub(super) fn stall(operation: &str, causes: &[CauseTime], chain: Vec<Link>) -> Stall {
    let part = |time: &CauseTime| StallCause {
        cause: time.cause,
        time_ns: time.time_ns,
        evidence: EvidenceTimes::default(),
        detail: None,
    };
    Stall {
        task: task("postgres", 7),
        cgroup: None,
        of_command: None,
        operation: operation.to_owned(),
        path: Some("/srv/pg_wal/000000010000000000000001".to_owned()),
        start_ns: S,
        duration_ns: causes.iter().map(|time| time.time_ns).sum(),
        finished: true,
        cut: false,
        causes: causes.iter().map(part).collect(),
        chain,
        request: None,
        served: None,
        user_stack: None,
        rules: Vec::new(),
    }
}

/// One operation of PostgreSQL with these causes and this chain.
pub(super) fn slow(operation: &str, causes: &[CauseTime], culprits: Vec<Culprit>, chain: Vec<Link>) -> Explanation {
    let wall_ns = causes.iter().map(|time| time.time_ns).sum();
    let class = ClassTimes { class: operation.to_owned(), operations: 1, wall_ns, causes: causes.to_vec() };
    Explanation {
        slower_than_ns: S / 10,
        trace: Some(TraceSettings { slow_ns: S / 10, interval_ns: 1_000_000, all_requests: false }),
        slow_operations: 1,
        wall_ns,
        causes: causes.to_vec(),
        classes: vec![class],
        culprits,
        processes: vec![group("postgres", 7, wall_ns, None)],
        stalls: vec![stall(operation, causes, chain)],
        ..Explanation::default()
    }
}

pub(super) fn group(name: &str, pid: u32, wall_ns: u64, of_command: Option<bool>) -> VictimGroup {
    VictimGroup {
        name: Some(name.to_owned()),
        pid: Some(pid),
        processes: 1,
        of_command,
        operations: 1,
        wall_ns,
        again_ns: 0,
        again_within_ns: 0,
        lost_ns: wall_ns,
        cause: None,
        cause_ns: 0,
        culprit: None,
    }
}

/// The same as the recorded command's, of a machine that lost as much again.
pub(super) fn of_command(slow: Explanation) -> Explanation {
    let part = |of: &Explanation| Part {
        operations: of.slow_operations,
        wall_ns: of.wall_ns,
        causes: of.causes.clone(),
        classes: of.classes.clone(),
        culprits: of.culprits.clone(),
    };
    let (command, neighbours) = (part(&slow), part(&slow));
    let twice = |time: &CauseTime| CauseTime { time_ns: 2 * time.time_ns, ..*time };
    let mut processes = slow.processes.clone();
    processes.iter_mut().for_each(|group| group.of_command = Some(true));
    processes.push(group("tar", 93, slow.wall_ns, Some(false)));
    Explanation {
        command: Some(command),
        neighbours: Some(neighbours),
        slow_operations: 2 * slow.slow_operations,
        wall_ns: 2 * slow.wall_ns,
        causes: slow.causes.iter().map(twice).collect(),
        processes,
        ..slow
    }
}

pub(super) fn sleep(call: &str) -> Sleep {
    Sleep {
        task: task("psql", 7),
        call: Some(call.to_owned()),
        start_ns: S,
        duration_ns: 4 * S,
        cpu_quota: None,
        unfinished: true,
        throughout: false,
        hangs: true,
        stack: None,
        waits_for: None,
        waker: None,
        other_ends: Vec::new(),
    }
}
