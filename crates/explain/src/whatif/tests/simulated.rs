//! Simulated loads, for which the effect of a change is known exactly: the same load, simulated with the change.

use model::cause::Cause;
use model::effect::Edge;

use super::super::{Absence, Change, Estimate, SameTime, predict};
use super::{MS, faster, gone, step};
use crate::waits::{Waiting, Waits};
use statistics::SplitMix64;

const SLICE_NS: u64 = 100 * MS;
const RUN_NS: u64 = 12_000 * MS;
pub(super) const SLOW_NS: u64 = MS;

/// A call: its thread, its start, how long a limit delayed it, and how long the device had it.
#[derive(Debug, Clone, Copy)]
struct Call {
    tid: u32,
    start_ns: u64,
    throttled_ns: u64,
    device_ns: u64,
}

impl Call {
    fn ns(&self) -> u64 {
        self.throttled_ns + self.device_ns
    }
}

/// A closed loop of one thread under a limit of so many calls in a slice of blk-throttle. `device_ns`: what a call at a
/// moment takes.
fn closed_loop(limit: Option<u64>, think_ns: u64, mut device_ns: impl FnMut(u64) -> u64) -> Vec<Call> {
    let (mut calls, mut now_ns, mut slice, mut used) = (Vec::new(), 0, 0, 0);
    while now_ns < RUN_NS {
        let mut throttled_ns = 0;
        if now_ns / SLICE_NS > slice {
            (slice, used) = (now_ns / SLICE_NS, 0);
        }
        if limit.is_some_and(|limit| used == limit) {
            (slice, used) = (slice + 1, 0);
            throttled_ns = slice * SLICE_NS - now_ns;
        }
        used += 1;
        let call = Call { tid: 7, start_ns: now_ns, throttled_ns, device_ns: device_ns(now_ns + throttled_ns) };
        now_ns += call.ns() + think_ns;
        calls.push(call);
    }
    calls
}

/// What a recording of these calls holds: the slow ones.
fn recorded(calls: &[Call]) -> Waits {
    let paths = vec![vec![step('t', 7)], vec![step('d', 7)]];
    let mut waits = Waits { stands_for: 1, slower_than_ns: SLOW_NS, paths, ..Waits::default() };
    let mut last_ns = None;
    for call in calls.iter().filter(|call| call.ns() >= SLOW_NS) {
        let mut operation = Waiting { tid: call.tid, start_ns: call.start_ns, ..Waiting::default() };
        operation.pieces.push((1, call.device_ns));
        if call.throttled_ns > 0 {
            operation.pieces.push((0, call.throttled_ns));
            operation.since_throttled_ns = last_ns.map(|last_ns| call.start_ns - last_ns);
            last_ns = Some(call.start_ns + call.throttled_ns);
        }
        waits.operations.push(operation);
    }
    waits
}

/// Slow ones of these durations, their sum, p50 and p99.
pub(super) fn figures(durations: impl Iterator<Item = u64>) -> [f64; 4] {
    let mut slow: Vec<u64> = durations.filter(|ns| *ns >= SLOW_NS).collect();
    slow.sort_unstable();
    let quantile = |share: f64| slow[(share * slow.len() as f64) as usize] as f64;
    [slow.len() as f64, slow.iter().sum::<u64>() as f64, quantile(0.5), quantile(0.99)]
}

fn truth(calls: &[Call]) -> [f64; 4] {
    figures(calls.iter().map(Call::ns))
}

