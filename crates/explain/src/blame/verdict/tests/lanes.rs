//! Lanes of a stall, and who cost each class of operations its time.

use crate::blame::tests::stage::{MS, description, stage};
use crate::blame::{Lanes, Piece};

/// Each lane as `name: cause from-to, ...` in ms.
fn words(lanes: &Lanes) -> Vec<String> {
    let pieces = |pieces: &[Piece]| {
        let words = |piece: &Piece| format!("{} {}-{}", piece.cause.name(), piece.start_ns / MS, piece.end_ns / MS);
        pieces.iter().map(words).collect::<Vec<_>>().join(", ")
    };
    let tasks = lanes.tasks.iter().map(|lane| format!("{}: {}", lane.task, pieces(&lane.pieces)));
    let requests = lanes.requests.iter().map(|lane| format!("{}: {}", lane.request.device, pieces(&lane.pieces)));
    tasks.chain(requests).collect()
}

#[test]
fn of_the_victim_its_chain_and_the_request_on_one_axis() {
    let drawing = "
        task     7 |              | name=app
        task     9 |              | name=jbd2/loop0-8
        op:fsync 7 |==============|
        off      7 | ssssssssssss | stack=jbd2_log_wait_commit waker=9
        off      9 |  ssssssssss  | stack=folio_wait_writeback waker=3 request=1
        request  1 |   I D     C  | tid=9";
    let (_, accounting) = stage(drawing).account_run(&description(true), None);
    let (_, _, lanes) = accounting.stalls_with_lanes(&[0]).remove(0);
    let expected = [
        "app/7: running 0-1, journal 1-13, running 13-14",
        "jbd2/loop0-8/9: writeback_wait 2-3, scheduler_queue 3-5, device 5-12",
        "8,0: scheduler_queue 3-5, device 5-11",
    ];
    assert_eq!(words(&lanes), expected);
    assert_eq!(lanes.more_requests, 0);
}

/// `read` waits for the lock that one task holds, `write` for that of another one: each class has its own root blocker.
#[test]
fn each_class_has_its_own_root_blockers() {
    let drawing = "
        task     8 |              | name=reader
        task     9 |              | name=writer
        op:read  6 |==============|
        off      6 | ssssssssssss | tp=contention_begin waker=8
        op:write 7 |==============|
        off      7 | ssssssssssss | tp=contention_begin waker=9";
    let (explanation, accounting) = stage(drawing).account_run(&description(true), None);
    assert_eq!(explanation.culprits.len(), 2);
    let named = |class: &str| -> Vec<String> {
        let culprits = &accounting.culprits_by_class()[class];
        culprits.iter().filter_map(|culprit| culprit.task.as_ref()?.name.clone()).collect()
    };
    assert_eq!((named("read"), named("write")), (vec!["reader".to_owned()], vec!["writer".to_owned()]));
}
