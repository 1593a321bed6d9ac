//! Threads that wait for a thread which works for them.

use crate::blame::tests::answer::{check, check_quiet};

const TASKS: &str = "
        task 7 |n               | pid=7
        task 9 |n               | pid=7
        task 11 |n              | pid=7";

/// A pool's thread got its work from the oldest thread, which then waits for it.
#[test]
fn a_program_waits_for_what_its_thread_does_for_it() {
    let drawing = format!(
        "{TASKS}
        off 7 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=work waker=9 watched
        off 9 |ss              | call=futex stack=futex_do_wait state=1 awaits=work waker=7 watched
        off 9 |   sssssssss    | stack=xfs_log_force watched"
    );
    check(&drawing, "fs_log 9, unexplained 2, running 1", "/7: fs_log 9 < /9: fs_log 9");
    // The first thread of a Java machine waits for the end of the second one.
    let launcher = "off 5 |ssssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=child waker=7 watched";
    check(
        &format!("{drawing}\ntask 5 |n | pid=7\n{launcher}"),
        "fs_log 9, unexplained 2, running 1",
        "/7: fs_log 9 < /9: fs_log 9",
    );
    // Of Java, a thread sleeps in a futex.
    let sleeps = "off 9 |            s   | call=futex stack=futex_do_wait state=1 waker_stack=hrtimer_wakeup watched";
    check(
        &format!("{drawing}\n{sleeps}"),
        "fs_log 9, sleep 1, running 1, unexplained 1",
        "/7: fs_log 9 < /9: fs_log 9",
    );
    // Of a program that is not recorded the thread must have waited for its work: else the wait may be for its end.
    let others = drawing.replace("watched", "");
    check(&others, "fs_log 9, unexplained 3", "/7: fs_log 9 < /9: fs_log 9");
    check_quiet(&others.replace("off 9 |ss              |", "off 11 |ss             |"));
    // A thread that another one gave its work; a program of Go; a thread that did not wait for storage.
    check_quiet(&drawing.replace("waker=7", "waker=11"));
    let threads_of_go = "off 11 |sss             | call=epoll_pwait state=1 awaits=interrupt watched";
    check_quiet(&format!("{drawing}\n{threads_of_go}"));
    check_quiet(&drawing.replace("stack=xfs_log_force", "call=clock_nanosleep"));
}

/// The oldest thread works for itself, and then has work for a thread that waited.
#[test]
fn a_thread_that_waits_for_work_is_idle() {
    check_quiet(&format!(
        "{TASKS}
        off 9 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=work waker=7 watched
        off 7 |ss              | call=futex stack=futex_do_wait state=1 awaits=work waker=9 watched
        off 7 |   ssss         | stack=xfs_log_force watched
        off 7 |       sss      | stack=xfs_log_force watched"
    ));
}
