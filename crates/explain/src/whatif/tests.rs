//! Drawn operations whose time after a change is known by construction.

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::{Edge, Effect};
use proptest::prelude::*;

use super::closed_loop::simulate;
use super::{Absence, Change, Replayed, predict, recorded, replay};
use crate::waits::{Numbers, Step, Waiting, Waits};

mod closed_loop;
mod simulated;

const MS: u64 = 1_000_000;

/// Draws operations; a column is a millisecond. A line with a task's number begins an operation; lines below it are
/// what the tasks did that it waited for. t throttled, d device, s scheduler, L lock, j journal, m reclaim, c run
/// queue, r running, ? unexplained.
fn draw(drawing: &str) -> Waits {
    let mut paths = Numbers::new();
    let mut waits = Waits { stands_for: 1, slower_than_ns: 5 * MS, ..Waits::default() };
    let lines: Vec<(&str, &str)> = drawing.lines().filter_map(|line| line.split_once('|')).collect();
    let mut at = 0;
    while at < lines.len() {
        let below = lines[at + 1..].iter().take_while(|(head, _)| head.trim().is_empty()).count();
        let tid: u32 = lines[at].0.trim().parse().expect("a task");
        let mut operation = Waiting { tid, task: Some(tid), ..Waiting::default() };
        let columns: Vec<Vec<char>> =
            lines[at..=at + below].iter().map(|(_, drawn)| drawn.trim_end_matches('|').chars().collect()).collect();
        let begin = columns[0].iter().position(|letter| *letter != ' ').expect("an operation");
        operation.start_ns = begin as u64 * MS;
        for column in begin..columns[0].len() {
            let letters = columns.iter().filter_map(|row| row.get(column)).filter(|letter| **letter != ' ');
            let path: Vec<Step> = letters.zip(0..).map(|(letter, depth)| step(*letter, tid + depth)).collect();
            if !path.is_empty() {
                let number = paths.of(&path);
                match operation.pieces.iter_mut().find(|(path, _)| *path == number) {
                    Some((_, ns)) => *ns += MS,
                    None => operation.pieces.push((number, MS)),
                }
            }
        }
        waits.operations.push(operation);
        at += below + 1;
    }
    waits.paths = paths.into_values();
    waits.names = (0..20).map(|number| format!("task{number}")).collect();
    waits.tasks = waits.operations.iter().map(|one| (one.tid, format!("task{0}/{0}", one.tid))).collect();
    waits
}

fn step(letter: char, tid: u32) -> Step {
    let cause = match letter {
        't' => Cause::IoThrottle,
        'd' => Cause::Device,
        's' => Cause::SchedulerQueue,
        'L' => Cause::Lock,
        'j' => Cause::Journal,
        'm' => Cause::DirectReclaim,
        'c' => Cause::CpuWait,
        'r' => Cause::Running,
        '?' => Cause::Unexplained,
        other => panic!("{other}"),
    };
    Step { cause, kind: None, device: None, blamed: None, tid, syncs: false, occasion: None }
}

fn replay(waits: &Waits, change: &Change) -> Vec<Replayed> {
    replay::replay(waits, change, &simulate(waits, change))
}

fn gone(edge: Edge) -> Change {
    Change::Edge { effect: Effect::gone(edge), of: Vec::new() }
}

fn faster(edge: Edge, factor: f64) -> Change {
    Change::Edge { effect: Effect::faster(edge, factor), of: Vec::new() }
}

/// Start and duration of each operation after a change, in ms.
fn check(drawing: &str, change: &Change, expected: &[(u64, u64)]) {
    let after: Vec<(u64, u64)> =
        replay(&draw(drawing), change).iter().map(|of| (of.start_ns / MS, of.duration_ns / MS)).collect();
    assert_eq!(after, expected, "of {drawing} with {change:?}");
}

#[test]
fn a_limit_that_is_lifted_leaves_the_time_at_the_device() {
    check("7 |ttttttttdd|", &gone(Edge::IoLimit), &[(0, 2)]);
    check("7 |ttttttttdd|", &gone(Edge::SchedulerQueue), &[(0, 10)]);
}

