//! Clients that wait for a server, and threads that wait for threads.

use crate::blame::Cause;
use crate::blame::tests::answer::{check, check_quiet};
use crate::blame::tests::stage::stage;

#[test]
fn a_client_waits_for_what_its_server_waits_for() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |sss             | call=recvfrom awaits=message waker=7 cpu=1
        off 9 |    sssssssss   | stack=xfs_log_force cpu=2
        off 9 |              ss| call=recvfrom awaits=message waker=7 cpu=3",
        "fs_log 9, running 2, unexplained 1",
        "thread 7: fs_log 9 < thread 9: fs_log 9",
    );
}

/// userfaultfd: a pager hands out the page, after its own wait, or after one of which nothing is known.
#[test]
fn a_page_fault_waits_for_its_pager() {
    let fault = "off 7 |  ssssssssssss  | stack=handle_userfault,handle_mm_fault,exc_page_fault awaits=thread waker=9 \
                 state=1\n";
    check(
        &format!("{fault} off 9 |  ssssssssss    | stack=xfs_log_force"),
        "fs_log 10, unexplained 2",
        "thread 7: fs_log 10 < thread 9: fs_log 10",
    );
    check(fault, "unexplained 12", "");
}

#[test]
fn a_client_waits_for_a_server_that_is_stopped() {
    check(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 |sssssssssssss   | call=epoll_wait awaits=message stack=do_signal_stop holder=4 waker=3",
        "stopped 11, unexplained 1",
        "thread 7: stopped 11 < thread 9: stopped 11 < thread 4: stopped 11",
    );
    // The task that lets it go on did not stop it.
    check(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 |sssssssssssss   | call=epoll_wait awaits=message stack=do_signal_stop waker=3
        off 3 |ssssssssssss    | call=clock_nanosleep awaits=interrupt",
        "stopped 11, unexplained 1",
        "thread 7: stopped 11 < thread 9: stopped 11",
    );
    // It seems to have got a message from the task that continued it.
    for how in ["state=260", "waker_stack=try_to_wake_up,__thaw_task state=1"] {
        check(
            &format!(
                "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 | ssssssssssss   | call=epoll_wait awaits=message waker=5 {how}"
            ),
            "stopped 11, unexplained 1",
            "thread 7: stopped 11 < thread 9: stopped 11",
        );
    }
    // The server that is stopped waits for nothing.
    check_quiet("off 7 |  ssssssssssss  | call=recvfrom awaits=answer stack=do_signal_stop waker=4");
}

/// A second thread got the id of the first, and its CPU time began again.
#[test]
fn cpu_time_that_decreases_is_of_another_thread() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |sss             | call=recvfrom awaits=message waker=7 cpu=8
        off 9 |    sssssssss   | stack=xfs_log_force cpu=2
        off 9 |              ss| call=recvfrom awaits=message waker=7 cpu=3",
        "fs_log 9, unexplained 2, running 1",
        "thread 7: fs_log 9 < thread 9: fs_log 9",
    );
}

/// The server's thread waits for a lock (PostgreSQL: a row), whose holder waits for its own client.
#[test]
fn a_client_of_a_server_that_waits_for_a_lock_is_not_idle() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |   ssssssssss   | call=epoll_wait awaits=lock waker=8
        off 8 |sssssssssssss   | call=recvfrom awaits=message waker=6
        off 6 |ssssssssssss    | call=clock_nanosleep awaits=interrupt",
        "lock 20, unexplained 2",
        "thread 7: lock 10 < thread 9: lock 10 < thread 8: unexplained 10 < thread 6: unexplained 10",
    );
    // The holder of the lock waits for its disk.
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |   ssssssssss   | call=epoll_wait awaits=lock waker=8
        off 8 |   sssssssss    | stack=xfs_log_force",
        "fs_log 18, lock 2, unexplained 2",
        "thread 7: fs_log 9 < thread 8: fs_log 9",
    );
    // A server that sleeps, and does not wait for a lock, is idle.
    check_quiet(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |   ssssssssss   | call=clock_nanosleep awaits=interrupt",
    );
}

