//! Requests that clients had sent before the recording.

use model::stall::{Awaits, StallKind, StallRecord, stall_flags};

use crate::blame::tests::answer::check_stage;
use crate::blame::tests::stage::{MS, Stage, stage};

/// A statement that thread 9 works on since before the recording, which began with the drawing.
fn with_old_request(drawing: &str, answered_ms: u64) -> Stage {
    let mut stage = stage(drawing);
    stage.stalls.push(StallRecord {
        awaits: Some(Awaits::ForClient),
        asked_ns: Some(0),
        flags: Some(stall_flags::CUT),
        ..StallRecord::new(StallKind::OnCpu, 9, answered_ms * MS - 1, answered_ms * MS)
    });
    stage
}

const WAIT: &str = "
        off 7 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=for_client asked=1 waker=9
        off 9 |ssssssssssss    | call=clock_nanosleep state=1";

#[test]
fn a_statement_from_before_the_recording_holds_a_lock() {
    check_stage(&with_old_request(WAIT, 15), "lock 12", "thread 7: lock 12 < thread 9: sleep 10");
    // It was answered before.
    assert_eq!(with_old_request(WAIT, 5).explain().slow_operations, 0);
}

/// MariaDB reports the progress of a statement: after that its thread seems to owe its client nothing.
#[test]
fn a_statement_whose_client_waits_for_the_rest_of_its_answer_holds_a_lock() {
    let with_rest = |awaits| {
        let mut stage = stage(WAIT);
        stage.stalls.push(StallRecord {
            awaits: Some(awaits),
            waker_tid: Some(9),
            ..StallRecord::new(StallKind::ServerRequest, 8, 2 * MS, 16 * MS)
        });
        stage.explain().stalls.iter().any(|stall| stall.task.tid == 7)
    };
    assert!(with_rest(Awaits::PartOfAnswer));
    assert!(!with_rest(Awaits::Message));
}

/// It waits for the thread of another client, and its timer interrupts its wait.
#[test]
fn a_statement_from_before_the_recording_waits_for_a_lock() {
    let drawing = "
        off 7 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=for_client asked=1 waker=9
        off 9 |ssss            | call=futex stack=futex_do_wait state=1 awaits=interrupt
        off 9 |    sssssssss   | call=futex stack=futex_do_wait state=1 awaits=work waker=8";
    let mut stage = with_old_request(drawing, 15);
    let works = StallRecord {
        awaits: Some(Awaits::Interrupt),
        asked_ns: Some(12 * MS),
        ..StallRecord::new(StallKind::OnCpu, 8, 13 * MS, 13 * MS + 1)
    };
    stage.stalls.push(works);
    let explanation = stage.explain();
    let mut found: Vec<u32> = explanation.stalls.iter().map(|stall| stall.task.tid).collect();
    found.sort_unstable();
    assert_eq!(found, [7, 9]);
    assert!(
        explanation.stalls.iter().all(|stall| stall.causes[0].cause == crate::blame::Cause::Lock),
        "{explanation:?}"
    );
}

/// PostgreSQL: the queue for a table. The one before in it waits since before the recording, and the holder ends its
/// wait by a signal.
#[test]
fn a_process_that_a_signal_wakes_waits_for_a_lock() {
    let drawing = "
        off 7 |  ssssssssssss  | call=epoll_wait state=1 awaits=lock asked=1 waker=9
        off 9 |ssssssssssss    | call=epoll_wait state=1 awaits=message waker=8 \
        waker_stack=kill_something_info,__x64_sys_kill";
    let holders = |drawing: &str| {
        let mut stage = with_old_request(drawing, 15);
        stage.stalls.push(StallRecord {
            awaits: Some(Awaits::Interrupt),
            asked_ns: Some(1),
            ..StallRecord::new(StallKind::OnCpu, 8, 13 * MS, 13 * MS + 1)
        });
        let explanation = stage.explain();
        let stall = explanation.stalls.iter().find(|stall| stall.task.tid == 7).unwrap();
        stall
            .chain
            .iter()
            .filter_map(|link| link.holds.and(link.task.as_ref()))
            .map(|task| task.tid)
            .collect::<Vec<_>>()
    };
    assert_eq!(holders(drawing), [8]);
    // A message, and not a signal: it was idle.
    assert_eq!(holders(&drawing.replace("kill_something_info,__x64_sys_kill", "unix_stream_sendmsg")), [9]);
}

/// It has waited since before the recording, for what the thread that worked for it sent.
#[test]
fn the_client_of_a_statement_from_before_the_recording_waits_for_its_answer() {
    let drawing = "
        off 7 |ssssssssssssss  | call=poll state=1 awaits=message cut waker=9
        off 9 |  ssssssssss    | stack=xfs_log_force";
    let chain = "thread 7: fs_log 10 < thread 9: fs_log 10";
    // With the request itself, of thread 9.
    check_stage(&with_old_request(drawing, 15), "fs_log 20, unexplained 9", chain);
    // What thread 9 sent was no answer.
    assert_eq!(stage(drawing).explain().slow_operations, 0);
}
