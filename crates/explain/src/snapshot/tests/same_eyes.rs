//! A moment whose window is the whole run says what the explanation of the run says.

use model::block::DeviceNumber;
use model::stall::StallKind;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, Stage, description, stage};
use crate::blame::{Culprit, Explanation, rules};
use crate::series::SeriesSet;
use crate::snapshot::{Snapshot, SnapshotBuilder, Window};

const AFTER_ALL_NS: u64 = 100 * MS;

fn in_snapshot(stage: &Stage) -> Explanation {
    from(stage, 0, AFTER_ALL_NS).explanation
}

fn from(stage: &Stage, from_ns: u64, to_ns: u64) -> Snapshot {
    let mut builder = SnapshotBuilder::new(&description(true), Window { from_ns, to_ns });
    builder.events(&stage.events);
    builder.operations(&stage.operations);
    let (lasting, rows): (Vec<_>, Vec<_>) =
        stage.stalls.iter().cloned().partition(|row| row.kind == StallKind::LastingWait);
    builder.stalls(&rows);
    builder.lasting_waits(&lasting);
    builder.usage(&stage.usage);
    builder.requests(&stage.requests);
    builder.tasks(stage.tasks.iter());
    builder.stacks(stage.stacks.iter());
    builder.finish(&SeriesSet::default())
}

/// What both say: causes, culprits, stalls with their chains and rules.
fn said(explanation: &Explanation) -> String {
    let Explanation { causes, culprits, stalls, .. } = explanation;
    format!("{causes:#?}\n{culprits:#?}\n{stalls:#?}")
}

#[test]
fn the_examples_of_all_rules_look_the_same() {
    for rule in rules() {
        let stage = stage(rule.example.timeline);
        assert_eq!(said(&in_snapshot(&stage)), said(&stage.explain()), "{}", rule.id);
    }
}

/// Who used a disk shows in the table `usage` alone.
#[test]
fn the_neighbour_that_used_the_disk_is_named() {
    let mut stage = stage(
        "
        task      7 |n                     | name=app pid=7
        task      9 |n                     | name=tar pid=9 cgroup=/backup.service
        op:write  7 |====================  |
        off       7 | ssssssssssssssssss   | stack=folio_wait_writeback request=1
        request   1 |  Q I D           C   | tid=7 device=8,0",
    );
    let used = |pid: u32, busy_ms: u64| UsageRecord {
        device: Some(DeviceNumber::new(8, 0)),
        pid: Some(pid),
        count: busy_ms,
        bytes: busy_ms << 20,
        busy_ns: busy_ms * MS,
        ..UsageRecord::new(Resource::DeviceWrite, 0, 22 * MS)
    };
    stage.usage = vec![used(7, 1), used(9, 19)];
    let seen = in_snapshot(&stage);
    let name = |culprit: &Culprit| culprit.task.as_ref().map(ToString::to_string);
    assert_eq!(seen.culprits.first().and_then(name).as_deref(), Some("tar/9"));
    assert_eq!(said(&seen), said(&stage.explain()));
}

/// The request by a pipe is older than the window; the wait for its answer is not.
#[test]
fn what_came_before_the_window_says_what_a_wait_is_for() {
    let rule = rules().find(|rule| rule.id == "asked-by-pipe").expect("a rule");
    let seen = from(&stage(rule.example.timeline), 4 * MS, AFTER_ALL_NS).explanation;
    let of_7 = seen.stalls.iter().find(|stall| stall.task.tid == 7).expect("a stall");
    assert!(of_7.rules.contains(&rule), "{of_7:?}");
    assert_eq!((of_7.start_ns, of_7.duration_ns), (4 * MS, 10 * MS));
}

/// It was looked at during its last sleep but one. What ended that was a timer.
#[test]
fn a_client_that_polls_is_stuck_while_its_server_is_stopped() {
    let drawing = "
        off      7 |sss        | call=poll state=1 awaits=answer asked=0 waker=5 waker_stack=hrtimer_wakeup
        off      7 |   sss     | call=poll state=1 awaits=answer asked=0 waker=5 waker_stack=hrtimer_wakeup
        blocked  7 |      ==   | call=poll state=1 awaits=answer asked=0
        lasting  7 |    =      | call=poll state=1 awaits=message holder=9 hint
        blocked  9 |========   | state=4
        lasting  9 |    =      | state=4";
    let scaled = |mut stage: Stage| {
        for row in &mut stage.stalls {
            (row.start_ns, row.duration_ns) = (100 * row.start_ns, 100 * row.duration_ns);
            (row.busy_ns, row.asked_ns) = (row.duration_ns, row.asked_ns.map(|ns| 100 * ns));
            row.woken_ns = row.woken_ns.map(|ns| 100 * ns);
        }
        stage
    };
    let seen = from(&scaled(stage(drawing)), 0, 850 * MS);
    assert_eq!(seen.explanation.stalls.len(), 1, "{:#?}", seen.explanation);
    assert_eq!(seen.stuck.len(), 1);
    let (task, peer) = (seen.stuck[0].task.tid, seen.stuck[0].peer.as_ref().map(|peer| peer.tid));
    assert_eq!((task, seen.stuck[0].lasts_ns, peer), (7, 850 * MS, Some(9)));
}