/// A program writes much through a pipe: its reader takes small pieces, and works for each.
#[test]
fn waits_for_room_in_one_call_are_one_operation() {
    let drawing = "
        off 7 |  sss           | call=write awaits=room waker=9 asked=1 watched
        off 7 |     sss        | call=write awaits=room waker=9 asked=1 watched
        off 7 |        sss     | call=write awaits=room waker=9 asked=1 watched
        off 7 |             sss| call=write awaits=room waker=9 asked=13 watched
        off 9 |s               | call=read cpu=1 watched
        off 9 |               s| call=read cpu=15 watched";
    check(drawing, "running 9", "thread 7: running 9 < thread 9: running 9");
    let explanation = stage(drawing).explain();
    let [culprit] = &explanation.culprits[..] else { panic!("{:?}", explanation.culprits) };
    assert_eq!((culprit.task.as_ref().map(|task| task.tid), culprit.time_ns), (Some(9), 9_000_000));
    assert_eq!((explanation.processes[0].lost_ns, explanation.processes[0].cause), (9_000_000, Some(Cause::Running)));
    // What the reader did is unknown.
    check(&drawing.replace("waker=9", ""), "unexplained 9", "");
    // The reader of another program's writer is nobody's stall.
    check_quiet(&drawing.replace("watched", ""));
}

/// A pipe through a program that limits its own rate (pv): it sleeps in a `select` of nothing.
#[test]
fn a_reader_that_sleeps_while_its_pipe_is_full_does_so_by_choice() {
    let drawing = "
        off 7 |  sssssssss     | call=write awaits=room waker=9 asked=1 watched
        off 9 |   sssssss      | call=pselect6 stack=do_select state=1 waker_stack=hrtimer_wakeup watched";
    check(drawing, "sleep 7, unexplained 2", "thread 7: sleep 7 < thread 9: sleep 7");
    // Whom it waited for is unknown.
    let by_interrupt = drawing.replace("hrtimer_wakeup", "sock_def_readable");
    check(&by_interrupt, "unexplained 9", "");
    // The stack shows that the write waits for the other end, whatever that does.
    let by_stack = by_interrupt.replace("call=write", "call=write stack=anon_pipe_write,vfs_write");
    check(&by_stack, "peer 9", "thread 7: peer 9 < thread 9: unexplained 7");
}

/// A backend of PostgreSQL that sleeps for a few ms before it answers.
#[test]
fn an_interrupt_does_not_hide_what_a_server_did_before() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |sss             | call=recvfrom awaits=message waker=7 cpu=1
        off 9 |    sssssss     | stack=xfs_log_force cpu=2
        off 9 |            s   | call=epoll_wait awaits=interrupt cpu=2",
        "fs_log 7, unexplained 4, running 1",
        "thread 7: fs_log 7 < thread 9: fs_log 7",
    );
}

/// The recorded command waited for it all the same.
#[test]
fn the_recorded_command_waits_for_a_server_that_sleeps() {
    let drawing = "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9 watched
        off 9 |   ssssssssss   | call=clock_nanosleep awaits=interrupt waker=3";
    // Its timer interrupted thread 3.
    check(drawing, "sleep 10, unexplained 2", "thread 7: sleep 10 < thread 9: sleep 10");
    let explanation = stage(drawing).explain();
    assert_eq!(explanation.culprits[0].task.as_ref().map(|task| task.tid), Some(9), "{:?}", explanation.culprits);
    // An event loop that waits for something else does not sleep by choice.
    check_quiet(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9 watched
        off 9 |   ssssssssss   | call=epoll_wait awaits=interrupt",
    );
}

/// The thread of a FUSE server that answers waits for another one, which receives from a process that is stopped
/// (sshfs).
#[test]
fn a_chain_leads_through_messages() {
    check(
        "
        call:read 7 | ============== |
        off 7 |  ssssssssssss  | call=read stack=fuse_simple_request waker=9
        off 9 |  sssssssssss   | call=futex stack=futex_do_wait awaits=work waker=8
        off 8 | sssssssssss    | call=read awaits=message waker=6
        off 6 | ssssssssss     | stack=do_signal_stop waker=3 holder=3",
        "network_fs 12, running 2",
        "thread 7: network_fs 12 < thread 9: lock 11 < thread 8: unexplained 10 < thread 6: stopped 9 < thread 3: \
         stopped 9",
    );
}

