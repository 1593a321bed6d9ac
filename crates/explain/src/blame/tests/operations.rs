//! What counts as an operation, and how long it was.

use model::event::RunEvent;
use model::operation::{IntervalRecord, OperationKind};

use super::stage::{MS, Stage, description, shares, stage};
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

#[test]
fn what_the_loads_other_threads_do_belongs_to_the_one_that_waits() {
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
    // Two sleeps that touch each other; one that is too short; one within a system call that is not followed.
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
fn a_wait_that_was_only_looked_at_counts_unless_it_is_the_kernels_own_or_part_of_another() {
    check(
        "blocked  7 |==========          | stack=vfs_write,ksys_write
         blocked  7 |   ==========       | stack=vfs_write,ksys_write
         blocked  8 |==========          | stack=rescuer,kthread
         call:read 9 |==========         |
         blocked  9 |   =======          | stack=vfs_write,ksys_write",
        "blocked 7: 13, read 9: 10",
    );
}

#[test]
fn a_wait_that_was_only_looked_at_has_its_calls_name() {
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
fn an_operation_that_is_seen_stuck_again_and_again_is_one() {
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
fn the_last_wait_of_what_never_ended_has_only_looks() {
    let drawing = stage(
        "op:fsync 7 |====================| stuck
         off      7 |  ssss              | stack=jbd2_log_wait_commit
         blocked  7 |        =========   | stack=jbd2_log_wait_commit",
    );
    assert_eq!(shares(&drawing.explain()), "journal 13, unexplained 5, running 2");
}

#[test]
fn a_late_paced_operation_is_explained_by_what_its_task_did_instead() {
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
fn all_operations_and_the_slowest_are_known_from_the_intervals() {
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
fn the_books_hold_each_operation_in_brief_and_in_full() {
    let stage = stage(
        "op:read    7 |======================| path=/mnt/f
         off        7 |  sssssww             | stack=io_schedule
         op:write   8 |      ==========      |
         task       7 |                      | name=worker pid=7",
    );
    let mut blame = crate::blame::Blame::new(None, &super::stage::description(true));
    blame.stalls(&stage.stalls);
    blame.operations(&stage.operations);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    let (explanation, books) = blame.finish_with_accounting();
    let mut told = Vec::new();
    books.each(|one| {
        let lost: u64 = one.pieces.iter().map(|piece| piece.end_ns - piece.start_ns).sum();
        assert_eq!(lost, one.duration_ns, "the pieces of {one:?}");
        told.push((one.operation.to_owned(), one.tid, one.task.map(str::to_owned), one.path.map(str::to_owned)));
    });
    let expected = [("read", 7, Some("worker"), Some("/mnt/f")), ("write", 8, None, None)];
    let expected = expected.map(|(class, tid, task, path): (&str, u32, Option<&str>, Option<&str>)| {
        (class.to_owned(), tid, task.map(str::to_owned), path.map(str::to_owned))
    });
    assert_eq!(told, expected);
    let in_full: Vec<_> = books.stalls(&[0, 1, 2]).into_iter().map(|(_, stall)| stall).collect();
    assert_eq!(in_full, explanation.stalls, "the longest is the first here");
}
