//! What is said of a recording while it goes on.

use model::metric::SampleHeader;
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, Traced};
use model::time::Moment;

use super::{Bounds, Live, Look};
use crate::blame::tests::stage::{MS, Stage, description, stage};
use crate::blame::{Scope, rules};
use crate::snapshot::Window;

const S: u64 = 1000 * MS;

fn live() -> Live {
    Live::new(MS, Bounds::default())
}

fn sample(live: &mut Live, at_ns: u64) {
    let at = Moment { monotonic_ns: at_ns, wall_ns: 0 };
    live.sample(&SampleHeader { sample: 0, at, late_ns: 0, cpu_ns: 0, took_ns: 0 }, &[], &[]);
}

fn run() -> RunDescription {
    description(true)
}

fn look(live: &mut Live, to_ns: u64) -> Look {
    live.look(&run(), &Scope::default(), Window { from_ns: to_ns.saturating_sub(10 * S), to_ns })
}

fn traced(stalls: Vec<StallRecord>) -> Traced {
    Traced { stalls, ..Traced::default() }
}

/// A look at many rows each tenth of a second may take 5 % of a CPU while nothing is slow.
#[test]
fn only_slow_operations_are_worth_a_look() {
    let mut live = Live::new(1000, Bounds::default());
    let mut see = |kind, start_ns, end_ns, at_ns| {
        live.traced(&traced(vec![StallRecord::new(kind, 7, start_ns, end_ns)]));
        live.has_slow_since(at_ns)
    };
    assert!(!see(StallKind::SystemCall, 100, 900, 1));
    assert!(!see(StallKind::OffCpu, 100, 9000, 1));
    assert!(see(StallKind::StillBlocked, 5000, 6000, 6000));
    assert!(!see(StallKind::OffCpu, 5000, 6000, 6001));
    assert!(see(StallKind::SystemCall, 5000, 5500, 6000), "a later row may have ended earlier");
}

/// A wait of thread 7 as polls see it from second to second, and the whole of it when it has ended.
#[test]
fn a_stall_that_lasts_is_said_again_as_it_grows_and_once_when_it_has_ended() {
    let mut live = live();
    let wait = |kind, end_ns| StallRecord {
        state: Some(2),
        stack: Some(1),
        call: Some("fsync".to_owned()),
        ..StallRecord::new(kind, 7, S, end_ns)
    };
    let frames = ["jbd2_log_wait_commit", "ext4_sync_file", "do_fsync"].map(str::to_owned).into();
    live.traced(&Traced { stacks: vec![StackRecord { stack: 1, frames }], ..Traced::default() });
    let mut said = Vec::new();
    for second in 2..=9 {
        let at_ns = second * S;
        let row = match second {
            2..=5 => Some(wait(StallKind::StillBlocked, at_ns)),
            6 => Some(StallRecord { woken_ns: Some(at_ns), ..wait(StallKind::OffCpu, at_ns) }),
            _ => None,
        };
        let ended = row.iter().filter(|row| row.kind == StallKind::OffCpu);
        let whole = ended.map(|_| StallRecord { stack: None, ..wait(StallKind::SystemCall, at_ns) });
        let rows = row.iter().cloned().chain(whole).collect();
        live.traced(&traced(rows));
        sample(&mut live, at_ns);
        let seen = look(&mut live, at_ns);
        said.extend(seen.stalls.iter().map(|one| (second, one.id, one.ended, one.duration_ns / S)));
    }
    let growing = [(2, 1, false, 1), (3, 1, false, 2), (4, 1, false, 3), (5, 1, false, 4)];
    assert_eq!(said, [&growing[..], &[(8, 1, true, 5)]].concat());
}

/// The same rows, in slices of their time: what a look says at the end is what the explanation of all rows says.
fn in_slices(stage: &Stage) -> (Vec<String>, Vec<String>) {
    let mut live = live();
    live.events(&stage.events);
    live.operations(&stage.operations);
    let (lasting, rows): (Vec<_>, Vec<_>) =
        stage.stalls.iter().cloned().partition(|row| row.kind == StallKind::LastingWait);
    let named = Traced { tasks: stage.tasks.clone(), stacks: stage.stacks.clone(), ..Traced::default() };
    live.traced(&named);
    let last_ns = rows.iter().map(StallRecord::end_ns).max().unwrap_or(0);
    for from_ns in (0..=last_ns).step_by(MS as usize) {
        let in_slice = |row: &&StallRecord| (from_ns..from_ns + MS).contains(&row.end_ns());
        live.traced(&traced(rows.iter().filter(in_slice).cloned().collect()));
    }
    live.traced(&Traced { requests: stage.requests.clone(), usage: stage.usage.clone(), ..Traced::default() });
    live.lasting_waits(lasting);
    let seen = look(&mut live, last_ns + 3 * S);
    let said = seen.stalls.iter().map(|one| format!("{:?}", one.stall)).collect();
    let mut batch: Vec<String> = stage.explain().stalls.iter().map(|stall| format!("{stall:?}")).collect();
    batch.sort();
    (said, batch)
}

#[test]
fn the_examples_of_all_rules_are_said_live_as_well() {
    for rule in rules() {
        let (mut said, batch) = in_slices(&stage(rule.example.timeline));
        said.sort();
        assert_eq!(said, batch, "{}", rule.id);
    }
}

#[test]
fn memory_is_bounded_and_what_has_no_room_is_said_to_be_gone() {
    let bounds = Bounds { bytes: 1 << 20, ..Bounds::default() };
    let mut live = Live::new(MS, bounds);
    for second in 0..40 {
        let row = |at: u64| StallRecord {
            call: Some("read".into()),
            ..StallRecord::new(StallKind::OffCpu, at as u32, second * S, second * S + at)
        };
        live.traced(&traced((1..500).map(row).collect()));
        sample(&mut live, second * S);
        assert!(live.bytes() <= bounds.bytes, "{}", live.bytes());
    }
    assert!(live.first_ns().is_some_and(|first_ns| first_ns > 30 * S && first_ns <= 40 * S), "{:?}", live.first_ns());
}