/// The event loop was woken by its worker, which it had woken before.
#[test]
fn the_path_leads_through_a_pool_of_threads() {
    check(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 |ss ssssssssss ss| call=epoll_wait awaits=message waker=8
        off 8 |sss             | call=futex stack=futex_do_wait awaits=thread waker=9
        off 8 |    ssssssss    | stack=xfs_log_force
        off 8 |             sss| call=futex stack=futex_do_wait awaits=thread waker=9",
        "fs_log 8, unexplained 4",
        "thread 7: fs_log 8 < thread 8: fs_log 8",
    );
}

#[test]
fn a_wait_for_more_of_an_answer_or_for_room_counts_where_storage_was_slow() {
    for awaits in ["part_of_answer", "room"] {
        check(
            &format!(
                "
                off 7 |  ssssssssssss  | call=poll awaits={awaits} waker=9
                off 9 |sss             | call=recvfrom awaits=message waker=7 cpu=1
                off 9 |    sssssssss   | stack=xfs_log_force cpu=2
                off 9 |              ss| call=recvfrom awaits=message waker=7 cpu=3"
            ),
            "fs_log 9, running 2, unexplained 1",
            "thread 7: fs_log 9 < thread 9: fs_log 9",
        );
        // It was at work for itself.
        check_quiet(&format!(
            "
            off 7 |ssssssssssssss  | call=poll awaits={awaits} waker=9
            off 9 |        sss     | stack=xfs_log_force"
        ));
    }
}

/// A signal may end such a sleep. A server that waits for requests is idle.
#[test]
fn a_wait_for_the_program_behind_a_file_system_is_an_operation() {
    check(
        "
        off 7 |  ssssssssssss  | call=close stack=request_wait_answer state=1 waker=9",
        "network_fs 12",
        "thread 7: network_fs 12 < thread 9: unexplained 12",
    );
    check_quiet("off 9 |ssssssssssssss  | call=read stack=fuse_dev_do_read state=1");
}

#[test]
fn a_parent_waits_until_its_child_executes_its_program() {
    check(
        "
        call:clone3 7 |==============  |
        off 7 |  ssssssssssss  | call=clone3 stack=kernel_clone waker=9
        off 9 |  sssssssssss   | call=execve stack=xfs_log_force",
        "fs_log 11, running 2, unexplained 1",
        "thread 7: fs_log 11 < thread 9: fs_log 11",
    );
}

#[test]
fn idle_waits_are_no_operations() {
    // Nothing was asked.
    check_quiet(
        "
        off 9 |ssssssssssssss  | call=recvfrom awaits=message waker=7
        off 7 |  sssssssssss   | stack=xfs_log_force",
    );
    // Asked, but the server was asleep until its own timer ended.
    check_quiet(
        "
        off 7 |ssssssssssssss  | call=poll awaits=answer waker=9
        off 9 |  sssssssssss   | call=clock_nanosleep awaits=interrupt",
    );
    // A thread that got its work from another one.
    check_quiet(
        "
        off 8 |ssssssssssssss  | call=futex stack=futex_do_wait awaits=thread waker=9
        off 9 |        sss     | stack=xfs_log_force",
    );
    // Through another machine, or from nobody known.
    check_quiet("off 7 |ssssssssssssss  | call=poll awaits=answer waker=0");
}

#[test]
fn a_thread_waits_for_one_that_was_stalled() {
    check(
        "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=thread waker=9
        off 9 |  sssssssssss   | stack=xfs_log_force",
        "fs_log 11, lock 1, unexplained 1",
        "thread 7: fs_log 11 < thread 9: fs_log 11",
    );
}

/// Two tasks that wait for each other at different times.
#[test]
fn waits_for_each_other_end() {
    check(
        "
        off 7 |  sssss ssssss  | call=futex stack=futex_do_wait awaits=thread waker=9
        off 9 |s ssss ss     ss| call=futex stack=futex_do_wait awaits=thread waker=7
        off 9 |        sssss   | stack=xfs_log_force",
        "fs_log 5, unexplained 1",
        "thread 7: fs_log 5 < thread 9: fs_log 5",
    );
}

