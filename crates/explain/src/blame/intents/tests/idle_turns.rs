//! Servers whose tasks take turns at waiting for a request.

use crate::blame::tests::answer::check_quiet;
use crate::blame::tests::stage::stage;

/// Two processes that accept connections one at a time, behind a lock on a file.
const TURN: &str = "
    task 7 |n                   | pid=7 name=httpd
    task 8 |n                   | pid=8 name=httpd
    off 8 |sss                 | call=epoll_wait state=1 awaits=message waker=20
    call:fcntl 8 |   ============     |
    off 8 |   ssssssssssss     | call=fcntl state=1 lock=1 waker=7
    off 7 |  ssssssssssss      | call=epoll_wait state=1 awaits=message waker=20";

fn is_found(drawing: &str) -> bool {
    stage(drawing).explain().stalls.iter().any(|stall| stall.task.tid == 8)
}

#[test]
fn a_task_that_waits_for_its_turn_to_wait_for_a_request_idles() {
    check_quiet(TURN);
    // Its mutex is one of threads, and it asks its own process for work, too.
    check_quiet(&TURN.replace("pid=8", "pid=7").replace("call=fcntl state=1 lock=1", "call=futex state=1 awaits=lock"));
    // It waits to the end of the recording: nobody woke it.
    let unfinished = TURN.replace("    call:fcntl 8 |   ============     |\n", "").replace("lock=1 waker=7", "lock=1");
    check_quiet(&unfinished.replace("off 8 |   sssssss", "blocked 8 |   ======="));
}

#[test]
fn a_lock_is_no_turn_where_somebody_waits_for_its_holder() {
    // It works on a request; the holder waits for a disk, or for an answer; it never waits for a message itself.
    assert!(is_found(&TURN.replace("lock=1", "lock=1 asked=2")));
    assert!(is_found(&TURN.replace(
        "off 7 |  ssssssssssss      | call=epoll_wait state=1 awaits=message",
        "off 7 |  ssssssssssss      |"
    )));
    assert!(is_found(&TURN.replace(
        "off 7 |  ssssssssssss      | call=epoll_wait state=1 awaits=message",
        "off 7 |  ssssssssssss      | call=recvfrom state=1 awaits=answer"
    )));
    assert!(is_found(&TURN.replace("off 8 |sss                 |", "off 9 |sss                 |")));
    // The holder waited for less than half of the time, and computed.
    assert!(is_found(&TURN.replace("off 7 |  ssssssssssss      |", "off 7 |  ssss              |")));
}

/// Threads of a runtime take up whatever comes next: one waits for messages, the others for it.
#[test]
fn a_task_that_received_a_request_for_others_to_answer_idles() {
    let drawing = "
        task 7 |n                   | pid=7 name=server
        task 8 |n                   | pid=7 name=server
        off 8 |   sss              | call=epoll_pwait state=1 awaits=for_client asked=1
        off 8 |       ssssssssss   | call=futex state=1 awaits=for_client waker=7 asked=1
        off 7 |       sssssssss    | stack=xfs_log_force";
    assert!(!is_found(drawing));
    assert!(!is_found(&drawing.replace("awaits=for_client waker", "awaits=lock waker")));
    // Another process gave it what it waited for; it waits for no messages.
    assert!(is_found(&drawing.replace("task 7 |n                   | pid=7", "task 7 |n                   | pid=6")));
    assert!(is_found(&drawing.replace("call=epoll_pwait", "call=futex")));
}