#[test]
fn what_precedes_a_device_becomes_as_fast_as_the_device() {
    check("7 |ssssddr|", &faster(Edge::Device, 2.0), &[(0, 4)]);
    check("7 |ssssddr|", &gone(Edge::SchedulerQueue), &[(0, 3)]);
}

#[test]
fn a_victim_of_a_lock_waits_as_long_as_its_holder_under_a_limit() {
    let drawing = "
        7 |LLLLLLLLLr|
          |tttttttdr |
        8 |  rrrrr|";
    check(drawing, &gone(Edge::IoLimit), &[(0, 3), (2, 5)]);
    check(drawing, &gone(Edge::Lock), &[(0, 1), (2, 5)]);
    check(drawing, &gone(Edge::Journal), &[(0, 10), (2, 5)]);
}

#[test]
fn a_chain_of_three_does_not_lose_the_same_time_twice() {
    let drawing = "
        7 |LLLLLLLLrr|
          |jjjjjjjj  |
          |  tttttt  |";
    check(drawing, &gone(Edge::IoLimit), &[(0, 4)]);
    check(drawing, &gone(Edge::Journal), &[(0, 2)]);
    check(drawing, &gone(Edge::Lock), &[(0, 2)]);
}

#[test]
fn a_journal_without_a_known_end_waits_for_what_the_others_wait_for() {
    // As long as task 7, whose journal waits for a limit in 6 of 8 ms, and for its disk.
    let drawing = "
        7 |jjjjjjjj|
          |ttttttdd|
        8 |jjjjjjjjjjjjjjjj|
        9 |        LLLLLLLL|
          |        jjjjjjjj|";
    check(drawing, &gone(Edge::IoLimit), &[(0, 2), (0, 4), (8, 2)]);
    check(drawing, &faster(Edge::IoLimit, 2.0), &[(0, 5), (0, 10), (8, 5)]);
    check(drawing, &gone(Edge::Cpu), &[(0, 8), (0, 16), (8, 8)]);
    // Where no other one has a known end: as the requests do.
    check("7 |tttd|\n8 |jjjjjjjj|", &gone(Edge::IoLimit), &[(0, 1), (0, 2)]);
    // Too little is known.
    check("7 |td|\n8 |jjjjjjjjjjjjjjjjjjjjjjjj|", &gone(Edge::IoLimit), &[(0, 1), (0, 24)]);
}

#[test]
fn the_next_operation_of_a_thread_starts_earlier() {
    let drawing = "
        7 |tttttd|
        7 |        tttttd|
        8 |         rrrrrr|";
    check(drawing, &gone(Edge::IoLimit), &[(0, 1), (3, 1), (9, 6)]);
}

#[test]
fn operations_that_overlap_do_not_move_one_another() {
    let drawing = "
        7 |ttttttttd|
        7 |  ttttd|
        7 |         tttd|";
    check(drawing, &gone(Edge::IoLimit), &[(0, 1), (2, 1), (1, 1)]);
}

#[test]
fn a_closed_loop_under_a_limit_gains_nothing_from_a_faster_disk() {
    let mut waits = draw("7 |ttttdd|");
    waits.operations[0].since_throttled_ns = Some(3 * MS);
    assert_eq!(replay(&waits, &faster(Edge::Device, 2.0))[0].duration_ns, 6 * MS);
    // At twice the rate the limit no longer delays this task: (4 + 5) / 2 ms are less than it spends elsewhere.
    waits.operations[0].since_throttled_ns = Some(5 * MS);
    assert_eq!(replay(&waits, &faster(Edge::IoLimit, 2.0))[0].duration_ns, 2 * MS);
}

#[test]
fn at_four_times_the_limit_one_of_four_operations_waits_for_a_slice() {
    let drawing = "7 |ttttttttdd|\n".repeat(8);
    let whole: Vec<u64> =
        replay(&draw(&drawing), &faster(Edge::IoLimit, 4.0)).iter().map(|of| of.duration_ns / MS).collect();
    assert_eq!(whole, [2, 10, 2, 2, 2, 10, 2, 2]);
}