/// One request at a time: while the server works on another client's, this one waits.
#[test]
fn a_server_works_for_the_client_that_it_answers_next() {
    let drawing = "
        off   7 |  ssssssssssss  | call=poll awaits=answer waker=9 asked=2
        asked 6 |============    | waker=9
        off   9 |s               | call=recvfrom awaits=message waker=6 cpu=1
        off   9 |              ss| call=recvfrom awaits=message waker=7 cpu=14";
    let culprits = |drawing: &str| {
        let explanation = stage(drawing).explain();
        let of_victim = |culprit: &crate::blame::Culprit| {
            let ns = culprit.victims.iter().find(|(victim, _)| victim.tid == 7).map(|(_, ns)| *ns)?;
            (culprit.cause == Cause::Running).then(|| (culprit.task.as_ref().unwrap().tid, ns / 1_000_000))
        };
        let mut culprits: Vec<_> = explanation.culprits.iter().filter_map(of_victim).collect();
        culprits.sort_unstable();
        culprits
    };
    assert_eq!(culprits(drawing), [(6, 10), (9, 2)]);
    // It slept, and may have worked for others.
    let slept =
        drawing.replace("cpu=1\n", "cpu=1\n off 9 |         ss     | call=recvfrom awaits=message waker=5 cpu=8\n");
    assert!(culprits(&slept).iter().all(|&(tid, ms)| tid == 9 || ms <= 1), "{:?}", culprits(&slept));
    // It came later.
    assert_eq!(culprits(&drawing.replace("|============ ", "|            =")), [(9, 12)]);
    // An event loop took up both requests, and sends the answers in the other order.
    let at_once = "
        off   7 |  ssssssssssss  | call=poll awaits=answer waker=9 asked=2
        asked 7 |  ============  | waker=9
        asked 6 |=============== | waker=9
        off   9 |s               | call=epoll_wait awaits=message waker=6 cpu=1
        off   9 |               s| call=epoll_wait awaits=message waker=7 cpu=15";
    assert_eq!(culprits(at_once), [(6, 12)]);
}

/// The client of a server that computes is a proxy, which asks for the victim, or for another client.
#[test]
fn a_proxy_is_not_to_blame_for_what_it_asks_for() {
    let drawing = "
        off   7 |  ssssssssssss  | call=poll awaits=answer waker=6 asked=2
        asked 7 |  ============  | waker=6
        off   6 |sssssssssss     | call=epoll_wait awaits=message waker=9
        asked 6 |  =========     | waker=9
        off   9 |s               | call=recvfrom awaits=message waker=6 cpu=1
        off   9 |           sssss| call=recvfrom awaits=message waker=7 cpu=11";
    let culprits = |drawing: &str| {
        let explanation = stage(drawing).explain();
        let running = explanation.culprits.into_iter().filter(|culprit| culprit.cause == Cause::Running);
        let of_victim = |culprit: &crate::blame::Culprit| culprit.victims.iter().any(|(victim, _)| victim.tid == 7);
        running.filter(of_victim).map(|culprit| culprit.task.unwrap().tid).collect::<Vec<_>>()
    };
    assert_eq!(culprits(drawing), [9]);
    // What the proxy asked for was for another one.
    assert_eq!(culprits(&drawing.replace("asked 7", "asked 8")), [8]);
    // For whom is unknown: its next answer comes much later.
    let later = drawing.replace("asked 7 |  ============  |", "asked 8 |  ==============================  |");
    assert_eq!(culprits(&later), [6]);
    // Also for the victim, which asks that proxy: a cache asks once for what several wait for.
    let shared = drawing.replace(
        "asked 7 |  ============  | waker=6",
        "asked 7 |=              | waker=6\n asked 8 |  ==============================  | waker=6",
    );
    assert_eq!(culprits(&shared), [9]);
}

/// A gateway asks another thread, and a timer ends its last sleep before the answer comes. Its own wait is an
/// operation, too.
#[test]
fn what_a_server_asked_for_itself_is_known_by_its_answer() {
    let drawing = "
        off   7 |  ssssssssssss  | call=recvfrom awaits=answer waker=8 asked=2
        asked 8 |   ==========   | waker=9
        off   8 |         ssss   | call=epoll_pwait state=1 awaits=interrupt
        off   9 |   ssssssssss   | stack=xfs_log_force";
    check(drawing, "fs_log 20, unexplained 2", "thread 7: fs_log 10 < thread 9: fs_log 10");
}

