//! Precedence: which cause a moment gets.

use crate::blame::Cause;
use crate::blame::tests::stage::{MS, check, description, shares, stage};

#[test]
fn off_cpu_and_runnable_is_run_queue_wait_anywhere() {
    check(
        "op:read  7 |==========|
         off      7 |  ssswww  | stack=jbd2_log_wait_commit",
        "running 4, journal 3, cpu_wait 3",
    );
    check(
        "op:read  7 |==========|
         span     7 | ======== | tp=mm_vmscan_direct_reclaim
         off      7 |  sswwppp | stack=jbd2_log_wait_commit",
        "cpu_wait 5, direct_reclaim 3, running 2",
    );
}

#[test]
fn the_innermost_span_counts_running_and_asleep() {
    check(
        "op:write 7 |============|
         span     7 | ==========   | tp=mm_vmscan_memcg_reclaim
         span     7 |    ====      | tp=mm_shrink_slab
         off      7 |   ssss       | stack=xfs_log_force",
        "direct_reclaim 6, shrinker 4, running 2",
    );
}

#[test]
fn an_unknown_span_hides_nothing() {
    check(
        "op:write 7 |==========|
         span     7 | ======== | tp=something_new
         off      7 |   sssss  | stack=xfs_log_force",
        "fs_log 5, running 5",
    );
}

#[test]
fn an_announcement_outranks_stack_and_request() {
    check(
        "op:write  7 |==========|
         off       7 |  ssssss  | tp=balance_dirty_pages stack=balance_dirty_pages request=1
         request   1 |  ID   C  |",
        "dirty_throttle 6, running 4",
    );
}

#[test]
fn a_lock_that_only_blocks_on_a_frozen_file_system_is_frozen() {
    let frozen = "stack=percpu_rwsem_wait,vfs_write,ksys_write";
    for (announced, stack, expected) in [
        ("tp=contention_begin", frozen, "frozen 6, running 4"),
        ("", frozen, "frozen 6, running 4"),
        ("tp=contention", frozen, "frozen 6, running 4"),
        ("tp=contention_begin", "stack=percpu_rwsem_wait,cpus_read_lock", "lock 6, running 4"),
        ("tp=contention_begin", "stack=ext4_buffered_write_iter", "lock 6, running 4"),
    ] {
        check(&format!("op:write 7 |==========|\n off 7 |  ssssss  | {announced} {stack}"), expected);
    }
}

#[test]
fn a_request_splits_the_sleep_that_it_ended() {
    check(
        "op:read 7 |==========|
         off     7 | ssssssss | stack=folio_wait_bit_common,filemap_read request=1
         request 1 |  Q I  D C|",
        "scheduler_queue 3, device 3, request_wait 2, running 2",
    );
    check(
        "op:read 7 |==========|
         off     7 | ssssssss | stack=folio_wait_bit_common,filemap_read request=1
         request 1 |      QIDC| throttled",
        "io_throttle 6, running 2, scheduler_queue 1, device 1",
    );
}

#[test]
fn writeback_wait_lasts_until_the_request_exists() {
    let drawing = |more: &str| {
        format!(
            "op:fsync 7 |==========|
             off      7 |sssssssss | request=1 {more}
             request  1 |     Q DC |"
        )
    };
    for more in ["tp=folio_wait_writeback", "stack=folio_wait_writeback,__filemap_fdatawait_range"] {
        check(&drawing(more), "writeback_wait 5, request_wait 2, device 2, running 1");
    }
    check(&drawing(""), "unexplained 5, request_wait 2, device 2, running 1");
}

#[test]
fn a_page_fault_waits_for_its_request_like_any_read() {
    let drawing = |request| {
        format!(
            "op:x    7 |==========|
             off     7 |sssssssss | {request} stack=folio_wait_bit_common,filemap_fault,asm_exc_page_fault
             request 1 |Q  I D  C |"
        )
    };
    check(&drawing("request=1"), "device 4, request_wait 3, scheduler_queue 2, running 1");
    check(&drawing(""), "page_fault 9, running 1");
}

#[test]
fn a_request_that_completes_beside_a_wait_for_something_else_does_not_explain_it() {
    for (stack, expected) in [
        ("jbd2_log_wait_commit,ext4_sync_file", "journal 8, running 2"),
        ("blk_mq_get_tag,__blk_mq_alloc_requests", "request_wait 8, running 2"),
        ("blk_mq_get_tag,__blk_mq_alloc_requests,filemap_fault,asm_exc_page_fault", "request_wait 8, running 2"),
        ("folio_wait_bit_common,do_swap_page,asm_exc_page_fault", "swap 8, running 2"),
    ] {
        let drawing =
            format!("op:x 7 |==========|\n off 7 | ssssssss | request=1 stack={stack}\n request 1 |  ID    C |");
        check(&drawing, expected);
    }
}

#[test]
fn a_request_missing_from_the_run_counts_as_device() {
    let explanation = stage(
        "op:read 7 |==========|
         off     7 | ssssssss | request=5",
    )
    .explain();
    assert_eq!(shares(&explanation), "device 8, running 2");
    assert_eq!(explanation.losses.unknown_requests, 1);
}