#[test]
fn a_wait_of_many_slices_is_shorter_at_a_higher_limit() {
    let mut waits = draw("7 |td|");
    waits.operations[0].pieces[0].1 = 2000 * MS;
    assert_eq!(replay(&waits, &faster(Edge::IoLimit, 4.0))[0].duration_ns, 501 * MS);
}

/// Their sum is known, and not how many of what length they are.
#[test]
fn how_long_pauses_of_writers_are_at_another_speed_is_not_predicted() {
    let at_twice = |pause: Cause| {
        let mut waits = draw(&"7 |tttttttttttttttttttt|\n".repeat(40));
        waits.operations.iter_mut().zip(0..).for_each(|(of, at)| of.start_ns = at * 20 * MS);
        let before = Step { cause: pause, ..waits.paths[0][0] };
        waits.paths[0].insert(0, before);
        predict(&waits, &faster(Edge::IoLimit, 2.0)).in_same_time
    };
    let pauses = at_twice(Cause::DirtyThrottle);
    assert_eq!((pauses.sets_pauses, pauses.p50_ns, pauses.p99_ns), (true, None, None));
    assert!(pauses.total_ns.value > 0);
    let others = at_twice(Cause::Journal);
    assert_eq!((others.sets_pauses, others.p50_ns.map(|p50| p50.value)), (false, Some(10 * MS)));
}

#[test]
fn the_time_at_the_device_is_assumed_where_it_is_unknown() {
    let mut waits = draw("7 |tttttttt|");
    (waits.operations[0].unknown_requests, waits.device_ns) = (1, Some(3 * MS));
    let prediction = predict(&waits, &gone(Edge::IoLimit));
    assert_eq!((prediction.total_ns.value, prediction.assumed), (3 * MS, 1));
}

#[test]
fn a_thread_that_waits_for_less_makes_more_calls() {
    // 20 ms of two calls become 10 ms of two calls and the pause between them, of which one is slow: twice as often.
    let drawing = "
        7 |ttttttddddddd|
        7 |               ttttd|";
    let prediction = predict(&draw(drawing), &gone(Edge::IoLimit));
    assert_eq!((prediction.slow.value, prediction.total_ns.value), (1, 8 * MS));
    assert_eq!((prediction.in_same_time.slow.value, prediction.in_same_time.total_ns.value), (2, 14 * MS));
    // One slow operation is too few for percentiles.
    assert_eq!((prediction.in_same_time.p50_ns, prediction.p50_ns.value), (None, MS));
    let same = predict(&draw(drawing), &gone(Edge::Journal));
    assert_eq!((same.in_same_time.slow.value, same.in_same_time.total_ns.value), (2, 18 * MS));
}

#[test]
fn percentiles_of_few_operations_that_stay_slow_are_not_predicted() {
    let lifted = |slow: usize| {
        let drawing = "7 |ttttttddddddd|\n".repeat(slow) + "7 |ttttttd|";
        predict(&draw(&drawing), &gone(Edge::IoLimit)).in_same_time
    };
    assert_eq!((lifted(9).p50_ns, lifted(9).p99_ns), (None, None));
    assert_eq!(lifted(10).p50_ns.map(|p50| p50.value), Some(7 * MS));
    // That none stays slow is known.
    assert_eq!(lifted(0).p50_ns.map(|p50| p50.value), Some(0));
}

#[test]
fn an_absent_culprit_takes_its_share_and_its_own_operations() {
    let drawing = "
        7 |dddddddddd|
        9 |ddddd|";
    let shares = vec![(Cause::Device, None, 0.8)];
    let absence = Absence { task: Some("task9".into()), shares, ..Absence::default() };
    check(drawing, &Change::Absent(absence.clone()), &[(0, 2)]);
    let prediction = predict(&draw(drawing), &Change::Absent(absence));
    assert_eq!((prediction.recorded.total_ns, prediction.total_ns.value), (10 * MS, 2 * MS));
}

