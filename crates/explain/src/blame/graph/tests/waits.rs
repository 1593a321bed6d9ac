//! What is behind each wait.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::Blame;
use crate::blame::tests::stage::{MS, Stage, description, stage};
use crate::waits::{Loop, SqliteJournal, Turn, Waits};

fn waits(drawing: &str) -> Waits {
    of_stage(&stage(drawing))
}

fn of_stage(stage: &Stage) -> Waits {
    let mut blame = Blame::new(None, &description(true));
    blame.usage(&stage.usage);
    blame.stalls(&stage.stalls);
    blame.operations(&stage.operations);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    blame.requests(&stage.requests);
    blame.finish_with_accounting().1.waits(5 * MS)
}

/// `journal/device 8, running 2`: the steps of each path of the first operation and its ms, the most first.
fn check(drawing: &str, expected: &str) {
    let waits = waits(drawing);
    let operation = &waits.operations[0];
    let mut pieces: Vec<(u64, String)> = Vec::new();
    for &(path, ns) in &operation.pieces {
        let steps: Vec<&str> = waits.paths[path as usize].iter().map(|step| step.cause.name()).collect();
        pieces.push((ns / MS, steps.join("/")));
    }
    pieces.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let pieces: Vec<String> = pieces.into_iter().map(|(ms, path)| format!("{path} {ms}")).collect();
    assert_eq!(pieces.join(", "), expected, "of {drawing}");
}

#[test]
fn a_journal_wait_leads_to_the_stages_of_the_request() {
    let drawing = "
        op:fsync 7 |==============|
        off      7 | ssssssssssss | stack=jbd2_log_wait_commit waker=9
        off      9 |  ssssssssss  | stack=folio_wait_writeback waker=3 request=1
        request  1 |  QI   D    C | tid=9";
    check(drawing, "journal/device 5, journal/scheduler_queue 4, journal 2, running 2, journal/request_wait 1");
}

#[test]
fn a_lock_wait_leads_through_its_holder_to_the_limit() {
    let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin waker=9
        off      9 | sssssssss    | stack=blkdev_direct_IO waker=3 request=1
        request  1 |      Q D C   | tid=9 throttled";
    check(drawing, "lock/io_throttle 7, lock 3, lock/device 2, running 2");
}

#[test]
fn the_time_since_the_limit_last_delayed_the_task_is_known() {
    let drawing = "
        op:write 7 |=========  ==========    |
        off      7 | sssssss                 | stack=blkdev_direct_IO waker=3 request=1
        off      7 |             ssssss      | stack=blkdev_direct_IO waker=3 request=2
        request  1 |     D  C                | tid=7 throttled
        request  2 |                 D C     | tid=7 throttled";
    let waits = waits(drawing);
    let of = |at: usize| (waits.operations[at].since_throttled_ns, waits.operations[at].duration_ns());
    assert_eq!((of(0), of(1)), ((None, 9 * MS), (Some(8 * MS), 10 * MS)));
    assert_eq!((waits.device_ns, waits.operations[0].unknown_requests), (Some(3 * MS), 0));
}

const DELAYED: &str = "
        op:pread64 7 |=========  ==========    |
        off        7 | sssssss                 | stack=blkdev_direct_IO waker=3 request=1
        off        7 |             ssssss      | stack=blkdev_direct_IO waker=3 request=2
        off        8 |sssssssssssssss          | stack=blkdev_direct_IO waker=3 request=3
        request    1 |     D  C                | tid=7 throttled device=8,0 kind=R
        request    2 |                 D C     | tid=7 throttled device=8,0 kind=R
        request    3 |           D  C          | tid=8 throttled device=8,0 kind=R";

