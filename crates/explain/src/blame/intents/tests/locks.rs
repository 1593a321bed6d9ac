//! Locks: who held them, convoys, and waits of threads that are no waits for locks.

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, Stage, chain, shares, stage};
use crate::blame::{Cause, Explanation, Holds, Link};

/// `< thread 9 holds: fs_log 9`, for each step after the first.
fn holders(explanation: &Explanation) -> String {
    let step = |link: &Link| {
        let task = link.task.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let holds = match link.holds {
            Some(Holds::Exactly) => " holds",
            Some(Holds::Perhaps) => " perhaps holds",
            Some(Holds::Stopped) => " stopped it",
            Some(Holds::OtherEnd) | None => "",
        };
        format!("< {task}{holds}: {} {}", link.cause.name(), link.time_ns / MS)
    };
    explanation.stalls[0].chain.iter().skip(1).map(step).collect::<Vec<_>>().join(" ")
}

fn check(drawing: &str, expected: &str) {
    assert_eq!(holders(&stage(drawing).explain()), expected, "{drawing}");
}

/// The holder is known, even if another task woke this one.
#[test]
fn the_chain_leads_through_the_holder() {
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=3
        off      9 |  sssssssss   | stack=xfs_log_force",
        "< thread 9 holds: fs_log 9",
    );
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 hint
        off      9 |  sssssssss   | stack=xfs_log_force",
        "< thread 9 perhaps holds: fs_log 9",
    );
    // What it did is unknown.
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=3",
        "< thread 9 holds: unexplained 12",
    );
    // Without a holder: the task that released it.
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 waker=3
        off      3 |  sssssssss   | stack=xfs_log_force",
        "< thread 3: fs_log 9",
    );
}

/// Not who let it go on.
#[test]
fn the_chain_ends_at_who_stopped_a_task_or_froze_its_file_system() {
    let stack = "stack=percpu_rwsem_wait,vfs_write,ksys_write";
    check(
        &format!(
            "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=3 {stack}"
        ),
        "< thread 9 stopped it: frozen 12",
    );
    let unknown = format!("op:write 7 |==============|\n off 7 | ssssssssssss | waker=3 {stack}");
    check(&unknown, "");
    // The holder of a lock is stopped.
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=9
        off      9 | ssssssssssss | stack=do_freezer_trap holder=4 waker=3",
        "< thread 9 holds: stopped 12 < thread 4 stopped it: stopped 12",
    );
}

/// It waits for a lock itself.
#[test]
fn the_chain_leads_through_several_locks() {
    check(
        "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9
        off      9 |  ssssssssss  | tp=contention_begin lock=2 holder=8
        off      8 |  sssssssss   | stack=xfs_log_force",
        "< thread 9 holds: lock 10 < thread 8 holds: fs_log 9",
    );
}

/// The first holder passes the lock to another waiter, which keeps it longer.
#[test]
fn of_several_holders_the_longest_counts() {
    let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=8
        off      9 |  ss          | stack=xfs_log_force
        off      8 |sssss         | tp=contention_begin lock=1 holder=9 waker=9
        off      8 |     sssssss  | stack=jbd2_log_wait_commit";
    check(drawing, "< thread 8 holds: journal 7");
    check(
        &drawing.replace("|sssss         |", "|sssssssss     |").replace("|     sssssss  |", "|         sss  |"),
        "< thread 9 holds: fs_log 2",
    );
}

/// Such a wait is a stall whatever its holder did.
#[test]
fn the_holder_of_a_mutex_may_sleep() {
    let explanation = stage(
        "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=lock waker=9
        off 9 |sssssssssssss   | call=clock_nanosleep awaits=interrupt",
    )
    .explain();
    assert_eq!(shares(&explanation), "lock 13");
    assert_eq!(holders(&explanation), "< thread 9 holds: sleep 12");
    assert_eq!(explanation.stalls[0].chain[1].detail.as_deref(), Some("asleep in clock_nanosleep"));
}

/// What it waits for is known although nothing explains it.
#[test]
fn the_holder_of_a_mutex_may_wait_for_its_child() {
    let explanation = stage(
        "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=lock waker=9
        off 9 |sssssssssssss   | call=wait4 stack=do_wait awaits=child",
    )
    .explain();
    assert_eq!(holders(&explanation), "< thread 9 holds: unexplained 12");
    assert_eq!(explanation.stalls[0].chain[1].detail.as_deref(), Some("waits for its child"));
}

