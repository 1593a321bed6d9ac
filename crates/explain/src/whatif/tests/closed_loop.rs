//! Closed loops under a limit as the kernel keeps it: of those that wait for it, and of turns too short to be recorded.

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::{Edge, Effect};
use model::wait_kind::WaitKind;

use super::super::throttle::{Rate, Throttle};
use super::super::{Absence, Change, SameTime, predict};
use super::simulated::{SLOW_NS, close, figures};
use super::{MS, faster, step};
use crate::waits::{IoLimit, Loop, Moved, Step, Turn, Waiting, Waits};
use statistics::SplitMix64;

const RUN_NS: u64 = 30_000 * MS;
const BYTES_PER_S: u64 = 4 << 20;
const HALF_SECOND_NS: u64 = 500 * MS;

/// A thread: bytes of a turn, and its pause after one.
#[derive(Debug, Clone, Copy)]
struct Thread {
    tid: u32,
    bytes: u64,
    pause_ns: u64,
}

/// The turns of some threads under a limit of bytes. One turn of six takes 4 ms, the others less than can be recorded.
fn turns(threads: &[Thread], bytes_per_s: u64, seed: u64) -> Vec<(u32, Turn)> {
    let mut throttle = Throttle::new(Rate { bytes_per_s: Some(bytes_per_s as f64), per_s: None });
    let mut next: Vec<(u64, usize)> = (0..threads.len()).map(|at| (at as u64 * MS, at)).collect();
    let (mut random, mut turns) = (SplitMix64::of(seed), Vec::new());
    loop {
        let (start_ns, at) = next.iter().copied().min().expect("threads");
        if start_ns >= RUN_NS {
            return turns;
        }
        let Thread { tid, bytes, pause_ns } = threads[at];
        let passed_ns = throttle.pass(start_ns as f64, bytes as f64) as u64;
        let throttled_ns = passed_ns - start_ns;
        let rest_ns = if random.below(6) == 0 { 4 * MS } else { MS / 2 };
        let turn = Turn { start_ns, throttled_ns, rest_ns, bytes };
        next[at].0 = turn.end_ns() + pause_ns;
        turns.push((tid, turn));
    }
}

/// What a recording of these turns holds; the operations are of thread 7.
fn recorded(turns: &[(u32, Turn)], limit: Option<u64>) -> Waits {
    let paths = vec![vec![step('t', 7)], vec![step('d', 7)]];
    let mut waits = Waits { stands_for: 1, slower_than_ns: SLOW_NS, paths, ..Waits::default() };
    let mut loops: Vec<Loop> = Vec::new();
    for (tid, turn) in turns {
        let at = loops.iter().position(|each| each.tid == *tid).unwrap_or_else(|| {
            loops.push(Loop { tid: *tid, is_of_operations: *tid == 7, turns: Vec::new(), moved: Vec::new() });
            loops.len() - 1
        });
        let start_ns = turn.end_ns() / HALF_SECOND_NS * HALF_SECOND_NS;
        match loops[at].moved.last_mut().filter(|moved| moved.start_ns == start_ns) {
            Some(moved) => moved.bytes += turn.bytes,
            None => {
                loops[at].moved.push(Moved { start_ns, end_ns: start_ns + HALF_SECOND_NS, bytes: turn.bytes });
            }
        }
        if turn.duration_ns() < SLOW_NS {
            continue;
        }
        loops[at].turns.push(*turn);
        if *tid == 7 {
            let pieces = [(0, turn.throttled_ns), (1, turn.rest_ns)].into_iter().filter(|(_, ns)| *ns > 0).collect();
            waits.operations.push(Waiting { tid: 7, start_ns: turn.start_ns, pieces, ..Waiting::default() });
        }
    }
    loops.iter().for_each(|each| drop(waits.tasks.insert(each.tid, format!("task{}/{}", each.tid, each.tid))));
    waits.limited = vec![IoLimit {
        device: DeviceNumber(8),
        reads: true,
        bytes_per_s: limit,
        per_s: None,
        is_estimated: false,
        loops,
    }];
    waits
}

