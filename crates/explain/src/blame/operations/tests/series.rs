//! Operations of several waits, and waits for children.

use crate::blame::tests::answer::{check, check_quiet};
use crate::blame::tests::stage::{MS, chain, shares, stage};

#[test]
fn the_waits_for_the_parts_of_one_answer_are_one_operation() {
    check(
        "
        off 7 | sswsswssw      | call=poll awaits=part_of_answer waker=9 asked=1
        off 9 | sssssssss      | stack=xfs_log_force",
        "fs_log 6, cpu_wait 3",
        "thread 7: fs_log 6 < thread 9: fs_log 6",
    );
    check_quiet(
        "
        off 7 | ssw            | call=poll awaits=part_of_answer waker=9 asked=1
        off 7 |    ssw         | call=poll awaits=part_of_answer waker=9 asked=3
        off 7 |       ssw      | call=poll awaits=part_of_answer waker=9 asked=6
        off 9 | sssssssss      | stack=xfs_log_force",
    );
}

/// An ioctl that discards in pieces, and does not return.
#[test]
fn the_waits_for_storage_in_one_call_are_one_operation() {
    let discards = |of_second: &str| {
        format!(
            "off 7 | ssss           | call=ioctl since=0 state=2 stack=submit_bio_wait,blkdev_issue_discard
             off 7 |     ssss       | call=ioctl since={of_second} state=2 stack=submit_bio_wait,blkdev_issue_discard"
        )
    };
    check(&discards("0"), "device 8", "thread 7: device 4");
    check_quiet(&discards("5"));
    let lasts =
        format!("{}\n blocked 7 |         ===| call=ioctl since=0 state=2 stack=submit_bio_wait", discards("0"));
    let explanation = stage(&lasts).explain();
    let of_7 = explanation.stalls.iter().map(|stall| (stall.duration_ns / MS, stall.finished));
    assert_eq!(of_7.collect::<Vec<_>>(), [(11, false)]);
}

#[test]
fn what_a_server_needs_for_a_request_counts_where_storage_was_slow() {
    check(
        "
        off 7 | sssssssss      | call=futex stack=futex_do_wait awaits=for_client waker=9 asked=1
        off 9 |sssssssss       | stack=xfs_log_force",
        "fs_log 8, unexplained 1",
        "thread 7: fs_log 8 < thread 9: fs_log 8",
    );
    check_quiet(
        "
        off 7 | sssssssss      | call=futex stack=futex_do_wait awaits=for_client waker=9 asked=1
        off 9 |sss             | stack=xfs_log_force",
    );
}

/// Its own timer interrupted it.
#[test]
fn an_interrupted_wait_was_for_the_task_that_ended_it_at_last() {
    check(
        "
        off 7 | ssss           | call=epoll_wait awaits=for_client asked=1
        off 7 |     ssssss     | call=epoll_wait awaits=lock waker=9 asked=1
        off 9 | sssssssss      | stack=xfs_log_force",
        "fs_log 9, lock 1",
        "thread 7: fs_log 9 < thread 9: fs_log 9",
    );
}

/// None of its waits is slow, but all together are. It is idle before and after.
#[test]
fn a_request_of_many_waits_is_an_operation_of_its_server() {
    let rows = |second: u32| {
        format!(
            "
        off 7 |ss          sss | call=recvfrom awaits=message waker=5 cpu=1
        off 7 |  ssss          | call=futex awaits=thread waker=9 asked=2 cpu=2
        off 9 |  ssss          | stack=jbd2_log_wait_commit
        off 7 |       ssss     | call=fdatasync stack=jbd2_log_wait_commit asked={second} cpu=3"
        )
    };
    let explanation = stage(&rows(2)).explain();
    let stall = &explanation.stalls[0];
    assert_eq!((stall.operation.as_str(), stall.task.tid, stall.duration_ns / MS), ("client_request", 7, 9));
    // Neither is the slow wait of a request of more than this wait.
    let slow = "call:fdatasync 7 |       ======   | path=/mnt/f";
    let explanation = stage(&format!("{}\n{slow}", rows(2).replace(" ssss   ", " ssssss "))).explain();
    let listed: Vec<(&str, u64, Option<&str>)> = explanation
        .stalls
        .iter()
        .map(|stall| (stall.operation.as_str(), stall.duration_ns / MS, stall.path.as_deref()))
        .collect();
    assert_eq!(listed, [("client_request", 11, Some("/mnt/f"))]);
    let explanation = stage(&rows(2)).explain();
    assert_eq!(shares(&explanation), "journal 8, running 1");
    // Of two requests none is slow.
    check_quiet(&rows(7));
}

/// It computes, or sleeps, for most of the time.
#[test]
fn a_request_that_seldom_waits_is_not_stalled() {
    check_quiet(
        "
        off 7 |    s           | stack=jbd2_log_wait_commit asked=1 cpu=1
        off 7 |           sss  | stack=jbd2_log_wait_commit asked=1 cpu=7",
    );
    check_quiet(
        "
        off 7 |  sss           | stack=futex_do_wait call=futex awaits=for_client waker=9 asked=1 cpu=1
        off 7 |       sss      | stack=jbd2_log_wait_commit asked=1 cpu=1",
    );
}

