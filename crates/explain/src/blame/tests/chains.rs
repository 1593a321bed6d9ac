//! Who waited for whom.

use super::stage::{chain, shares, stage};
use crate::blame::{Culprit, Explanation};

fn first_chain(drawing: &str) -> String {
    chain(&stage(drawing).explain().stalls[0])
}

fn culprit(explanation: &Explanation) -> String {
    let of = |culprit: &Culprit| {
        let task = culprit.task.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let device = culprit.device.map_or_else(String::new, |device| format!(" on {device}"));
        format!("{} {task}{device}", culprit.cause.name())
    };
    explanation.culprits.first().map(of).unwrap_or_default()
}

#[test]
fn from_fsync_through_the_journal_to_the_request() {
    let drawing = "
        task     7 |              | name=app
        task     9 |              | name=jbd2/loop0-8
        op:fsync 7 |==============|
        off      7 | ssssssssssss | stack=jbd2_log_wait_commit waker=9
        off      9 |  ssssssssss  | stack=folio_wait_writeback waker=3 request=1
        request  1 |   I D     C  | tid=9 overtaken=445";
    let explanation = stage(drawing).explain();
    let stall = &explanation.stalls[0];
    assert_eq!(chain(stall), "app/7: journal 12 < jbd2/loop0-8/9: device 10");
    let request = stall.request.as_ref().unwrap();
    assert_eq!(request.overtaken_by[0].1, 445);
    assert_eq!(shares(&explanation), "journal 12, running 2");
    assert_eq!(culprit(&explanation), "journal jbd2/loop0-8/9 on 8,0");
}

/// A program begins as the one that started it, and is told when its first row ends.
#[test]
fn a_task_has_the_name_that_it_had_when_its_rows_ended() {
    let drawing = "
        task     7 |n              | name=sh
        task     7 |             n | name=app
        task     9 |n              | name=bash
        task     9 |            n  | name=writer
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin waker=9
        off      9 |   sssssssss  | stack=xfs_log_force";
    assert_eq!(first_chain(drawing), "app/7: lock 12 < writer/9: fs_log 9");
}

#[test]
fn a_request_that_the_wait_itself_does_not_tell_of_is_a_step() {
    let drawing = "
        task      7 |            | name=sync
        task      9 |            | name=kworker/u4:1
        op:sync   7 |============|
        off       7 | ssssssssss | stack=wb_wait_for_completion request=1
        request   1 |    I   D  C| tid=9";
    assert_eq!(first_chain(drawing), "sync/7: writeback_wait 10 < kworker/u4:1/9: scheduler_queue 7");
}

/// The flusher wrote many requests; that the last of them was quick does not say why all of them took so long.
#[test]
fn the_last_of_many_requests_does_not_stand_for_a_long_wait() {
    let drawing = "
        task      7 |                    | name=sync
        task      9 |                    | name=kworker/u4:1
        op:sync   7 |====================|
        off       7 | ssssssssssssssssss | stack=wb_wait_for_completion waker=9 request=2
        off       9 | ssssssss ssssssss  | stack=blk_mq_get_tag waker=0 request=1
        request   1 |        D        C  | tid=9
        request   2 |                 DC | tid=9";
    let expected = "sync/7: writeback_wait 18 < kworker/u4:1/9: request_wait 16 < kworker/u4:1/9: device 9";
    assert_eq!(first_chain(drawing), expected);
    let alone = drawing.replace("ssssssss ssssssss", "                 ");
    assert_eq!(first_chain(&alone), "sync/7: writeback_wait 18 < kworker/u4:1/9: device 1");
}

/// Such a worker was idle before, and of that no row tells.
#[test]
fn a_worker_that_acts_when_a_request_is_done_did_not_make_others_wait() {
    let drawing = "
        task      7 |                    | name=app
        task      9 |                    | name=kworker/u4:1
        op:write  7 |====================|
        off       7 | ssssssssssssssssss | stack=start_this_handle waker=9 request=1
        request   1 |   D              C | tid=7";
    assert_eq!(first_chain(drawing), "app/7: journal 18 < app/7: device 15");
    let quick = drawing.replace("   D              C", "                 DC");
    assert_eq!(first_chain(&quick), "app/7: journal 18 < kworker/u4:1/9: running 18");
}