/// A mutex has no owner in the kernel: the tasks that released it lead back to its first holder.
#[test]
fn the_holder_of_a_mutex_is_found_by_its_releases() {
    let explanation = stage(
        "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=lock waker=8
        off 8 |ssssssssssss    | call=futex stack=futex_do_wait awaits=lock waker=9 state=1
        off 9 | ssssssssss     | stack=xfs_log_force",
    )
    .explain();
    let stall = explanation.stalls.iter().find(|stall| stall.task.tid == 7).unwrap();
    assert_eq!(chain(stall), "thread 7: fs_log 10 < thread 9: fs_log 10");
}

#[test]
fn a_thread_that_waits_for_work_is_no_stall() {
    let drawing = "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=work waker=9
        off 9 |  sssssssssss   | stack=xfs_log_force";
    assert_eq!(stage(drawing).explain().slow_operations, 0);
}

#[test]
fn tasks_that_wait_for_one_holder_are_one_convoy() {
    let drawing = "
        op:write 5 |==============|
        op:write 6 |==============|
        op:write 7 |==============|
        off      5 |   ssssssssss | tp=contention_begin lock=1 holder=9 waker=9
        off      6 |  ssssssssss  | tp=contention_begin lock=1 holder=9 waker=9
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=9
        off      9 | sssssssssss  | stack=xfs_log_force";
    let explanation = stage(drawing).explain();
    let [convoy] = &explanation.convoys[..] else { panic!("{:?}", explanation.convoys) };
    assert_eq!(convoy.holder.as_ref().map(|holder| holder.tid), Some(9));
    assert_eq!((convoy.victims, convoy.time_ns / MS, convoy.longest_ns / MS), (3, 32, 12));
    // It is in the order of the root blockers, too.
    let holder = explanation.culprits.iter().find(|culprit| culprit.task.as_ref().is_some_and(|task| task.tid == 9));
    assert_eq!(holder.map(|culprit| culprit.at_once), Some(3));
    assert_eq!((convoy.times, convoy.at_once), (1, 3));
    // Another lock of the same holder, and a wait at another time, are not part of it.
    let of_two = drawing.replacen("lock=1", "lock=2", 1);
    assert!(stage(&of_two).explain().convoys.is_empty());
}

/// A log that is locked again and again filled the list with one convoy after the other.
#[test]
fn tasks_that_wait_for_one_holder_again_are_the_same_convoy() {
    let drawing = "
        op:write 5 |============================|
        op:write 6 |============================|
        op:write 7 |============================|
        op:write 8 |============================|
        off      5 |   ssssssssss               | tp=contention_begin lock=1 holder=9 waker=9
        off      6 |  ssssssssss                | tp=contention_begin lock=1 holder=9 waker=9
        off      7 | ssssssssssss               | tp=contention_begin lock=1 holder=9 waker=9
        off      5 |                 ssssssss   | tp=contention_begin lock=1 holder=9 waker=9
        off      6 |                 ssssssss   | tp=contention_begin lock=1 holder=9 waker=9
        off      7 |                 ssssssss   | tp=contention_begin lock=1 holder=9 waker=9
        off      8 |                 ssssssss   | tp=contention_begin lock=1 holder=9 waker=9
        off      9 | sssssssssss     ssssssss   | stack=xfs_log_force";
    let explanation = stage(drawing).explain();
    let [convoy] = &explanation.convoys[..] else { panic!("{:?}", explanation.convoys) };
    assert_eq!((convoy.times, convoy.at_once, convoy.victims), (2, 4, 4));
    assert_eq!((convoy.time_ns / MS, convoy.longest_ns / MS), (64, 12));
    let holder = explanation.culprits.iter().find(|culprit| culprit.task.as_ref().is_some_and(|task| task.tid == 9));
    assert_eq!(holder.map(|culprit| culprit.at_once), Some(4));
}