/// Of thread 7.
fn truth(turns: &[(u32, Turn)]) -> [f64; 4] {
    figures(turns.iter().filter(|(tid, _)| *tid == 7).map(|(_, turn)| turn.duration_ns()))
}

#[track_caller]
fn check(predicted: &SameTime, truth: [f64; 4]) {
    close(predicted, truth);
}

const LOOPS: [Thread; 5] = [
    Thread { tid: 7, bytes: 64 << 10, pause_ns: 0 },
    Thread { tid: 7, bytes: 192 << 10, pause_ns: 0 },
    Thread { tid: 7, bytes: 1 << 20, pause_ns: 0 },
    Thread { tid: 7, bytes: 64 << 10, pause_ns: 5 * MS },
    Thread { tid: 7, bytes: 512 << 10, pause_ns: 20 * MS },
];

#[test]
fn a_higher_limit_has_its_own_rhythm() {
    for one in LOOPS {
        let recorded = recorded(&turns(&[one], BYTES_PER_S, 1), Some(BYTES_PER_S));
        for factor in [2, 4] {
            let predicted = predict(&recorded, &faster(Edge::IoLimit, factor as f64));
            check(&predicted.in_same_time, truth(&turns(&[one], factor * BYTES_PER_S, 2)));
        }
    }
}

#[test]
fn two_under_one_limit_wait_for_each_other() {
    let pair = [LOOPS[0], Thread { tid: 8, bytes: 256 << 10, pause_ns: 0 }];
    let recorded = recorded(&turns(&pair, BYTES_PER_S, 1), Some(BYTES_PER_S));
    let predicted = predict(&recorded, &faster(Edge::IoLimit, 4.0));
    check(&predicted.in_same_time, truth(&turns(&pair, 4 * BYTES_PER_S, 2)));
    let shares = vec![(Cause::IoThrottle, None, 0.8)];
    let absent = Absence { task: Some("task8".to_owned()), shares, ..Absence::default() };
    let predicted = predict(&recorded, &Change::Absent(absent));
    check(&predicted.in_same_time, truth(&turns(&pair[..1], BYTES_PER_S, 2)));
}

/// What a call of thread 7 takes, ns.
fn mean_ns(turns: &[(u32, Turn)]) -> f64 {
    let calls = turns.iter().filter(|(tid, _)| *tid == 7).map(|(_, turn)| turn.duration_ns());
    calls.clone().sum::<u64>() as f64 / calls.count() as f64
}

/// At four times the limit one call of four that were slow still is, and takes as long. A reader with pauses finds a
/// slice that two others have used up before as after.
#[test]
fn of_recorded_calls_as_many_stay_slow_as_of_all() {
    let with_pauses = [
        Thread { tid: 7, bytes: 128 << 10, pause_ns: 40 * MS },
        Thread { tid: 8, bytes: 256 << 10, pause_ns: 0 },
        Thread { tid: 9, bytes: 64 << 10, pause_ns: 0 },
    ];
    for (threads, least, most) in [(&LOOPS[..1], 0.2, 0.3), (&with_pauses[..], 0.8, 1.2)] {
        let before = turns(threads, 2 * BYTES_PER_S, 1);
        let predicted = predict(&recorded(&before, Some(2 * BYTES_PER_S)), &faster(Edge::IoLimit, 4.0));
        let left = predicted.total_ns.value as f64 / predicted.recorded.total_ns as f64;
        let truth = mean_ns(&turns(threads, 8 * BYTES_PER_S, 2)) / mean_ns(&before);
        assert!((least..most).contains(&truth), "{truth}");
        assert!((least..most).contains(&left), "{left}, but {truth}");
    }
}