/// The same of a prediction, each within a fifth of the truth.
#[track_caller]
pub(super) fn close(predicted: &SameTime, truth: [f64; 4]) -> [(&'static str, Estimate); 4] {
    let (p50_ns, p99_ns) = (predicted.p50_ns.unwrap(), predicted.p99_ns.unwrap());
    let figures = [("slow", predicted.slow), ("total", predicted.total_ns), ("p50", p50_ns), ("p99", p99_ns)];
    for ((name, figure), truth) in figures.into_iter().zip(truth) {
        let off = figure.value as f64 / truth - 1.0;
        assert!(off.abs() <= 0.2, "{name}: {figure:?}, in truth {truth}");
    }
    figures
}

#[track_caller]
fn check(predicted: &SameTime, truth: [f64; 4]) {
    for ((name, figure), truth) in close(predicted, truth).into_iter().zip(truth) {
        assert!(
            name.starts_with('p') || figure.low as f64 <= truth * 1.2 && truth <= figure.high as f64 * 1.2,
            "{name}"
        );
    }
}

/// Moments of two seconds in which a call takes 2 ms, and moments of one in which it takes 12.
fn by_moment(at_ns: u64) -> u64 {
    if at_ns / (1000 * MS) % 3 == 2 { 12 * MS } else { 2 * MS }
}

/// A call takes 2 to 12 ms, at random.
fn by_chance(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = SplitMix64::of(seed);
    move |_| 2 * MS + random.below(10 * MS as usize) as u64
}

#[test]
fn without_a_limit_most_calls_are_made_in_the_quick_moments() {
    for (limit, think_ns) in [(1, 0), (3, 0), (2, 4 * MS)] {
        let predicted = predict(&recorded(&closed_loop(Some(limit), think_ns, by_moment)), &gone(Edge::IoLimit));
        check(&predicted.in_same_time, truth(&closed_loop(None, think_ns, by_moment)));
    }
}

#[test]
fn calls_that_differ_by_chance_do_not_count_by_their_length() {
    for (limit, think_ns) in [(1, 0), (3, 0), (2, 4 * MS)] {
        let recorded = recorded(&closed_loop(Some(limit), think_ns, by_chance(1)));
        let predicted = predict(&recorded, &gone(Edge::IoLimit));
        check(&predicted.in_same_time, truth(&closed_loop(None, think_ns, by_chance(2))));
    }
}

#[test]
fn at_a_higher_limit_calls_wait_for_what_is_left_of_a_slice() {
    // Three calls in a slice take 15 ms, six 30 ms of it, twelve 60.
    for factor in [2, 4] {
        let limited = |limit| closed_loop(Some(limit), 3 * MS, |_| 2 * MS);
        let predicted = predict(&recorded(&limited(3)), &faster(Edge::IoLimit, factor as f64));
        check(&predicted.in_same_time, truth(&limited(3 * factor)));
    }
}

/// Closed loops at a device that serves one request after another: thread, service and think time of each.
fn first_come_first_served(loops: &[(u32, u64, u64)]) -> Vec<Call> {
    let mut next: Vec<(u64, usize)> = loops.iter().enumerate().map(|(at, _)| (at as u64 * MS / 10, at)).collect();
    let (mut free_ns, mut calls) = (0, Vec::new());
    loop {
        let (start_ns, at) = next.iter().copied().min().expect("loops");
        if start_ns >= RUN_NS {
            return calls;
        }
        let (tid, service_ns, think_ns) = loops[at];
        free_ns = free_ns.max(start_ns) + service_ns;
        calls.push(Call { tid, start_ns, throttled_ns: 0, device_ns: free_ns - start_ns });
        next[at].0 = free_ns + think_ns;
    }
}

#[test]
fn a_device_is_alone_when_the_neighbour_is_absent() {
    // The neighbour thinks for longer than a request of the victim takes: some find the device idle.
    for (service_ns, neighbour_ns, think_ns) in [(3 * MS, 20 * MS, 0), (2 * MS, 15 * MS, 7 * MS)] {
        let victim = (7, service_ns, MS);
        let mut calls = first_come_first_served(&[victim, (8, neighbour_ns, think_ns)]);
        calls.retain(|call| call.tid == 7);
        let behind: u64 = calls.iter().map(|call| call.device_ns - service_ns).sum();
        let share = behind as f64 / calls.iter().map(Call::ns).sum::<u64>() as f64;
        let shares = vec![(Cause::Device, None, share)];
        let predicted = predict(&recorded(&calls), &Change::Absent(Absence { shares, ..Absence::default() }));
        check(&predicted.in_same_time, truth(&first_come_first_served(&[victim])));
    }
}

#[test]
fn an_absent_neighbour_leaves_its_part_of_a_limit() {
    // Of four calls in a slice three are the neighbour's.
    let shares = vec![(Cause::IoThrottle, None, 0.75)];
    let change = Change::Absent(Absence { shares, ..Absence::default() });
    let predicted = predict(&recorded(&closed_loop(Some(1), 0, |_| 2 * MS)), &change);
    check(&predicted.in_same_time, truth(&closed_loop(Some(4), 0, |_| 2 * MS)));
}

#[test]
fn a_queue_moves_as_fast_as_its_device() {
    let at = |service_ns| first_come_first_served(&[7, 8, 9, 10].map(|tid| (tid, service_ns, MS)));
    for factor in [2, 3] {
        let predicted = predict(&recorded(&at(12 * MS)), &faster(Edge::Device, factor as f64));
        check(&predicted.in_same_time, truth(&at(12 * MS / factor)));
    }
}