/// Threads that write and sync a log in turns (Java, Go): a wait for a turn looks like one for work.
#[test]
fn threads_that_take_turns_wait_for_a_lock() {
    let drawing = "
        off 7 | sssssssssssss  | call=futex stack=futex_do_wait awaits=work waker=9
        off 7 |              ss| call=fsync stack=xfs_log_force
        off 9 | ssssss         | call=futex stack=futex_do_wait awaits=work waker=8
        off 9 |       sssssss  | call=fsync stack=xfs_log_force
        off 8 | ssssss         | call=fsync stack=xfs_log_force";
    let of_process = |drawing: &str| {
        let tasks = [7, 8, 9].map(|tid| format!("task {tid} |n | name=log pid=7\n")).concat();
        stage(&format!("{tasks}{drawing}")).explain()
    };
    let explanation = of_process(drawing);
    let longest = &explanation.stalls[0];
    assert_eq!((longest.task.tid, longest.operation.as_str(), longest.duration_ns), (7, "futex", 13 * MS));
    assert_eq!(chain(longest), "log/7: fs_log 7 < log/9: fs_log 7");
    // Who then waits for something else, or does nothing, had no work before.
    let has_none = |drawing: &str| of_process(drawing).stalls.iter().all(|stall| stall.task.tid != 7);
    assert!(has_none(&drawing.replace("ss| call=fsync", "ss| call=read")));
    assert!(has_none(&drawing.replace("ss| call=fsync stack=xfs_log_force", "ss| call=futex awaits=work waker=8")));
    // Threads of a pool that another one gives work in turns.
    assert!(has_none(
        "
        off 7 | ssssssssssssss | call=futex stack=futex_do_wait awaits=work waker=8
        off 7 |               s| call=fsync stack=xfs_log_force
        off 8 |ssssssssssss    | call=futex stack=futex_do_wait awaits=work waker=9
        off 9 |  ssssssssss    | call=fsync stack=xfs_log_force"
    ));
    // It had no work until the other one had its turn.
    assert!(has_none(
        "
        off 7 |sssssssssssss   | call=futex stack=futex_do_wait awaits=work waker=9
        off 7 |             ss | call=fsync stack=xfs_log_force
        off 9 |        sssss   | call=fsync stack=xfs_log_force"
    ));
}

/// A server that waits for the rest of what its client wants: the client is idle in its transaction.
#[test]
fn the_client_of_an_idle_holder_is_to_blame() {
    let culprit = |drawing: &str| {
        let explanation = stage(drawing).explain();
        explanation.culprits[0].task.as_ref().map(|task| task.tid)
    };
    let drawing = "
        off 7 | ssssssssssss   | call=epoll_wait awaits=lock asked=1 waker=9 state=1
        off 9 |sssssssssss     | call=recvfrom awaits=message waker=6 state=1
        off 6 |ssssssssss      | call=clock_nanosleep awaits=interrupt state=1";
    assert_eq!(culprit(drawing), Some(6));
    // What the client did is unknown.
    assert_eq!(culprit(&drawing[..drawing.rfind("off 6").unwrap()]), Some(6));
    // A client that reads what it is to do, and a pooler of connections between them.
    let pooled = drawing
        .replace("off 6", "off 5")
        .replace("waker=6", "waker=6\n off 6 |ssssssssss | call=epoll_wait awaits=message waker=5 state=1");
    assert_eq!(culprit(&pooled), Some(6));
    assert_eq!(culprit(&format!("{pooled}\n asked 4 |= | waker=6")), Some(5));
    // Who will go on is unknown.
    assert_eq!(culprit(&drawing.replace("waker=6", "")), Some(9));
    // The lock of a program that works for nobody.
    assert_eq!(culprit(&drawing.replace("asked=1", "")), Some(9));
}

fn culprit(drawing: &str) -> (Option<u32>, Option<String>) {
    let explanation = stage(drawing).explain();
    let first = &explanation.culprits[0];
    (first.task.as_ref().map(|task| task.tid), first.cgroup.clone())
}

/// flock(1), which waits for its command, also where others queue in between: the longest turn is that of one that
/// waits itself.
#[test]
fn the_command_of_a_holder_is_to_blame_through_others_that_wait() {
    let drawing = "
        call:flock 7 |================|
        off 7 | ssssssssssssss | call=flock tp=contention_begin lock=1 holder=8 waker=8
        off 8 |  ssssssssssss  | call=flock tp=contention_begin lock=2 holder=9 waker=9
        off 9 |ssssssssssssss  | call=wait4 awaits=child waker=6";
    assert_eq!(culprit(drawing).0, Some(6));
}

/// A busy CPU keeps a task that is in the queue of a file's lock from going to sleep: it holds nothing then.
#[test]
fn a_task_that_is_in_the_queue_of_a_files_lock_does_not_hold_it() {
    let drawing = "
        call:flock 7 |  ============  |
        off 7 |   ssssssssss   | call=flock tp=contention_begin lock=1 holder=8 waker=9
        off 8 |       ssssss   | call=flock tp=contention_begin lock=1 holder=9 waker=9 since=1
        off 9 |ssssssssssssss  | call=clock_nanosleep awaits=interrupt";
    check(drawing, "< thread 9 holds: sleep 10");
    // Of a lock of the kernel, what is found is the owner: until 8 waits itself.
    check(&drawing.replace("flock", "write"), "< thread 9 holds: sleep 6");
}

