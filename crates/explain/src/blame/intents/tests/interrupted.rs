//! Timers that interrupt another task in a system call.

use crate::blame::tests::answer::{check, check_quiet};
use crate::blame::tests::stage::{chain, stage};

/// The client's timer, which cuts its wait into slices, interrupts an unrelated task that sends something.
#[test]
fn the_task_that_a_clients_timer_interrupts_is_not_its_server() {
    for timer in ["try_to_wake_up,hrtimer_wakeup", "wake_up_process,process_timeout,call_timer_fn"] {
        check(
            &format!(
                "
        off 7 | ssss           | call=poll awaits=answer waker=5 asked=1 waker_stack={timer}
        off 7 |     ssssss     | call=poll awaits=answer waker=9 asked=1
        off 9 | sssssssss      | stack=xfs_log_force"
            ),
            "fs_log 9, unexplained 1",
            "thread 7: fs_log 9 < thread 9: fs_log 9",
        );
    }
}

/// A thread of a database looks for deadlocks from time to time: whom its timer interrupts holds nothing.
#[test]
fn the_task_that_a_timer_interrupts_gives_back_no_lock() {
    check(
        "
        off 7 | ssss           | call=futex awaits=lock waker=5 asked=1 waker_stack=hrtimer_wakeup
        off 7 |     ssssss     | call=futex awaits=lock waker=9 asked=1
        off 9 | sssssssss      | stack=xfs_log_force",
        "fs_log 9, lock 1",
        "thread 7: fs_log 9 < thread 9: fs_log 9",
    );
    check_quiet("off 7 | ssssssssss     | call=futex awaits=lock waker=5 asked=1 waker_stack=hrtimer_wakeup");
}

/// Its alarm rings right after the request of the interrupted task completed.
#[test]
fn a_timer_that_follows_a_completion_ends_no_request() {
    let drawing = "
        call:write 7 |==========|
        off        7 | ssssssss | call=write request=1 waker=5 waker_stack=";
    let request = "request    1 |Q  D    C  | device=8,0 kind=W";
    check(
        &format!("{drawing}blk_update_request\n{request}"),
        "device 6, request_wait 2, running 2",
        "thread 7: device 6",
    );
    check(&format!("{drawing}complete_signal,posix_timer_fn\n{request}"), "unexplained 8, running 2", "");
}

/// A supervisor has asked something by a pair of sockets. A service that it started is throttled, then it writes an
/// answer, ends, or reports its state to a socket that takes messages of all.
#[test]
fn a_supervisor_waits_for_no_child_that_answers_nothing() {
    let drawing = |waker_stack: &str| {
        format!(
            "
        off 7 | ssssssssssss   | call=epoll_wait state=1 awaits=answer_of_child waker=9 asked=1 \
        waker_stack={waker_stack}
        off 9 | sssssssssss    | stack=xfs_log_force"
        )
    };
    for answer in ["pipe_write,vfs_write", "unix_stream_sendmsg", "unix_dgram_sendmsg,unix_seqpacket_sendmsg"] {
        let answer = drawing(&format!("sock_def_readable,{answer}"));
        check(&answer, "fs_log 11, unexplained 1", "thread 7: fs_log 11 < thread 9: fs_log 11");
    }
    for no_answer in ["unix_release_sock,sock_close,task_work_run,do_exit", "unix_dgram_sendmsg,sock_write_iter"] {
        check_quiet(&drawing(&format!("ep_poll_callback,{no_answer}")));
        check_quiet(&drawing(&format!("ep_poll_callback,{no_answer}")).replace("state=1", "state=1 watched"));
    }
}

