//! Waits of the recorded command in which it cannot have idled: for room in what it sends to, and for a CPU.

use crate::blame::Scope;
use crate::blame::tests::answer::check_quiet;
use crate::blame::tests::stage::{MS, shares, stage};

fn check(drawing: &str, expected: &str) {
    let explanation = stage(drawing).explain();
    let operations: Vec<String> = explanation
        .stalls
        .iter()
        .map(|stall| format!("{} {} {}", stall.operation, stall.duration_ns / MS, stall.finished))
        .collect();
    assert_eq!(format!("{}: {}", operations.join(", "), shares(&explanation)), expected, "{drawing}");
    assert_eq!(explanation.sleeps.count + explanation.sleeps.idle_count, 0, "{drawing}");
}

#[test]
fn a_task_that_sends_something_never_idles() {
    for (call, stack) in [
        ("connect", "inet_wait_for_connect,__inet_stream_connect"),
        ("sendto", "wait_woken,sk_stream_wait_memory,tcp_sendmsg_locked"),
        ("write", "wait_woken,n_tty_write,file_tty_write"),
    ] {
        let drawing = format!("off 7 | ssssssss | call={call} stack={stack} state=1 watched");
        check(&drawing, &format!("{call} 8 true: peer 8"));
        // Of another program it is nobody's.
        check_quiet(&drawing.replace("watched", ""));
    }
}

/// Nobody reads the pipe.
#[test]
fn a_write_that_does_not_end_is_one_of_them() {
    let drawing = "blocked 7 | ssssssss | call=write stack=anon_pipe_write,vfs_write state=1 awaits=message watched";
    check(drawing, "write 8 false: peer 8");
    check_quiet(&drawing.replace("watched", ""));
}

#[test]
fn a_program_that_computes_and_gets_no_cpu_is_slow() {
    check("off 7 | pppppppp | behind=9 watched", "preempted 8 true: cpu_wait 8");
    // Its sleep is its own, what comes after is not.
    check("off 7 | ssswwwwww | call=clock_nanosleep state=1 behind=9 watched", "clock_nanosleep 6 true: cpu_wait 6");
    check_quiet("off 7 | pppppppp | behind=9");
}

/// Each of its waits is short. It runs a millisecond of each period of four.
#[test]
fn a_program_that_computes_within_a_quota_is_slow_if_it_is_asked_about() {
    let quota = "held detail=cpu_quota;;1000000,4000000;/box";
    let asked = |drawing: &str| {
        let scope = Scope { pids: vec![7], ..Scope::default() };
        let explanation = stage(&format!("off 7 | {drawing} | {quota}")).explain_scoped(scope);
        (explanation.slow_operations, explanation.causes.first().map(|time| time.time_ns / MS))
    };
    assert_eq!(asked("ppp ppp ppp"), (1, Some(9)));
    // It had a period in which it was not held.
    assert_eq!(asked("ppp      ppp"), (0, None));
    // Of another program it is nobody's.
    check_quiet(&format!("off 7 | ppp ppp ppp | {quota}"));
}

/// Who stopped a task before the recording is unknown: not the task itself.
#[test]
fn a_task_that_was_stopped_did_not_stop_itself() {
    let stopped_by = |holder: &str| {
        let explanation = stage(&format!("off 7 | ssssssss | call=wait4 state=4 watched {holder}")).explain();
        explanation.culprits[0].task.as_ref().map(|task| task.tid)
    };
    assert_eq!(stopped_by(""), None);
    assert_eq!(stopped_by("holder=9"), Some(9));
    // Nor did its child, which was stopped as well.
    let child = "\n task 8 |n | name=tar started_by=sh/7\n off 8 | ssssssss | state=4";
    assert_eq!(stopped_by(child), None);
}

/// Nothing was recorded as a command: what is asked about counts as one.
#[test]
fn a_task_that_is_asked_about_never_idles() {
    let drawing = "
        off 7 | ssssssss   | call=write awaits=room waker=9 state=1
        off 9 |  ssssss    | call=clock_nanosleep awaits=interrupt state=1
        off 8 | ssssssss   | call=connect stack=inet_wait_for_connect state=1
        off 6 | ssssssss   | call=clock_nanosleep state=4";
    let asked = |pid: u32| {
        let scope = Scope { pids: vec![pid], ..Scope::default() };
        let explanation = stage(drawing).explain_scoped(scope);
        (explanation.slow_operations, explanation.stalls.first().map(|stall| stall.operation.clone()))
    };
    check_quiet(drawing);
    assert_eq!(asked(7), (1, Some("write".to_owned())));
    assert_eq!(asked(8), (1, Some("connect".to_owned())));
    assert_eq!(asked(9), (0, None));
    assert_eq!(asked(6), (1, Some("stopped".to_owned())));
}

/// Beside a command, too, who asks about a process by its number wants to know that it was stopped.
#[test]
fn a_neighbour_that_is_asked_about_was_stopped() {
    let drawing = "
        off 7 | s          | call=clock_nanosleep state=1 watched
        off 6 | ssssssss   | call=clock_nanosleep state=4";
    let asked = |pids: Vec<u32>| {
        let explanation = stage(drawing).explain_scoped(Scope { pids, ..Scope::default() });
        (explanation.slow_operations, explanation.stalls.first().map(|stall| stall.operation.clone()))
    };
    assert_eq!(asked(Vec::new()), (0, None));
    assert_eq!(asked(vec![6]), (1, Some("stopped".to_owned())));
}