#[test]
fn the_cgroup_whose_quota_or_freezer_holds_the_holder_of_a_lock_is_named() {
    let drawing = "
        task 9 |n               | name=gzip cgroup=/session
        call:flock 7 |==============  |
        off  7 | ssssssssssss   | call=flock tp=contention_begin lock=1 holder=9 waker=9
        off  9 | pppppppppppp   | held detail=cpu_quota;;20000000,100000000;/x";
    assert_eq!(culprit(drawing), (Some(9), Some("/x".to_owned())));
    // Or that is frozen.
    let frozen = drawing.replace("pppppppppppp", "ssssssssssss");
    let frozen = frozen.replace(
        "held detail=cpu_quota;;20000000,100000000;/x",
        "stack=do_freezer_trap detail=freezer;;1;/maintenance",
    );
    assert_eq!(culprit(&frozen), (Some(9), Some("/maintenance".to_owned())));
}

/// A timer interrupts the wait for the lock: what the holder did before is its holder's time, too.
#[test]
fn a_holder_keeps_a_wait_from_its_begin() {
    let drawing = "
        off 7 | sssss          | call=epoll_wait awaits=for_client asked=1 state=1
        off 7 |      sssssss   | call=epoll_wait awaits=lock asked=1 waker=9 state=1
        off 9 |sssssssssss     | call=clock_nanosleep awaits=interrupt";
    check(drawing, "< thread 9 holds: sleep 10");
}

#[test]
fn tasks_that_wait_for_each_other_are_a_deadlock() {
    let drawing = "
        blocked 7 | ssssssssssss   | call=flock stack=flock_lock_inode_wait state=1 lock=1 holder=9
        blocked 9 |  ssssssssssss  | call=flock stack=flock_lock_inode_wait state=1 lock=2 holder=7";
    let details = |drawing: &str| {
        let explanation = stage(drawing).explain();
        let links = explanation.stalls.iter().flat_map(|stall| &stall.chain);
        links.filter_map(|link| link.detail.clone()).filter(|detail| detail.contains("deadlock")).collect::<Vec<_>>()
    };
    let found = details(drawing);
    assert!(found.iter().any(|detail| detail.ends_with("a deadlock: thread 9 waits for it in turn")), "{found:?}");
    // It waits for somebody else, or for a turn with the same lock.
    assert!(details(&drawing.replace("holder=7", "holder=8")).is_empty());
    assert!(details(&drawing.replace("lock=2", "lock=1")).is_empty());
}

/// A worker writes the log: of what it writes there 20 wrote the most.
#[test]
fn a_convoy_waits_for_whom_a_worker_works_for() {
    let drawing = "
        call:fsync 5 |================|
        call:fsync 6 |================|
        call:fsync 7 |================|
        off 5 | ssssssssssssss | call=fsync stack=xfs_log_force waker=9
        off 6 | ssssssssssssss | call=fsync stack=xfs_log_force waker=9
        off 7 | ssssssssssssss | call=fsync stack=xfs_log_force waker=9
        off 9 | sssssssssssss  | request=1
        request 1 |  Q I D         C| tid=9 device=7,1 kind=W
        task 9 |n               | name=kworker/u8:0
        task 20 |n               | name=tar";
    let holders = |stage: &Stage| {
        let convoys = stage.explain().convoys;
        convoys.into_iter().map(|convoy| convoy.holder.unwrap().tid).collect::<Vec<_>>()
    };
    let mut stage = stage(drawing);
    assert_eq!(holders(&stage), [9], "nobody is known");
    let wrote = |pid: u32, busy_ns: u64| UsageRecord {
        device: Some(DeviceNumber::new(7, 1)),
        pid: Some(pid),
        bytes: busy_ns,
        busy_ns,
        ..UsageRecord::new(Resource::DeviceWrite, 0, 16 * MS)
    };
    stage.usage.extend([wrote(20, 900), wrote(7, 100)]);
    assert_eq!(holders(&stage), [20]);
}

/// A buffer under read-ahead is locked until the request ends: no task holds it. A lock that a task gives back is one.
#[test]
fn a_lock_that_an_io_holds_is_that_io() {
    let drawing = |waker_stack: &str| {
        stage(&format!(
            "
        call:read 7 |==========|
        off       7 | ssssssss | stack=down,xfs_buf_lock request=1 waker=5 waker_stack={waker_stack}
        request   1 |Q D     C | device=8,0 kind=R"
        ))
        .explain()
    };
    let of = |explanation: &Explanation, cause| {
        explanation.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.time_ns)
    };
    let by_io = drawing("wake_up_q,up,xfs_buf_unlock,xfs_buf_ioend_work,process_one_work");
    assert!(of(&by_io, Cause::Device) > 4 * MS && of(&by_io, Cause::Lock) == 0, "{:?}", by_io.causes);
    let by_task = drawing("wake_up_q,up,xfs_buf_unlock,xfs_trans_commit");
    assert!(of(&by_task, Cause::Lock) > 4 * MS, "{:?}", by_task.causes);
}