#[test]
fn short_waits_take_their_share_of_uncovered_time() {
    // 6 of the 10 ms are uncovered, and take all 3 ms of the short sleeps.
    check(
        "op:read 7 |==========|
         off     7 | ssss     | stack=__iomap_dio_rw
         sleeps  7 |==========| busy=3 stack=xlog_wait_on_iclog",
        "device 4, fs_log 3, running 3",
    );
    // Half of the sums' time overlaps the operation.
    check(
        "op:read       7 |     ==========|
         sleeps        7 |==========     | busy=4 stack=xlog_wait_on_iclog
         cpu_waits     7 |==========     | busy=2
         request_waits 7 |==========     | busy=2",
        "running 6, fs_log 2, device 1, cpu_wait 1",
    );
    // More than the available time.
    check(
        "op:read   7 |==========|
         spans     7 |==========| busy=8 tp=mm_vmscan_direct_reclaim
         sleeps    7 |==========| busy=8 stack=xlog_wait_on_iclog",
        "direct_reclaim 8, fs_log 2",
    );
    // A recorded span has no room for sums, except for work within reclaim.
    check(
        "op:read   7 |==========|
         span      7 | ======== | tp=mm_vmscan_direct_reclaim
         off       7 |  ssss    | stack=xfs_log_force
         sleeps    7 |==========| busy=1 stack=xlog_wait_on_iclog
         spans     7 |==========| busy=4 tp=mm_shrink_slab",
        "direct_reclaim 4, shrinker 4, fs_log 1, running 1",
    );
    // Reclaim calls the shrinkers, so they are placed there.
    check(
        "op:read   7 |==========|
         span      7 | ======== | tp=mm_vmscan_memcg_reclaim
         spans     7 |==========| busy=5 tp=mm_shrink_slab",
        "shrinker 5, direct_reclaim 3, running 2",
    );
    // Short reclaims contain the short shrinkers.
    check(
        "op:read   7 |==========|
         spans     7 |==========| busy=6 tp=mm_vmscan_direct_reclaim
         spans     7 |==========| busy=4 tp=mm_shrink_slab",
        "shrinker 4, running 4, direct_reclaim 2",
    );
}

#[test]
fn without_a_tracer_time_without_a_poll_is_unexplained() {
    let drawing = stage(
        "op:fsync 7 |==========|
         blocked  7 |   =====  | stack=jbd2_log_wait_commit",
    );
    assert_eq!(shares(&drawing.explain_untraced()), "journal 5, unexplained 5");
    assert_eq!(shares(&drawing.explain()), "journal 5, running 5");
}

#[test]
fn a_stopped_task_waits_for_nothing() {
    let mut drawing = stage("op:read 7 |==========|\n off 7 | ssssssss | stack=__iomap_dio_rw");
    for state in [4, 8, 0x8000] {
        drawing.stalls[0].state = Some(state);
        assert_eq!(shares(&drawing.explain()), "stopped 8, running 2");
    }
    let thawed = "waker=9 waker_stack=try_to_wake_up,__thaw_task,freezer_write";
    check(&format!("op:read 7 |==========|\n off 7 | ssssssss | {thawed}"), "stopped 8, running 2");
}

#[test]
fn where_rows_were_lost_running_is_unknown() {
    let mut drawing = stage("op:read 7 |==========|\n off 7 |ss        | stack=__iomap_dio_rw");
    let loss = |what: &str, at_ns| model::event::RunEvent::Loss { what: what.into(), count: 3, at_ns };
    drawing.events.push(loss("slow operations", 8_000_000));
    assert_eq!(shares(&drawing.explain()), "running 8, device 2");
    drawing.events.push(loss("time off the CPU", 8_000_000));
    assert_eq!(shares(&drawing.explain()), "running 6, device 2, unexplained 2");
}

#[test]
fn after_the_stalls_table_is_dropped_time_is_unexplained() {
    let mut drawing = stage("op:read 7 |==========|\n off 7 |ss        | stack=__iomap_dio_rw");
    drawing.events.push(model::event::RunEvent::TableDropped {
        table: "stalls".into(),
        why: "disk full".into(),
        at_ns: 6_000_000,
    });
    assert_eq!(shares(&drawing.explain()), "running 4, unexplained 4, device 2");
}

#[test]
fn without_scheduler_tracepoints_running_is_unexplained() {
    let mut run = description(true);
    let missing = |capability: &str| model::preflight::Finding::missing(capability, "", "no such tracepoint", "");
    let drawing = stage("op:read 7 |==========|\n span 7 | =====    | tp=mm_vmscan_direct_reclaim");
    run.preflight = vec![missing("tracing: locks")];
    assert_eq!(shares(&drawing.explain_run(&run, None)), "direct_reclaim 5, running 5");
    run.preflight = vec![missing("tracing: scheduler")];
    assert_eq!(shares(&drawing.explain_run(&run, None)), "direct_reclaim 5, unexplained 5");
}

/// A read that its cgroup's CPU quota holds back on the return to user space, and a client of a server that is held.
#[test]
fn time_without_cpu_quota_is_not_a_run_queue_wait() {
    let explanation = stage(
        "
call:read  7 | ==================== |
off        7 |  pppppppp   ppppp   | held detail=cpu_quota;;20000000,100000000;/x
",
    );
    let explanation = explanation.explain();
    assert_eq!(explanation.time_ns(Cause::CpuThrottle), 13 * MS);
    assert_eq!(explanation.time_ns(Cause::CpuWait), 0);
    let detail = explanation.stalls[0].causes[0].detail.as_deref();
    assert_eq!(detail, Some("held for 8.00 ms by the CPU quota of its cgroup (/x: 20.0 ms of 100 ms)"));
    assert_eq!(explanation.culprits[0].task.as_ref().map(|task| task.tid), Some(7));
}