/// The server's timer interrupted its wait for the lock, whose holder sleeps: its client waited for the lock all the
/// time.
#[test]
fn a_client_waits_for_its_servers_lock_from_the_begin() {
    check(
        "
        off 7 | ssssssssss     | call=ppoll awaits=answer waker=8 asked=1
        off 8 | ssss           | call=epoll_wait awaits=for_client asked=1
        off 8 |     ssssss     | call=epoll_wait awaits=lock waker=9 asked=1
        off 9 |sssssssssss     | call=epoll_wait awaits=interrupt",
        "lock 20",
        "thread 7: lock 10 < thread 8: lock 10 < thread 9: unexplained 10",
    );
}

#[test]
fn sleeps_between_attempts_are_a_wait_for_the_lock() {
    let sleeps = "call=clock_nanosleep stack=hrtimer_nanosleep tp=posix_lock_inode lock=1 holder=9 state=1";
    check(
        &format!(
            "
        off 7 | sssswssss      | {sleeps}
        off 9 | sssssssssss    | stack=xfs_log_force"
        ),
        "lock 8, cpu_wait 1",
        "thread 7: lock 8 < thread 9: fs_log 8",
    );
    // It did not try again.
    check_quiet(&format!("off 7 | sssssssss      | {sleeps}"));
    // It waited for the lock itself, twice, and not long.
    check_quiet("off 7 | ssssw ssss     | call=fcntl tp=posix_lock_inode lock=1 holder=9 state=1");
}

/// The recording may lack a sleep. What is two sleeps apart is another wait.
#[test]
fn attempts_go_on_over_a_sleep_that_is_missing() {
    let sleeps = "call=clock_nanosleep stack=hrtimer_nanosleep tp=posix_lock_inode lock=1 holder=9 state=1";
    let apart = |gap: usize| format!("off 7 |{:s<24}{:gap$}{:s<24}| {sleeps}", "", "", "");
    check(&apart(26), "lock 48, unexplained 26", "thread 7: lock 48 < thread 9: unexplained 48");
    check_quiet(&apart(60));
}

#[test]
fn a_parent_waits_for_what_its_child_waits_for() {
    check(
        "
        off 7 | ssssssssssss   | call=wait4 stack=do_wait awaits=child waker=9 state=1
        off 9 | sss sss sss    | call=read stack=xfs_log_force",
        "fs_log 9, unexplained 3",
        "thread 7: fs_log 3 < thread 9: fs_log 3",
    );
    check_quiet(
        "
        off 7 | ssssssssssss   | call=wait4 stack=do_wait awaits=child waker=9 state=1
        off 9 | sss            | call=read stack=xfs_log_force",
    );
}

/// A shell's child waits for its own child. Only the innermost of those that waited is listed.
#[test]
fn no_stall_of_a_child_counts_twice() {
    let tasks = |drawing: &str| {
        let stalls = stage(drawing).explain().stalls;
        stalls.iter().map(chain).collect::<Vec<_>>()
    };
    let parents = "
        off 7 | ssssssssssss   | call=wait4 stack=do_wait awaits=child waker=8 state=1
        off 8 |  sssssssssss   | call=wait4 stack=do_wait awaits=child waker=9 state=1";
    assert_eq!(
        tasks(&format!("{parents}\n off 9 |  sss sss sss   | call=read stack=xfs_log_force")),
        ["thread 8: fs_log 3 < thread 9: fs_log 3"]
    );
    assert_eq!(
        tasks(&format!(
            "{parents}
            call:fsync 9 |  =========     |
            off 9 |  sssssssss     | call=fsync stack=xfs_log_force"
        )),
        ["thread 9: fs_log 9"]
    );
    // The innermost child waits for its server.
    let client = "
        off 9 |  sssssssssss   | call=recvfrom awaits=answer waker=4
        off 4 |  ssssssssss    | stack=xfs_log_force";
    assert_eq!(tasks(&format!("{parents}{client}")), ["thread 9: fs_log 10 < thread 4: fs_log 10"]);
}

/// What it received wants no answer: it waits for the next message, and a timer of its own wakes it later.
#[test]
fn a_server_that_waits_for_the_next_message_works_on_no_request() {
    let drawing = |awaits: &str| {
        format!(
            "
        off 7 |  sssss         | call=epoll_wait awaits={awaits} waker=5
        off 7 |       ssssss   | call=fdatasync stack=jbd2_log_wait_commit asked=2"
        )
    };
    let listed = |awaits: &str| {
        let explanation = stage(&drawing(awaits)).explain();
        explanation.stalls.iter().any(|stall| stall.operation == "client_request")
    };
    assert!(listed("for_client asked=2") && !listed("message"));
}