/// A supervisor has asked a bus by its connection. What wakes it is a client that connects, again and again; then the
/// bus answers.
#[test]
fn a_task_that_connects_answers_nothing() {
    let drawing = |waker_stack: &str| {
        format!(
            "
        off 7 | ssssss         | call=epoll_wait state=1 awaits=answer waker=9 asked=1 waker_stack={waker_stack}
        off 7 |       ssssss   | call=epoll_wait state=1 awaits=answer waker=5 asked=1 waker_stack=unix_stream_sendmsg
        off 9 | sssss          | stack=xfs_log_force
        off 5 |      ssssss    | stack=xfs_log_force"
        )
    };
    let connects = drawing("sock_def_readable,unix_stream_connect,__sys_connect");
    check(&connects, "fs_log 6, unexplained 6", "thread 7: fs_log 6 < thread 5: fs_log 6");
    let answers = drawing("sock_def_readable,unix_stream_sendmsg");
    check(&answers, "fs_log 10, unexplained 2", "thread 7: fs_log 5 < thread 9: fs_log 5");
    // An event loop that never gets an answer was idle.
    check_quiet(connects.lines().filter(|line| !line.contains("waker=5")).collect::<Vec<_>>().join("\n").as_str());
}

/// An event loop has received something that wants no answer, such as a line for its log. It is idle until a client
/// closes its connection, or sends it a datagram.
#[test]
fn a_client_that_goes_does_not_do_the_servers_work() {
    let drawing = |waker_stack: &str| {
        format!(
            "
        off 7 | ssssssssssss   | call=epoll_wait state=1 awaits=for_client waker=9 asked=1 waker_stack={waker_stack}
        off 9 | sssssssssss    | stack=xfs_log_force"
        )
    };
    for by_client in
        ["sock_def_wakeup,unix_release_sock,sock_close,task_work_run", "sock_def_readable,unix_dgram_sendmsg"]
    {
        check_quiet(&drawing(by_client));
    }
    let by_worker = drawing("eventfd_signal,eventfd_write");
    check(&by_worker, "fs_log 11, unexplained 1", "thread 7: fs_log 11 < thread 9: fs_log 11");
}

/// A poll takes a task that is frozen in its sleep for one that is blocked: nobody waited for it.
#[test]
fn a_frozen_sleep_is_no_operation() {
    let drawing = "
        off     7 | ssssssssssss   | call=clock_nanosleep stack=hrtimer_nanosleep state=32769
        blocked 7 |   ssssssss     | call=clock_nanosleep stack=hrtimer_nanosleep";
    check_quiet(drawing);
    assert_eq!(stage(&drawing.replace("state=32769", "state=1")).explain().slow_operations, 1);
}

/// `timeout` ends a program that waits for the reader of its pipe.
#[test]
fn a_task_that_ends_a_write_to_a_full_pipe_by_a_signal_did_not_delay_it() {
    let blamed = |waker_stack: &str| {
        let stack = "call=write stack=anon_pipe_write,vfs_write state=1 watched";
        let explanation = stage(&format!("off 7 | ssssssss | {stack} waker=9 waker_stack={waker_stack}")).explain();
        explanation.culprits.first().and_then(|culprit| culprit.task.as_ref().map(|task| task.tid))
    };
    assert_eq!(blamed("signal_wake_up_state,kill_something_info"), None);
    assert_eq!(blamed("__wake_up_sync_key,anon_pipe_read"), Some(9));
}

/// A child that is stopped, or goes on, interrupts its parent, which then waits on.
#[test]
fn a_wait_for_a_child_goes_on_after_a_signal() {
    let drawing = |then: &str| {
        stage(&format!(
            "
        task     9 |n              | name=rsync
        op:write 7 |==========     |
        off      7 | ssssssss      | tp=contention_begin lock=1 holder=8 waker=8
        off      8 | sssss         | call=wait4 state=1 awaits=interrupt
        off      8 |{then} | call=wait4 state=1 awaits=child waker=9
        off      9 | sssss         | call=poll state=4 waker=3"
        ))
        .explain()
    };
    let chain_of = |then: &str| chain(&drawing(then).stalls[0]);
    assert_eq!(chain_of("      ssss"), "thread 7: lock 8 < thread 8: unexplained 8 < rsync/9: stopped 5");
    // It did other things for a while.
    let later = "                                 ssss";
    assert_eq!(chain_of(later), "thread 7: lock 8 < thread 8: unexplained 5");
}