/// It also writes, under a limit that stays.
#[test]
fn what_another_limit_delays_stays_as_it_is() {
    let mut waits = recorded(&turns(&LOOPS[..1], BYTES_PER_S, 1), Some(BYTES_PER_S));
    waits.paths[0][0].kind = Some(WaitKind::Read);
    let before = predict(&waits, &faster(Edge::IoLimit, 4.0));
    waits.paths.push(vec![Step { kind: Some(WaitKind::Write), ..step('t', 7) }]);
    let write =
        |at: u64| Waiting { tid: 7, start_ns: RUN_NS + at * 60 * MS, pieces: vec![(2, 50 * MS)], ..Waiting::default() };
    waits.operations.extend((0..20).map(write));
    let change =
        Change::Edge { effect: Effect { factor: Some(4.0), ..Effect::gone(Edge::IoLimit) }, of: vec![WaitKind::Read] };
    let predicted = predict(&waits, &change);
    assert_eq!(predicted.total_ns.value, before.total_ns.value + 20 * 50 * MS);
    // They are done again, too, as often as there is time for.
    assert!((20..25).contains(&(predicted.in_same_time.slow.value - before.in_same_time.slow.value)));
}

/// Thread 7 waits for the lock that thread 9 holds in each of its writes, and is back when the next one has begun. At
/// four times the limit every other write fits into its slice: the mean of all is half of a slow one.
#[test]
fn those_that_wait_for_the_lock_of_a_loop_wait_for_its_calls() {
    let holder = [Thread { tid: 9, bytes: 512 << 10, pause_ns: 0 }];
    let mut recorded = recorded(&turns(&holder, 2 << 20, 1), Some(2 << 20));
    let path = |letter| vec![step('L', 7), step(letter, 9)];
    recorded.paths = vec![path('t'), path('d')];
    let held = recorded.limited[0].loops[0].turns.iter().map(|turn| {
        let pieces = [(0, turn.throttled_ns), (1, turn.rest_ns)].into_iter().filter(|(_, ns)| *ns > 0).collect();
        Waiting { tid: 7, start_ns: turn.start_ns, pieces, ..Waiting::default() }
    });
    recorded.operations = held.collect();
    let predicted = predict(&recorded, &faster(Edge::IoLimit, 4.0)).in_same_time;
    let after = turns(&holder, 8 << 20, 2);
    check(&predicted, figures(after.iter().map(|(_, turn)| turn.duration_ns())));
    let others = Waits { limited: Vec::new(), ..recorded };
    let by_rule = predict(&others, &faster(Edge::IoLimit, 4.0)).in_same_time;
    assert!(by_rule.p50_ns.unwrap().value < predicted.p50_ns.unwrap().value * 3 / 4, "{by_rule:?} {predicted:?}");
}

/// A rate that cannot be: what the limit does is not known.
#[test]
fn a_simulation_that_is_not_like_the_recording_is_not_used() {
    let recorded = recorded(&turns(&[LOOPS[1]], BYTES_PER_S, 1), Some(BYTES_PER_S / 3));
    let known = Waits { limited: Vec::new(), ..recorded.clone() };
    let of = |waits: &Waits| predict(waits, &faster(Edge::IoLimit, 4.0)).in_same_time;
    assert_eq!(of(&recorded), of(&known));
}

/// 64 KiB at 2 MiB/s: three in a slice of 100 ms. 1 MiB needs 500 ms. A limit of 50 requests per second lets five pass.
#[test]
fn what_is_over_the_budget_of_a_slice_waits_for_the_next() {
    let passes = |rate: Rate, bytes: f64, count: usize| -> Vec<u64> {
        let (mut limit, mut now_ns) = (Throttle::new(rate), 0.0);
        let mut pass = || {
            now_ns = limit.pass(now_ns, bytes);
            now_ns as u64 / MS
        };
        (0..count).map(|_| pass()).collect()
    };
    let of_bytes = Rate { bytes_per_s: Some((2 << 20) as f64), per_s: None };
    assert_eq!(passes(of_bytes, 65536.0, 8), [0, 0, 0, 124, 124, 124, 216, 216]);
    assert_eq!(passes(of_bytes, 1048576.0, 3), [500, 1000, 1500]);
    let of_count = Rate { bytes_per_s: None, per_s: Some(50.0) };
    assert_eq!(passes(of_count, 4096.0, 11), [0, 0, 0, 0, 0, 100, 100, 100, 100, 100, 200]);
}