/// fio beside fio: one is the recorded command, or is asked about.
#[test]
fn another_process_of_the_same_program_is_not_absent() {
    let mut waits = draw("7 |dddddddddd|");
    waits.tasks.insert(7, "fio/7".into());
    let left_ms = |waits: &Waits, pid: Option<u32>| {
        let shares = vec![(Cause::Device, None, 0.8)];
        let absence = Absence { task: Some("fio".into()), pid, shares, ..Absence::default() };
        predict(waits, &Change::Absent(absence)).total_ns.value / MS
    };
    assert_eq!((left_ms(&waits, Some(9)), left_ms(&waits, Some(7))), (2, 0));
    assert_eq!(left_ms(&waits, None), 0, "all of that name");
    waits.command.insert(7);
    assert_eq!(left_ms(&waits, None), 2, "all neighbours of that name");
}

/// A wait for a loop device is blamed on those who use the disk below.
#[test]
fn an_absent_culprit_takes_its_share_of_the_disk_that_it_used() {
    let mut waits = draw("7 |dddddddddd|");
    let [upper, lower] = [7, 8].map(|major| Some(DeviceNumber::new(major, 0)));
    (waits.paths[0][0].device, waits.paths[0][0].blamed) = (upper, lower);
    let total_ms = |shares: &[_]| {
        let absence = Absence { task: Some("fio".into()), shares: shares.to_vec(), ..Absence::default() };
        predict(&waits, &Change::Absent(absence)).total_ns.value / MS
    };
    assert_eq!(total_ms(&[(Cause::Device, lower, 0.8)]), 2);
    assert_eq!(total_ms(&[(Cause::Device, upper, 0.8)]), 10);
}

#[test]
fn unexplained_time_widens_the_interval_downwards() {
    let prediction = predict(&draw("7 |tttt????d|"), &gone(Edge::IoLimit));
    assert_eq!((prediction.total_ns.value, prediction.total_ns.low), (5 * MS, MS));
    assert_eq!((prediction.slow.value, prediction.slow.low), (1, 0));
}

#[test]
fn the_recorded_distribution_is_that_of_the_operations() {
    let apart = recorded(&draw("7 |rrrrrr|\n7 |       rrrr|"));
    assert_eq!((apart.slow, apart.total_ns, apart.max_ns, apart.p50_ns), (1, 10 * MS, 6 * MS, 4 * MS));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// No change makes an operation longer, and one that it does not touch keeps its time.
    #[test]
    fn a_change_only_shortens(rows in proptest::collection::vec(("[tdsLjmcr?]{1,30}", "[tdsjmcr? ]{0,30}"), 1..20)) {
        let drawing: String = rows.iter().enumerate()
            .map(|(at, (own, below))| format!("{} |{own}|\n |{below}|\n", at % 4)).collect();
        let waits = draw(&drawing);
        for edge in [Edge::IoLimit, Edge::Device, Edge::Lock, Edge::Journal, Edge::Memory, Edge::Cpu] {
            for change in [gone(edge), faster(edge, 3.0)] {
                for after in replay(&waits, &change) {
                    let before = &waits.operations[after.operation];
                    prop_assert!(after.duration_ns <= before.duration_ns() && after.start_ns <= before.start_ns);
                    let has = |is: &dyn Fn(Cause) -> bool| before.pieces.iter().any(|(path, _)| {
                        waits.paths[*path as usize].iter().any(|step| is(step.cause))
                    });
                    let touched = has(&|cause| edge.changes(cause));
                    // What a journal without a known end waits for is assumed.
                    let may_change = has(&|cause| cause == Cause::Journal);
                    // Of operations under a raised limit some wait as before.
                    let may_stay = change == faster(Edge::IoLimit, 3.0);
                    prop_assert!(touched || may_change || after.duration_ns == before.duration_ns());
                    prop_assert!(!touched || may_stay || after.duration_ns < before.duration_ns());
                }
                let prediction = predict(&waits, &change);
                prop_assert!(prediction.total_ns.low <= prediction.total_ns.value);
                prop_assert!(prediction.total_ns.value <= prediction.total_ns.high);
                prop_assert!(prediction.total_ns.value <= prediction.recorded.total_ns);
            }
        }
    }
}
