//! What counts as an operation, and its duration.

use model::detail::OtherEnd;
use model::event::RunEvent;
use model::operation::{IntervalRecord, OperationKind};

use crate::blame::tests::stage::{MS, Stage, description, shares, stage};
use crate::blame::{Blame, Explanation, Stall};

/// `read 7: 10` for each operation: class, thread, milliseconds; the longest first.
fn operations(explanation: &Explanation) -> String {
    let of = |stall: &Stall| format!("{} {}: {}", stall.operation, stall.task.tid, stall.duration_ns / MS);
    explanation.stalls.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn check(drawing: &str, expected: &str) {
    assert_eq!(operations(&stage(drawing).explain()), expected, "of {drawing}");
}

#[test]
fn system_calls_of_others_count_and_those_within_an_operation_do_not() {
    check(
        "op:write   7 |==========          |
         call:fsync 7 | ========           |
         call:open  7 |              ======|
         call:read  8 |  =======           |
         call:stat  8 |          ==        |",
        "write 7: 10, read 8: 7, open 7: 6",
    );
}

/// Nobody opens the other end of a FIFO until a signal ends the wait: there is no file by which it differs from others.
#[test]
fn an_open_of_a_fifo_that_a_signal_ends_has_idled() {
    let drawing = |stack: &str| {
        format!(
            "call:openat 7 |==================  |
             off         7 | ssssssssssssssss   | call=openat stack={stack},do_dentry_open state=1"
        )
    };
    check(&drawing("wait_for_partner,fifo_open"), "");
    check(&drawing("xfs_log_force"), "openat 7: 18");
}

#[test]
fn work_of_the_loads_other_threads_belongs_to_the_waiting_thread() {
    let drawing = "
        task       7 |                    | name=load pid=7
        task       8 |                    | name=worker pid=7
        task       9 |                    | name=other
        op:read    7 |==========          |
        call:read  8 | ========           |
        call:read  9 | ======             |
        call:stat  8 |             =======|";
    check(drawing, "read 7: 10, stat 8: 7, read 9: 6");
    let explanation = stage(drawing).explain();
    assert_eq!((explanation.slow_operations, explanation.others), (3, 2));
}

#[test]
fn sleeps_of_one_page_fault_are_one_operation() {
    let fault = "stack=folio_wait_bit_common,filemap_fault,asm_exc_page_fault";
    let in_call = "stack=folio_wait_bit_common,filemap_fault,asm_exc_page_fault,do_syscall_64";
    // Two adjacent sleeps; a sleep that is too short; a sleep within an untraced system call.
    let drawing = format!(
        "off 7 |ssss                | {fault}
         off 7 |    sss             | {fault}
         off 7 |            ss      | {fault}
         off 8 |ssssssss            | {in_call}
         off 9 |ssssssss            | {fault} call=read"
    );
    check(&drawing, "page_fault 7: 7");
    assert_eq!(shares(&stage(&drawing).explain()), "page_fault 7");
}

#[test]
fn a_polled_wait_counts_unless_it_is_a_kernel_threads_or_part_of_another() {
    check(
        "blocked  7 |==========          | stack=vfs_write,ksys_write
         blocked  7 |   ==========       | stack=vfs_write,ksys_write
         blocked  8 |==========          | stack=rescuer,kthread
         call:read 9 |==========         |
         blocked  9 |   =======          | stack=vfs_write,ksys_write",
        "blocked 7: 13, read 9: 10",
    );
}

/// /proc shows a frozen sleep as an uninterruptible one; the tracer saw that of one thread.
#[test]
fn polled_waits_of_a_frozen_process_are_none() {
    let polled = "
        task    7 |n               | pid=7
        task    9 |n               | pid=7
        blocked 9 |  ==========    | stack=futex_do_wait,__futex_wait call=futex";
    assert_eq!(operations(&stage(polled).explain()), "futex 9: 10");
    let frozen = format!("{polled}\n off 7 |ssssssssssssss  | state=32768 stack=do_epoll_wait waker=5");
    assert_eq!(operations(&stage(&frozen).explain()), "");
}

#[test]
fn a_polled_wait_has_the_name_of_its_call() {
    let drawing = "
        blocked  7 |   =======          | stack=vfs_write,ksys_write
        blocked  7 |==========          | stack=jbd2_log_wait_commit call=fsync path=/mnt/file
        blocked  8 |=====               | call=openat";
    check(drawing, "fsync 7: 10, openat 8: 5");
    let explanation = stage(drawing).explain();
    assert_eq!(explanation.stalls[0].path.as_deref(), Some("/mnt/file"));
    assert!(!explanation.stalls[0].finished);
}

#[test]
fn a_polled_wait_that_ended_is_as_long_as_it_was() {
    let drawing = "
        off      7 |==========          | stack=percpu_rwsem_wait,vfs_write
        blocked  7 |   =======          | stack=percpu_rwsem_wait,vfs_write
        off      8 |===                 | stack=percpu_rwsem_wait,vfs_write
        blocked  8 |       ========     | stack=percpu_rwsem_wait,vfs_write";
    check(&drawing.replace("off      7 |==========", "off      7 |ssssssssss"), "blocked 7: 10, blocked 8: 8");
    let explanation = stage(&drawing.replace("off      7 |==========", "off      7 |ssssssssss")).explain();
    assert_eq!(explanation.stalls.iter().map(|stall| stall.finished).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn polled_waits_of_a_call_that_has_not_returned_are_one_operation() {
    let drawing = "
        off      7 |  ssssss            | stack=folio_wait_writeback call=tgkill since=1
        blocked  7 |  =====             | stack=folio_wait_writeback call=tgkill since=1
        off      7 |         ssssssss   | stack=folio_wait_writeback call=tgkill since=1
        blocked  7 |          ======    | stack=folio_wait_writeback call=tgkill since=1
        blocked  8 |     ==========     | stack=folio_wait_writeback call=fsync since=1";
    check(drawing, "tgkill 7: 15, fsync 8: 13");
}

#[test]
fn a_wait_that_had_not_ended_lasts_since_the_begin_of_its_call() {
    let mut drawing = stage(
        "off      7 |  ssss              | stack=jbd2_log_wait_commit call=fsync since=1
         blocked  7 |        ============| stack=jbd2_log_wait_commit call=fsync since=1
         blocked  8 |        ============| stack=pipe_read
         blocked  9 |        ============| stack=request_wait_answer call=read",
    );
    // The last look of the tracer, which knows the state.
    let states = [2, 1, 1];
    drawing.stalls[1..].iter_mut().zip(states).for_each(|(row, state)| row.state = Some(state));
    let explanation = drawing.explain();
    assert_eq!(operations(&explanation), "fsync 7: 18, read 9: 12");
    assert_eq!(shares(&explanation), "journal 16, network_fs 12, running 2999999ns");
}

#[test]
fn sleeps_of_the_command_that_no_operation_holds_are_listed() {
    let drawing = stage(
        "call:read 7 |=======                | path=/mnt/f
         off       7 | sssss                 | stack=io_schedule call=read watched
         off       7 |        ssssssw        | stack=locks_lock_inode_wait,flock_lock call=flock waker=9 state=1 watched
         off       8 |ssssssssssssssss       | stack=do_wait call=wait4 state=1 watched
         off       8 |                sss    | call=flock watched
         off       6 |sssssssssss            | call=flock state=1",
    );
    let sleeps = drawing.explain().sleeps;
    assert_eq!((sleeps.count, sleeps.total_ns, sleeps.idle_count, sleeps.idle_ns), (1, 6 * MS, 1, 16 * MS));
    assert_eq!(sleeps.idle_calls, ["wait4"]);
    let sleep = &sleeps.longest[0];
    assert_eq!((sleep.task.tid, sleep.call.as_deref(), sleep.duration_ns), (7, Some("flock"), 6 * MS));
    assert_eq!(sleep.stack.as_deref(), Some("locks_lock_inode_wait < flock_lock"));
    assert_eq!((sleep.waker.as_ref().map(|waker| waker.tid), sleep.waits_for.clone()), (Some(9), None));
}

/// The waker of a semaphore has posted it.
#[test]
fn a_listed_sleep_says_what_it_is_for() {
    let object = |row: &str| {
        let explanation = stage(row).explain();
        assert_eq!((explanation.slow_operations, explanation.sleeps.count), (0, 1), "{row}");
        explanation.sleeps.longest[0].waits_for.clone()
    };
    let semaphore =
        object("off 7 |ssssssssss   | call=semtimedop stack=do_semtimedop state=1 awaits=thread waker=9 watched");
    assert_eq!(semaphore, Some(OtherEnd::SystemVSemaphore));
    let shared = object("off 7 |ssssssssss   | call=futex stack=futex_do_wait state=1 awaits=thread waker=9 watched");
    assert_eq!(shared, Some(OtherEnd::SharedFutex));
    let private = object("off 7 |ssssssssss   | call=futex stack=futex_do_wait state=1 awaits=work waker=9 watched");
    assert_eq!(private, None);
    let fifo = object("off 7 |ssssssssss   | call=openat stack=wait_for_partner,fifo_open state=1 watched");
    assert_eq!(fifo, Some(OtherEnd::FifoOpener));
    let file = object("off 7 |ssssssssss   | call=openat stack=do_open state=1 waker=9 watched");
    assert_eq!(file, None);
}

/// A quiet machine of Java had 20 of them.
#[test]
fn sleeps_of_a_runtimes_idle_threads_are_only_summed_up() {
    let threads = "task 7 | n | name=java pid=7\ntask 8 | n | name=GC pid=7\ntask 6 | n | name=VM pid=7";
    let idle = |row: &str| {
        let row = format!("off {row} call=futex stack=futex_do_wait state=1 watched");
        let explanation = stage(&format!("{row}\n{threads}")).explain();
        let sleeps = &explanation.sleeps;
        assert_eq!((explanation.slow_operations, sleeps.count + sleeps.idle_count), (0, 1), "{row}");
        sleeps.idle_count == 1
    };
    assert!(idle("8 |ssssssssss   | awaits=work waker=6"), "a collector");
    assert!(!idle("8 |ssssssssss   | awaits=work waker=7"), "a thread that the program gives work");
    assert!(idle("7 |ssssssssss   | awaits=child waker=8"), "the launcher, which waits for the program's thread");
    assert!(idle("7 |ssssssssss   | waker_stack=hrtimer_wakeup"), "a pause");
    assert!(!idle("7 |ssssssssss   | awaits=work waker=8"), "the program itself");
    assert!(!idle("8 |ssssssssss   | awaits=thread waker=9"), "another process");
}

/// Both sides of a server that hangs: nothing else is known of them.
#[test]
fn sleeps_that_last_throughout_the_recording_are_listed() {
    let drawing = stage(
        "blocked   7 |ssssssssss      | call=epoll_wait state=1 watched cut
         blocked   7 |ssssssssssssssss| call=epoll_wait state=1 watched cut
         blocked   8 |ssssssssssssssss| call=semop stack=do_semtimedop state=1 watched cut
         blocked   9 |    ssssssssssss| call=semop stack=do_semtimedop state=1 watched
         blocked   6 |ssssssssssssssss| call=semop stack=do_semtimedop state=1 cut",
    );
    let explanation = drawing.explain();
    let sleeps = &explanation.sleeps;
    assert_eq!((explanation.slow_operations, sleeps.count, sleeps.idle_count, sleeps.idle_throughout), (0, 2, 1, 1));
    let listed: Vec<_> =
        sleeps.longest.iter().map(|sleep| (sleep.task.tid, sleep.throughout, sleep.unfinished)).collect();
    assert_eq!(listed, [(8, true, true), (9, false, true)]);
    assert_eq!(sleeps.idle_ns, 16 * MS);
}

/// It did not idle: it had asked the server for something.
#[test]
fn a_wait_of_the_command_for_an_idle_server_is_listed() {
    let drawing = stage("off 7 |ssssssssss   | call=recvfrom state=1 awaits=answer waker=9 watched");
    let explanation = drawing.explain();
    assert_eq!((explanation.slow_operations, explanation.sleeps.count, explanation.sleeps.idle_count), (0, 1, 0));
    assert_eq!(explanation.sleeps.longest[0].waker.as_ref().map(|waker| waker.tid), Some(9));
}

#[test]
fn an_operation_seen_stuck_repeatedly_is_one() {
    let drawing = "
        op:fsync 7 |==========          | stuck
        op:fsync 7 |===============     | stuck
        op:fsync 8 |==========          | stuck
        op:fsync 8 |============        |";
    check(drawing, "fsync 7: 15, fsync 8: 12");
    let finished: Vec<bool> = stage(drawing).explain().stalls.iter().map(|stall| stall.finished).collect();
    assert_eq!(finished, [false, true]);
}

#[test]
fn the_last_wait_of_an_unfinished_operation_has_only_polls() {
    let drawing = stage(
        "op:fsync 7 |====================| stuck
         off      7 |  ssss              | stack=jbd2_log_wait_commit
         blocked  7 |        =========   | stack=jbd2_log_wait_commit",
    );
    assert_eq!(shares(&drawing.explain()), "journal 13, unexplained 5, running 2");
}

#[test]
fn a_late_paced_operation_is_explained_by_its_tasks_earlier_work() {
    // The second was to begin at 2, while the first still waited.
    let explanation = stage(
        "op:write 7 |==========          |
         op:write 7 |  ==============    |
         off      7 | ssssssss           | stack=jbd2_log_wait_commit
         off      7 |           sss      | stack=__iomap_dio_rw",
    )
    .explain();
    assert_eq!(shares(&explanation), "journal 15, running 6, device 3");
}

#[test]
fn only_measured_phases_count() {
    let mut drawing = stage("op:read 7 |======              |\n op:read 7 |          =======   |");
    let started =
        |phase: &str, measured, at_ms: u64| RunEvent::PhaseStarted { phase: phase.into(), measured, at_ns: at_ms * MS };
    drawing.events = vec![
        started("fill", false, 0),
        RunEvent::PhaseEnded { phase: "fill".into(), at_ns: 8 * MS, bytes: 0 },
        started("run", true, 8),
    ];
    let explanation = drawing.explain();
    assert_eq!(operations(&explanation), "read 7: 7");
    assert_eq!(explanation.outside, 1);
}

#[test]
fn failed_operations_and_rounds_do_not_count_unless_they_were_slow_themselves() {
    let mut drawing = stage("op:read 7 |===    ==========|\n op:round 7 |====================|");
    drawing.operations.iter_mut().for_each(|operation| operation.kind = OperationKind::Failed);
    assert_eq!(operations(&drawing.explain()), "read 7: 10");
}

#[test]
fn the_threshold_can_only_be_raised() {
    let drawing = stage("op:read 7 |======     ==========|");
    for (asked_ms, asked_for, expected) in
        [(8, None, "read 7: 10"), (5, None, "read 7: 10, read 7: 6"), (1, Some(MS), "read 7: 10, read 7: 6")]
    {
        let explanation = drawing.explain_run(&description(true), Some(asked_ms * MS));
        assert_eq!((operations(&explanation).as_str(), explanation.asked_for_ns), (expected, asked_for));
    }
}

#[test]
fn intervals_give_the_number_of_operations_and_the_slowest() {
    let mut blame = Blame::new(None, &description(true));
    let interval = |phase: &str, class: &str, count, max_ns| IntervalRecord {
        phase: phase.into(),
        class: class.into(),
        count,
        max_ns: Some(max_ns),
        ..IntervalRecord::default()
    };
    blame.events(&[RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns: 0 }]);
    blame.intervals(&[
        interval("fill", "write", 100, 9),
        interval("run", "read", 30, 4),
        interval("run", "round", 7, 99),
        interval("run", "write", 12, 3),
    ]);
    let explanation = blame.finish();
    assert_eq!((explanation.operations, explanation.slowest), (Some(42), Some(("read".into(), 4))));
    assert_eq!(Stage::default().explain().operations, None);
}

#[test]
fn the_accounting_has_each_operation_in_brief_and_in_full() {
    let stage = stage(
        "op:read    7 |======================| path=/mnt/f
         off        7 |  sssssww             | stack=io_schedule
         op:write   8 |      ==========      |
         task       7 |                      | name=worker pid=7",
    );
    let mut blame = crate::blame::Blame::new(None, &crate::blame::tests::stage::description(true));
    blame.stalls(&stage.stalls);
    blame.operations(&stage.operations);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    let (explanation, accounting) = blame.finish_with_accounting();
    let mut visited = Vec::new();
    accounting.for_each(|operation| {
        let lost: u64 = operation.pieces.iter().map(|piece| piece.end_ns - piece.start_ns).sum();
        assert_eq!(lost, operation.duration_ns, "the pieces of {operation:?}");
        visited.push((
            operation.operation.to_owned(),
            operation.tid,
            operation.task.map(str::to_owned),
            operation.path.map(str::to_owned),
        ));
    });
    let expected = [("read", 7, Some("worker"), Some("/mnt/f")), ("write", 8, None, None)];
    let expected = expected.map(|(class, tid, task, path): (&str, u32, Option<&str>, Option<&str>)| {
        (class.to_owned(), tid, task.map(str::to_owned), path.map(str::to_owned))
    });
    assert_eq!(visited, expected);
    let in_full: Vec<_> = accounting.stalls(&[0, 1, 2]).into_iter().map(|(_, stall)| stall).collect();
    assert_eq!(in_full, explanation.stalls, "the longest is the first here");
}
