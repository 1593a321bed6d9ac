//! Operations of several waits, and waits for children.

use super::clients::{check, check_quiet};
use super::stage::{chain, stage};

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
        "thread 7: lock 4 < thread 9: fs_log 4",
    );
    // It did not try again.
    check_quiet(&format!("off 7 | sssssssss      | {sleeps}"));
    // It waited for the lock itself, twice, and not long.
    check_quiet("off 7 | ssssw ssss     | call=fcntl tp=posix_lock_inode lock=1 holder=9 state=1");
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
}
