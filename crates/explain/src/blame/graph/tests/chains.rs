//! Chains of waits.

use model::usage::{Resource, UsageRecord};
use model::wait_kind::WaitKind;

use crate::blame::tests::stage::{MS, Stage, chain, shares, stage};
use crate::blame::{Cause, Culprit, Explanation};

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
    let objects: Vec<_> = stall.chain.iter().map(|link| (link.object, link.kernel_stack.join(" < "))).collect();
    assert_eq!(
        objects,
        [(Some(WaitKind::JournalCommit), "jbd2_log_wait_commit".to_owned()), (None, "folio_wait_writeback".to_owned())]
    );
    assert_eq!(shares(&explanation), "journal 12, running 2");
    assert_eq!(culprit(&explanation), "journal jbd2/loop0-8/9 on 8,0");
}

/// A program starts under its parent's name, and is recorded when its first row ends.
#[test]
fn a_task_has_its_name_at_the_end_of_its_rows() {
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
fn a_request_that_the_wait_does_not_describe_is_a_step() {
    let drawing = "
        task      7 |            | name=sync
        task      9 |            | name=kworker/u4:1
        op:sync   7 |============|
        off       7 | ssssssssss | stack=wb_wait_for_completion request=1
        request   1 |    I   D  C| kind=W tid=9";
    assert_eq!(first_chain(drawing), "sync/7: writeback_wait 10 < kworker/u4:1/9: scheduler_queue 7");
}

/// The flusher submitted many requests. A fast last request does not explain the whole wait.
#[test]
fn the_last_of_many_requests_does_not_explain_a_long_wait() {
    let drawing = "
        task      7 |                    | name=sync
        task      9 |                    | name=kworker/u4:1
        op:sync   7 |====================|
        off       7 | ssssssssssssssssss | stack=wb_wait_for_completion waker=9 request=2
        off       9 | ssssssss ssssssss  | stack=blk_mq_get_tag waker=0 request=1
        request   1 |        D        C  | kind=W tid=9
        request   2 |                 DC | kind=W tid=9";
    let expected = "sync/7: request_wait 15 < kworker/u4:1/9: request_wait 15 < kworker/u4:1/9: device 9";
    assert_eq!(first_chain(drawing), expected);
    let alone = drawing.replace("ssssssss ssssssss", "                 ");
    assert_eq!(first_chain(&alone), "sync/7: writeback_wait 18 < kworker/u4:1/9: device 1");
}

/// A long wait is polled several times before it ends, and recorded when it does.
#[test]
fn a_wait_that_was_polled_counts_once() {
    let drawing = "
        task      7 |                    | name=app
        task      9 |                    | name=sync
        op:sync   7 |====================|
        off       7 | ssssssssssssssssss | stack=sync_inodes_sb tp=contention_begin lock=1 holder=9 waker=9
        off       9 | ssssssssssssssss   | stack=folio_wait_writeback request=1
        blocked   9 |    ============    | stack=folio_wait_writeback
        blocked   9 |     =========      | stack=folio_wait_writeback
        request   1 |               DC   | kind=W tid=5 throttled";
    assert_eq!(first_chain(drawing), "app/7: lock 18 < sync/9: io_throttle 16");
    // Where the end of the wait is unknown, a poll is what is known.
    let polled: Vec<&str> = drawing.lines().filter(|line| !line.contains("sss| stack=folio")).collect();
    let polled =
        polled.join("\n").replace("off       9", "blocked   6").replace("=========      |", "               |");
    assert_eq!(first_chain(&polled), "app/7: lock 18 < sync/9: writeback_wait 12");
}

/// One that waits for something unknown did not answer all the same. A worker that reads for a loop device is none.
#[test]
fn a_fuse_server_is_to_blame_for_what_it_waits_for() {
    let drawing = "
        task     9 |n             | name=server
        call     7 |==============| call=read
        off      7 | ssssssssssss | call=read stack=fuse_simple_request waker=9
        off      9 | sssssssssss  | stack=do_epoll_wait";
    assert_eq!(culprit(&stage(drawing).explain()), "network_fs server/9");
    let worker = drawing.replace("name=server", "name=kworker/u8:3");
    assert_eq!(culprit(&stage(&worker).explain()), "network_fs nobody");
}

/// Behind another FUSE server, too.
#[test]
fn a_server_that_sleeps_is_to_blame() {
    let drawing = "
        task      6 |                    | name=bindfs pid=6
        task      9 |                    | name=bindfs pid=9
        call:read 7 |====================|
        off       7 | ssssssssssssssssss | stack=request_wait_answer waker=9
        off       9 |  sssssssssssssss   | stack=request_wait_answer waker=6
        off       6 |  ssssssssssssss    | call=clock_nanosleep awaits=interrupt waker=3";
    let explanation = stage(drawing).explain();
    assert_eq!(explanation.culprits[0].task.as_ref().map(|task| task.tid), Some(6), "{:?}", explanation.culprits);
    // What a server sleeps for that waits for a message, or for another task, is unknown: it did not answer.
    let idle = stage(&drawing.replace("clock_nanosleep", "epoll_wait")).explain();
    assert_eq!(idle.culprits[0].task.as_ref().map(|task| task.tid), Some(6), "{:?}", idle.culprits);
}

/// The worker was idle before, and no row records that.
#[test]
fn a_worker_that_acts_on_a_completion_did_not_make_others_wait() {
    let drawing = "
        task      7 |                    | name=app
        task      9 |                    | name=kworker/u4:1
        op:write  7 |====================|
        off       7 | ssssssssssssssssss | stack=start_this_handle waker=9 request=1
        request   1 |   D              C | tid=7";
    assert_eq!(first_chain(drawing), "app/7: journal 18 < app/7: device 15");
    let quick = drawing.replace("   D              C", "                 DC");
    assert_eq!(first_chain(&quick), "app/7: journal 18 < kworker/u4:1/9: unexplained 18");
}

#[test]
fn the_task_that_ran_before_is_named() {
    let drawing = "
        task     7 |          | name=app
        task     9 |          | name=spin-2 pid=8
        task     8 |          | name=spin cgroup=/busy
        op:write 7 |==========|
        off      7 | ssswwwww | stack=jbd2_log_wait_commit behind=9";
    let explanation = stage(drawing).explain();
    let detail = explanation.stalls[0].causes[0].detail.as_deref();
    assert_eq!(detail, Some("woken, on the run queue for 5.00 ms behind spin-2/9"));
    assert_eq!(culprit(&explanation), "cpu_wait spin/8");
    let preempted = stage("op:write 7 |==========|\noff 7 | pppppppp | behind=9").explain();
    assert_eq!(preempted.stalls[0].causes[0].detail.as_deref(), Some("preempted for 8.00 ms behind thread 9"));
}

/// A shell executes a program; its thread is seen before the process is, under that program's name.
#[test]
fn a_thread_belongs_to_the_program_that_its_process_executed() {
    let drawing = "
        task     7 |n         | name=app
        task     8 |n         | name=sh
        task     9 | n        | name=pool-1 pid=8
        task     8 |         n| name=java
        op:write 7 |=======   |
        off      7 | sssss    | tp=contention_begin waker=9";
    assert_eq!(culprit(&stage(drawing).explain()), "lock java/8");
    // It was seen again before the thread began.
    let again = format!("{drawing}\ntask 8 | n        | name=bash");
    assert_eq!(culprit(&stage(&again).explain()), "lock bash/8");
}

#[test]
fn a_lock_ends_at_the_holder_that_ran() {
    let drawing = "
        task     7 |          | name=app
        task     9 |          | name=writer
        op:write 7 |==========|
        off      7 | ssssssss | tp=contention_begin waker=9";
    let explanation = stage(drawing).explain();
    assert_eq!(chain(&explanation.stalls[0]), "app/7: lock 8 < writer/9: unexplained 8");
    assert_eq!(culprit(&explanation), "lock writer/9");
    // Its CPU time before and after, or the call that it was in, shows that it ran.
    let off = |cpu| format!("off 9 |p         | cpu={cpu}\noff 9 |         p| cpu=10");
    for (cpu, cause) in [(3, "running"), (7, "unexplained")] {
        let explanation = stage(&format!("{drawing}\n{}", off(cpu))).explain();
        assert_eq!(chain(&explanation.stalls[0]), format!("app/7: lock 8 < writer/9: {cause} 8"));
    }
    let in_call = stage(&format!("{drawing}\noff 9 |         p| since=0")).explain();
    assert_eq!(chain(&in_call.stalls[0]), "app/7: lock 8 < writer/9: running 8");
}

#[test]
fn a_cause_that_hardly_matters_has_no_chain() {
    let drawing = "
        op:write 7 |====================| stuck
        off      7 | p                  | behind=9";
    assert_eq!(chain(&stage(drawing).explain().stalls[0]), "");
}

#[test]
fn an_interrupted_task_is_not_the_waker() {
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
fn a_cycle_of_wakers_ends() {
    let drawing = "
        op:write 7 |==========|
        off      7 | ssssssss | tp=contention_begin waker=9
        off      9 | ssssssss | tp=contention_begin waker=7";
    assert_eq!(first_chain(drawing), "thread 7: lock 8 < thread 9: lock 8");
    let futexes = drawing.replace("tp=contention_begin", "stack=futex_do_wait");
    assert_eq!(shares(&stage(&futexes).explain()), "lock 8, running 2");
}

#[test]
fn an_idle_worker_waits_only_for_work() {
    let drawing = "
        op:fsync 7 |==========|
        off      7 | ssssssss | stack=xfs_log_force waker=9
        off      9 |ssssss    | stack=worker_thread,kthread
        off      9 |      ss  | stack=xfs_buf_lock";
    assert_eq!(first_chain(drawing), "thread 7: fs_log 8 < thread 9: lock 2");
}

#[test]
fn a_thread_that_waits_for_its_workers_takes_their_causes() {
    let drawing = "
        op:allocation 7 |============|
        off           7 |  ssssss    | stack=futex_do_wait,do_futex waker=8
        off           7 |        ss  | stack=futex_do_wait,do_futex waker=9
        off           8 |  sssss     | stack=xfs_log_force waker=3
        off           9 |   ssssswww | stack=jbd2_log_wait_commit waker=3";
    let explanation = stage(drawing).explain();
    assert_eq!(shares(&explanation), "fs_log 5, running 4, cpu_wait 2, unexplained 1");
    assert_eq!(chain(&explanation.stalls[0]), "thread 7: fs_log 5 < thread 8: fs_log 5 < thread 3: unexplained 5");
}

/// A wrapper and the program that it executes were two root blockers of the same id.
#[test]
fn a_process_is_one_root_blocker_across_an_exec() {
    let drawing = "
        task     7 |n         | name=app
        task     8 |n         | name=sh
        task     8 |     n    | name=java
        op:write 7 |==========|
        off      7 | sss      | tp=contention_begin waker=8
        off      7 |     ssss | tp=contention_begin waker=8";
    let explanation = stage(drawing).explain();
    let blockers: Vec<_> = explanation.culprits.iter().filter(|culprit| culprit.cause == Cause::Lock).collect();
    assert_eq!(blockers.len(), 1, "{blockers:?}");
    assert_eq!((culprit(&explanation), blockers[0].time_ns, blockers[0].tasks), ("lock java/8".to_owned(), 7 * MS, 1));
}

#[test]
fn a_task_that_reclaims_for_itself_is_its_own_culprit() {
    let drawing = "
        task     7 |          | name=app cgroup=/limited
        op:write 7 |==========|
        span     7 | ======== | tp=mm_shrink_slab detail=shrinker;;;super_cache_scan,xfs,loop0
        off      7 | ssssssss | stack=xfs_log_force waker=9";
    let explanation = stage(drawing).explain();
    assert_eq!(culprit(&explanation), "shrinker app/7");
    assert_eq!(explanation.culprits[0].cgroup.as_deref(), Some("/limited"));
    let detail = explanation.stalls[0].causes[0].detail.as_deref();
    assert_eq!(detail, Some("slab shrinker (super_cache_scan of xfs on loop0)"));
}

#[test]
fn a_task_that_fills_little_shares_the_limit_of_those_around_it() {
    let drawing = "
        task     7 |          | name=app pid=7 cgroup=/box/small
        task     8 |          | name=ls pid=8 cgroup=/box/large
        task     9 |          | name=cc pid=9 cgroup=/box2
        op:write 7 |==========|
        span     7 | ======== | tp=mm_shrink_slab";
    let filled = |pid, bytes, limit: Option<&str>| UsageRecord {
        pid: Some(pid),
        bytes,
        limit: limit.map(str::to_owned),
        ..UsageRecord::new(Resource::Memory, 0, 40 * MS)
    };
    let usage = vec![filled(8, 1, Some("/box")), filled(9, 900, None), filled(9, 900, Some("/bo"))];
    assert_eq!(culprit(&Stage { usage, ..stage(drawing) }.explain()), "shrinker ls/8");
}

/// Of a file system that was frozen before the recording, only who thaws it is recorded.
#[test]
fn who_thaws_a_file_system_is_not_said_to_have_frozen_it() {
    let drawing = "
        task     7 |              | name=app
        task     9 |n             | name=bash
        task     9 |             n| name=fsfreeze
        task    11 |              | name=sleep
        op:write 7 |==============|
        off      7 | ssssssssssss | stack=percpu_rwsem_wait,vfs_write,ksys_write waker=9
        off      9 |  sssssssss   | stack=do_wait waker=11";
    let explanation = stage(drawing).explain();
    assert_eq!(chain(&explanation.stalls[0]), "app/7: frozen 12");
    assert_eq!(explanation.culprits[0].task, None);
}

/// Who wrote to the freezer of cgroup v1 is unknown, but not what it froze.
#[test]
fn a_frozen_cgroup_is_the_root_blocker_where_nobody_is_known() {
    let explanation = stage(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 |sssssssssssss   | call=epoll_wait awaits=message stack=__refrigerator state=32768 \
        detail=freezer;;1;/batch waker=3",
    )
    .explain();
    assert_eq!(culprit(&explanation), "stopped nobody");
    assert_eq!(explanation.culprits[0].cgroup.as_deref(), Some("/batch"));
    assert_eq!(
        explanation.stalls[0].causes[0].detail.as_deref(),
        Some("frozen with its cgroup (freezer cgroup /batch)")
    );
}

/// It was stopped before the recording: who sent the signal is unknown.
#[test]
fn a_stopped_task_is_the_root_blocker_where_nobody_is_known() {
    let explanation = stage(
        "
        off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
        off 9 |sssssssssssss   | call=epoll_wait awaits=message waker=5 state=260",
    )
    .explain();
    assert_eq!(culprit(&explanation), "stopped thread 9");
}

/// The completion of a compiler's read on another disk was taken for the end of the holder's writeback.
#[test]
fn a_read_ends_no_writeback() {
    let drawing = |kind: &str| {
        stage(&format!(
            "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=9
        off      9 |ssssssssssss  | stack=folio_wait_writeback request=1 waker=3
        request  1 |          IDC | tid=5 device=8,16 kind={kind}"
        ))
        .explain()
    };
    assert_eq!(culprit(&drawing("W")), "lock thread 9 on 8,16");
    assert_eq!(culprit(&drawing("RA")), "lock thread 9");
}