/// Its turns are its operations; what else it moved was turns too short to be recorded.
#[test]
fn a_limit_has_the_loops_that_it_delays_and_the_rate_that_it_let_pass() {
    let mut alone = stage(DELAYED);
    let used = |pid: u32, bytes| UsageRecord {
        device: Some(DeviceNumber::new(8, 0)),
        pid: Some(pid),
        bytes,
        count: 4,
        throttled: 1,
        cgroup: Some("/box".to_owned()),
        limit: Some("/box".to_owned()),
        ..UsageRecord::new(Resource::DeviceRead, 0, 20 * MS)
    };
    alone.usage.extend([used(7, 16_000), used(8, 4_000)]);
    let mut with_another = stage(&format!("{DELAYED}\n        op:fsync   8 |                =======  |"));
    with_another.usage.clone_from(&alone.usage);
    let limited = of_stage(&with_another).limited;
    let tids: Vec<u32> = limited[0].loops.iter().map(|each| each.tid).collect();
    assert_eq!(tids, [7], "the limit delays the other thread, but none of its operations");
    let limited = of_stage(&alone).limited;
    let [limit] = limited.as_slice() else { panic!("{limited:?}") };
    assert_eq!((limit.reads, limit.bytes_per_s, limit.per_s), (true, Some(1_000_000), None));
    let turns = |each: &Loop| -> Vec<String> {
        let of = |turn: &Turn| format!("{}+{}", turn.throttled_ns / MS, turn.rest_ns / MS);
        each.turns.iter().map(of).collect()
    };
    let loops = limit.loops.iter().map(|each| format!("{} {} {:?}", each.tid, each.is_of_operations, turns(each)));
    assert_eq!(loops.collect::<Vec<_>>(), [r#"7 true ["4+5", "4+6"]"#, r#"8 false ["11+4"]"#]);
    let moved: Vec<u64> = limit.loops.iter().flat_map(|each| &each.moved).map(|moved| moved.bytes).collect();
    assert_eq!(moved, [16_000, 4_000]);
}

/// The journal's writes use the limit, too. The call that the recording's end cuts is no turn.
#[test]
fn a_loop_under_a_limit_has_its_part_of_the_journal_and_whole_turns() {
    let mut stage = stage(
        "op:pwrite64 7 |=========  ==========    |
         op:pwrite64 7 |                       ==| stuck
         off         7 | sssssss                 | stack=blkdev_direct_IO waker=3 request=1
         off         7 |             ssssss      | stack=blkdev_direct_IO waker=3 request=2
         request     1 |     D  C                | tid=7 throttled device=8,0 kind=W
         request     2 |                 D C     | tid=7 throttled device=8,0 kind=W",
    );
    let used = |resource, bytes| UsageRecord {
        device: Some(DeviceNumber::new(8, 0)),
        pid: Some(7).filter(|_| resource == Resource::DeviceWrite),
        bytes,
        count: 4,
        throttled: 1,
        cgroup: Some("/box".to_owned()),
        limit: Some("/box".to_owned()),
        ..UsageRecord::new(resource, 0, 20 * MS)
    };
    stage.usage.extend([used(Resource::DeviceWrite, 16_000), used(Resource::DeviceMetadata, 8_000)]);
    let limited = of_stage(&stage).limited;
    let [each] = limited[0].loops.as_slice() else { panic!("{limited:?}") };
    assert_eq!((each.turns.len(), each.moved[0].bytes), (2, 24_000));
}

/// A journal without space: the task itself writes the checkpoint, and waits for a request. Reclaim waits for pages
/// that are written.
#[test]
fn a_journal_or_reclaim_that_waits_for_a_request_leads_to_its_stages() {
    for (function, cause) in [("jbd2_log_do_checkpoint", "journal"), ("try_to_free_pages", "direct_reclaim")] {
        let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | stack=FUNCTION waker=3 request=1
        request  1 | QI   D    C  | tid=9";
        check(
            &drawing.replace("FUNCTION", function),
            &format!("{cause}/device 7, {cause}/scheduler_queue 4, running 2, {cause}/request_wait 1"),
        );
    }
}

/// SQLite's busy handler: a timer ends each sleep, and what the lock's holder did meanwhile is what it waited for.
#[test]
fn a_lock_that_is_polled_for_leads_through_its_holder() {
    let drawing = "
        op:nanosleep 7 |============|
        off          7 | ssssssssss | lock=1 holder=9 tp=posix_lock_inode call=clock_nanosleep stack=hrtimer_nanosleep \
        state=1
        call:fsync   9 |  ========= | path=/mnt/db-journal
        off          9 |  ssssssss  | stack=folio_wait_writeback waker=3 request=1 call=fsync
        request      1 |  Q    D C  | tid=9 throttled";
    check(drawing, "lock/io_throttle 5, lock/device 3, running 2, lock 1, lock/running 1");
    let waits = waits(drawing);
    assert_eq!(waits.sqlite.into_iter().collect::<Vec<_>>(), [(9, SqliteJournal::Rollback)]);
    let syncs = waits.paths.iter().flatten().filter(|step| step.syncs).map(|step| step.tid);
    assert!(syncs.clone().count() > 0 && syncs.into_iter().all(|tid| tid == 9));
}

/// Root blockers of waits for a loop device are known by the disk below.
#[test]
fn a_wait_has_the_disk_of_its_root_blockers() {
    let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | stack=submit_bio_wait request=2
        request  1 |        DC    | tid=3 device=8,0 throttled
        request  2 | D          C | tid=7 device=7,0 lower=1";
    let blamed: BTreeSet<_> = waits(drawing).paths.iter().flatten().filter_map(|step| step.blamed).collect();
    let culprits: BTreeSet<_> = stage(drawing).explain().culprits.iter().filter_map(|culprit| culprit.device).collect();
    assert_eq!(blamed, culprits);
    assert!(culprits.iter().any(|disk| disk.to_string() == "8,0"), "{culprits:?}");
}

/// A journal's write to a loop device waits for the limit of the disk below, as its request shows, or as the device's
/// worker does.
#[test]
fn what_is_behind_a_wait_leads_below_a_loop_device() {
    let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | stack=do_get_write_access request=2
        request  1 |        DC    | tid=3 device=8,0 throttled
        request  2 | D          C | tid=9 device=7,0 lower=1";
    check(drawing, "journal/io_throttle 7, journal/device 4, running 2, journal/device 1");
    let worker = "
        task     5 |              | name=kworker
        off      5 |  ssssssss    | stack=percpu_rwsem_wait,lo_rw_aio,loop_process_work work=loop0";
    check(
        &format!("{drawing}{worker}"),
        "journal/frozen 7, journal/device 3, running 2, journal/device 1, journal/io_throttle 1",
    );
}

/// What a server does for its clients depends on these; what the holder of a lock does, does not.
#[test]
fn a_limit_that_delays_the_holder_of_a_lock_is_known_with_its_loop() {
    let drawing = "
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=9
        off      9 | ssssssssssss | stack=submit_bio_wait request=1
        request  1 |          DC  | tid=9 device=8,0 kind=R throttled";
    let limited = |drawing: &str| {
        let mut stage = stage(drawing);
        stage.usage = vec![UsageRecord {
            device: Some(DeviceNumber::new(8, 0)),
            pid: Some(9),
            bytes: 4096,
            count: 1,
            throttled: 1,
            cgroup: Some("/box".to_owned()),
            limit: Some("/box".to_owned()),
            ..UsageRecord::new(Resource::DeviceRead, 0, 20 * MS)
        }];
        of_stage(&stage).limited.iter().flat_map(|limit| &limit.loops).map(|each| each.tid).collect::<Vec<_>>()
    };
    assert_eq!(limited(drawing), [9]);
    assert!(limited(&drawing.replace("tp=contention_begin lock=1 holder=9", "stack=jbd2_log_wait_commit")).is_empty());
}
