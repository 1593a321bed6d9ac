//! Equal waits for one server, of only some of which enough is known; and those that a signal ended.

use crate::blame::tests::answer::check;
use crate::blame::tests::stage::{MS, stage};

/// Lengths of the operations, in ms, for a server that is stalled in the first wait alone.
fn found(second: &str, watched: &str) -> Vec<u64> {
    let drawing = format!(
        "
        task 9 | n                                            | name=etcd
        off 7  | ssssssss                                     | call=poll awaits=answer waker=9 asked=1 state=1 \
        {watched}
        off 9  | ssssss                                       | stack=xfs_log_force
        off 7  |           {second} | call=poll awaits=answer waker=9 asked=11 state=1 {watched}"
    );
    let mut lengths: Vec<u64> = stage(&drawing).explain().stalls.iter().map(|stall| stall.duration_ns / MS).collect();
    lengths.sort_unstable();
    lengths
}

#[test]
fn equal_waits_of_the_command_for_one_server_are_alike() {
    assert_eq!(found("sssssssss ", "watched"), [8, 9]);
    // It may have asked for something that does not exist yet.
    assert_eq!(found(&"s".repeat(20), "watched"), [8]);
    assert_eq!(found("sssssssss ", ""), [8]);
}

/// Waits of which nothing is known outnumber the one that is a stall.
#[test]
fn one_stall_makes_no_rule() {
    let mut drawing = "
        task 9 | n | name=redis
        off 9  | ssssss | stack=xfs_log_force\n"
        .to_owned();
    for at in 0..5 {
        let from = " ".repeat(10 * at + 1);
        drawing +=
            &format!("off 7 |{from}ssssssss | call=poll awaits=answer waker=9 asked={} state=1 watched\n", 10 * at + 1);
    }
    assert_eq!(stage(&drawing).explain().slow_operations, 1);
}

/// `timeout` ends a client that still waits for its server's answer.
#[test]
fn a_client_that_a_signal_ends_waited_for_its_server() {
    let drawing = "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=3 waker_stack=signal_wake_up_state,kill_something_info \
        asked=2
        off 9 |sss             | call=recvfrom awaits=message waker=7
        off 9 |    sssssssss   | stack=xfs_log_force";
    check(drawing, "fs_log 9, unexplained 3", "thread 7: fs_log 9 < thread 9: fs_log 9");
    // The server was awake when the request came.
    let received = "off 9 |    sssssssss   | stack=xfs_log_force asked=3";
    let of_receipt = drawing.lines().take(2).chain([received]).collect::<Vec<&str>>().join("\n");
    // Its request is an operation, too.
    check(&of_receipt, "fs_log 18, unexplained 4", "thread 7: fs_log 9 < thread 9: fs_log 9");
    // Another one received a request then, too.
    let both = format!("{of_receipt}\noff 8 |    sssssssss   | stack=xfs_log_force asked=3 call=read");
    assert!(stage(&both).explain().stalls.iter().all(|stall| stall.task.tid != 7), "{both}");
}

/// Two children of a server answer its front end at about the same time, which a wakeup of the other one's ended.
#[test]
fn a_proxys_request_that_ends_with_its_clients_is_what_it_passed_on() {
    let drawing = "
        off   7 |  ssssssssssssssssss   | call=poll awaits=answer waker=6 asked=2 state=1
        asked 6 |  =================    | waker=9
        asked 6 |============           | waker=8
        off   6 |   ssssssssssss        | call=epoll_wait awaits=message waker=8 state=1
        off   9 |   sssssssssssssss     | stack=xfs_log_force
        off   8 |sssssssssssssss        | call=clock_nanosleep stack=hrtimer_nanosleep state=1 awaits=interrupt";
    let stage = stage(drawing);
    let explanation = stage.explain();
    let of_7 = explanation.stalls.iter().find(|stall| stall.task.tid == 7).unwrap();
    assert_eq!(crate::blame::tests::stage::chain(of_7), "thread 7: fs_log 15 < thread 9: fs_log 15");
}

/// A server's thread waits for a lock, then for the log, which another thread has written all the while.
#[test]
fn what_another_thread_did_before_a_server_waited_for_it_is_not_what_a_client_waited_for() {
    check(
        "
        off 7 |  sssssssssssssss | call=recvfrom awaits=answer waker=9 asked=2
        off 9 |  sssssssssss     | call=futex stack=futex_do_wait state=1 awaits=lock asked=2 waker=5
        off 9 |             ssss | call=futex stack=futex_do_wait state=1 awaits=for_client asked=2 waker=8
        off 8 |ss ss ss ss ss    | call=futex stack=futex_do_wait state=1 awaits=work waker=6
        off 8 |              sss | stack=xfs_log_force",
        "lock 22, fs_log 6, unexplained 2",
        "thread 7: lock 11 < thread 9: lock 11 < thread 5: unexplained 11",
    );
}
