//! What counts for a client counts for its server as well.

use model::effect::{Edge, Effect};

use crate::blame::Blame;
use crate::blame::tests::stage::{MS, description, stage};
use crate::whatif::{Change, predict, recorded};

/// A client waits for its server, which syncs; another session waits for a lock that the first one holds.
const SESSIONS: &str = "
    call:poll      7 |  =================== |
    off            7 |   sssssssssssssssss  | call=poll awaits=answer waker=9 asked=3 state=1
    off            9 |sss                   | call=epoll_wait awaits=message waker=7 state=1
    call:fdatasync 9 |    ==============    |
    off            9 |     ssssssssssss     | call=fdatasync stack=xfs_log_force
    call:semtimedop 8 |     ==============   |
    off            8 |      ssssssssssss    | call=semtimedop stack=do_semtimedop state=1 awaits=lock waker=9
    task           7 |n                     | name=psql pid=7
    task           8 |n                     | name=postgres pid=8
    task           9 |n                     | name=postgres pid=9
";

fn blame(drawing: &str) -> Blame {
    let stage = stage(drawing);
    let mut blame = Blame::new(None, &description(true));
    blame.stalls(&stage.stalls);
    blame.tasks(&stage.tasks);
    blame.stacks(&stage.stacks);
    blame
}

#[test]
fn a_server_works_for_its_client_and_a_waiter_of_its_lock_for_itself() {
    let explanation = blame(SESSIONS).finish();
    let of = |name: &str| {
        let group = explanation.processes.iter().find(|group| group.name.as_deref() == Some(name));
        let group = group.unwrap_or_else(|| panic!("{name}: {:?}", explanation.processes));
        (group.operations, group.wall_ns, group.again_ns, group.again_within_ns)
    };
    assert_eq!(of("psql"), (1, 19 * MS, 0, 0));
    assert_eq!(of("postgres"), (2, 28 * MS, 14 * MS, 14 * MS));
}

#[test]
fn a_prediction_counts_a_wait_once_as_the_answer_does() {
    let (explanation, accounting) = blame(SESSIONS).finish_with_accounting();
    let waits = accounting.waits(5 * MS);
    let found = recorded(&waits);
    let again_ns: u64 = explanation.processes.iter().map(|group| group.again_ns).sum();
    assert_eq!((found.total_ns, found.again_ns), (explanation.wall_ns - again_ns, again_ns));
    assert_eq!((found.total_ns, found.durations_ns()), (33 * MS, 47 * MS));
    // Of 19 ms of the client and 14 ms of the waiter for its lock, 12 ms of a sync and 11 ms beside it are
    // gone. What is left of the server's operation is the client's, too.
    let change = Change::Edge { effect: Effect::gone(Edge::Journal), of: Vec::new() };
    let predicted = predict(&waits, &change);
    assert_eq!(predicted.recorded, found);
    assert_eq!((predicted.total_ns.value, predicted.changed), (10 * MS, 3));
    assert!(predicted.total_ns.high <= 3 * predicted.total_ns.value, "{predicted:?}");
}