/// A statement sleeps in the server (`SLEEP()`), with what its transaction has locked. The client's own call ends a
/// little later.
#[test]
fn the_client_whose_statement_sleeps_has_the_lock() {
    let drawing = "
        off   7 |  sssssssssss   | call=poll awaits=answer waker=9 asked=2
        off   9 |  sssssssssss   | call=futex state=1 awaits=lock asked=2 waker=8
        off   8 |ssssssssssss    | call=futex state=1 awaits=for_client asked=0 waker=0 waker_stack=hrtimer_wakeup
        asked 6 | ===========    | waker=8";
    let culprits = |drawing: &str| {
        let culprits = stage(drawing).explain().culprits;
        culprits
            .into_iter()
            .find(|culprit| culprit.cause == Cause::Lock)
            .and_then(|culprit| culprit.task)
            .map(|task| task.tid)
    };
    assert_eq!(culprits(drawing), Some(6));
    // By its stack, it may wait for a thread.
    assert_eq!(culprits(&drawing.replace("waker=0", "stack=futex_do_wait waker=0")), Some(6));
    // Whom it is for is unknown.
    assert_eq!(culprits(&drawing.replace("asked 6 ", "blocked 6 ")), Some(8));
}

/// The only worker of a server reads what a slow client sends. Had it listened, the request of thread 7 would have
/// woken it.
#[test]
fn a_client_waits_for_a_server_that_does_not_listen() {
    let slow = "off 5 |ssssssssssss    | call=clock_nanosleep awaits=interrupt\n";
    let waits = "off 7 |  ssssssssssss  | call=poll awaits=answer waker=9 watched\n";
    check(
        &format!("{slow}{waits} off 9 |sssssssssssss   | call=recvfrom awaits=message waker=5"),
        "sleep 10, unexplained 2",
        "thread 7: sleep 10 < thread 5: sleep 10",
    );
    // Another thread took up the request, or this one did: what it waits for is an event.
    check_quiet(&format!(
        "{slow}{waits} off 9 |sssssssssssss   | call=recvfrom awaits=message waker=5\n off 8 |ss              | \
         call=epoll_wait awaits=message waker=7"
    ));
    check_quiet(&format!(
        "{slow}{waits} off 9 |ss              | call=recvfrom awaits=message waker=7\n off 9 |  sssssssssss   | \
         call=recvfrom awaits=message waker=5"
    ));
}

/// Who let a lock go still has to be waited for, for a moment.
#[test]
fn the_last_word_of_a_holder_is_no_wait_of_its_own() {
    check(
        "
        off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
        off 9 |  ssssssssss    | call=futex awaits=lock waker=5
        off 9 |            s   | call=futex awaits=thread waker=5
        off 5 |sssssssssss     | call=read awaits=message waker=4",
        "lock 20, unexplained 3",
        "thread 7: lock 10 < thread 9: lock 10 < thread 5: unexplained 9 < thread 4: unexplained 9",
    );
}

/// A server starts a worker for the end of a request; both wait for each other again and again. What it did before that
/// counts, too.
#[test]
fn what_a_server_did_before_it_had_a_worker_is_known() {
    let turns = "
        off 9 |               s s s s s s s s s | call=futex awaits=thread waker=8
        off 8 |                s s s s s s s s s| call=futex awaits=thread waker=9";
    check(
        &format!(
            "
        off 7 |  sssssssssssssssssssssssssssssss | call=poll awaits=answer waker=9
        off 9 |  ssssssssssss                    | stack=xfs_log_force{turns}"
        ),
        "unexplained 19, fs_log 12",
        "thread 7: fs_log 12 < thread 9: fs_log 12",
    );
}

/// A shell that is asked about runs a program that opens a FIFO, whose writer, another shell, comes later.
#[test]
fn a_child_that_opens_a_fifo_waits_for_the_other_end() {
    let drawing = "
        off 7 |ssssssssssss | call=wait4 state=1 awaits=child waker=8 watched
        off 8 |sssssssssss  | call=wait4 state=1 awaits=child waker=6
        off 6 |ssssssssss   | call=openat stack=wait_for_partner,fifo_open state=1 waker=9
        off 9 |sssssssss    | call=clock_nanosleep state=1 awaits=interrupt";
    check(drawing, "sleep 9, unexplained 3", "thread 7: sleep 9 < thread 9: sleep 9");
    // It is nobody's child.
    check_quiet(&drawing.replace("watched", ""));
}