#[test]
fn who_had_the_cpu_last_is_named() {
    let drawing = "
        task     7 |          | name=app
        task     9 |          | name=spin-2 pid=8
        task     8 |          | name=spin cgroup=/busy
        op:write 7 |==========|
        off      7 | ssswwwww | stack=jbd2_log_wait_commit behind=9";
    let explanation = stage(drawing).explain();
    let detail = explanation.stalls[0].causes[0].detail.as_deref();
    assert_eq!(detail, Some("woken, and ran only 5.00 ms later; spin-2/9 had the CPU last"));
    assert_eq!(culprit(&explanation), "cpu_wait spin/8");
    let put_off = stage("op:write 7 |==========|\noff 7 | pppppppp | behind=9").explain();
    assert_eq!(
        put_off.stalls[0].causes[0].detail.as_deref(),
        Some("put off the CPU for 8.00 ms; thread 9 had the CPU last")
    );
}

#[test]
fn a_lock_ends_at_the_one_who_worked_while_holding_it() {
    let drawing = "
        task     7 |          | name=app
        task     9 |          | name=writer
        op:write 7 |==========|
        off      7 | ssssssss | tp=contention_begin waker=9";
    let explanation = stage(drawing).explain();
    assert_eq!(chain(&explanation.stalls[0]), "app/7: lock 8 < writer/9: running 8");
    assert_eq!(culprit(&explanation), "lock writer/9");
}

#[test]
fn an_interrupt_is_no_waker_whoever_it_interrupted() {
    let drawing = |more: &str| {
        format!(
            "op:write 7 |==========|
             off      7 | ssssssss | stack=balance_dirty_pages waker=9 {more}
             off      9 |  ssss    | stack=xfs_log_force"
        )
    };
    assert_eq!(first_chain(&drawing("waker_stack=try_to_wake_up,hrtimer_wakeup")), "thread 7: dirty_throttle 8");
    assert_eq!(first_chain(&drawing("")), "thread 7: dirty_throttle 8 < thread 9: fs_log 4");
}

#[test]
fn wakers_in_a_circle_end() {
    let drawing = "
        op:write 7 |==========|
        off      7 | ssssssss | tp=contention_begin waker=9
        off      9 | ssssssss | tp=contention_begin waker=7";
    assert_eq!(first_chain(drawing), "thread 7: lock 8 < thread 9: lock 8");
    let futexes = drawing.replace("tp=contention_begin", "stack=futex_do_wait");
    assert_eq!(shares(&stage(&futexes).explain()), "lock 8, running 2");
}

#[test]
fn an_idle_worker_waited_for_work_and_nothing_else() {
    let drawing = "
        op:fsync 7 |==========|
        off      7 | ssssssss | stack=xfs_log_force waker=9
        off      9 |ssssss    | stack=worker_thread,kthread
        off      9 |      ss  | stack=xfs_buf_lock";
    assert_eq!(first_chain(drawing), "thread 7: fs_log 8 < thread 9: lock 2");
}

#[test]
fn a_thread_that_waits_for_its_workers_lost_what_they_lost() {
    let drawing = "
        op:allocation 7 |============|
        off           7 |  ssssss    | stack=futex_do_wait,do_futex waker=8
        off           7 |        ss  | stack=futex_do_wait,do_futex waker=9
        off           8 |  sssss     | stack=xfs_log_force waker=3
        off           9 |   ssssswww | stack=jbd2_log_wait_commit waker=3";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "fs_log 5, running 5, cpu_wait 2");
    assert_eq!(chain(&explanation.stalls[0]), "thread 7: fs_log 5 < thread 8: fs_log 5 < thread 3: running 5");
}

#[test]
fn the_memory_that_a_task_frees_for_itself_is_its_own_fault() {
    let drawing = "
        task     7 |          | name=app cgroup=/box
        op:write 7 |==========|
        span     7 | ======== | tp=mm_shrink_slab detail=super_cache_scan~of~xfs~on~7,0
        off      7 | ssssssss | stack=xfs_log_force waker=9";
    let explanation = stage(drawing).explain();
    assert_eq!(culprit(&explanation), "shrinker app/7");
    assert_eq!(explanation.culprits[0].cgroup.as_deref(), Some("/box"));
    let detail = explanation.stalls[0].causes[0].detail.as_deref();
    assert_eq!(detail, Some("shrinking a cache (super_cache_scan of xfs on 7,0)"));
}
