//! From timelines to findings. Causes sum exactly to each operation's duration.

use std::cmp::Reverse;

use crate::blame::culprits::RootBlockers;
use crate::blame::facts::cause::{Cause, CauseTime};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline};
use crate::blame::operations::Operation;
use crate::blame::timeline::counted_again::{ByCause, CountedAgain};
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::breakdown::victims;
use crate::blame::verdict::convoy::{convoys, name_convoys};
use crate::blame::verdict::explanation::{Explanation, Stall, StallCause, Unfinished};
use crate::blame::verdict::operation_chain;
use crate::blame::verdict::part::{Accounted, part};
use crate::blame::verdict::rests_on::Rules;
use crate::blame::verdict::served::{name_others, served};
use crate::blame::verdict::wording::{describe, running, running_of_other};

/// Fills in the findings for these operations, and describes that many of the longest.
pub(crate) fn explain(
    index: &RunIndex,
    (operations, listed): (&mut [Operation], usize),
    timelines: &mut TaskTimelines<'_>,
    disks: &Disks,
    explanation: &mut Explanation,
) {
    operations.sort_by_key(|of| (of.tid, of.asynchronous, of.start_ns, of.end_ns, of.class));
    let operations = &*operations;
    let blockers = RootBlockers::new(index, operations, timelines, disks);
    let accounted = Accounted::new(operations, timelines);
    let all = part(index, &accounted, |_| true, blockers.of(|_| true));
    let is_others = |operation: &Operation| operation.is_of_command(index) == Some(false);
    let others = operations.iter().filter(|operation| is_others(operation)).count();
    if index.has_command {
        let of = |count: usize, are_others: bool| match count {
            count if count == operations.len() => all.clone(),
            _ => {
                let culprits = blockers.of(|victims| victims.are_others == are_others);
                part(index, &accounted, |operation| is_others(operation) == are_others, culprits)
            }
        };
        explanation.command = Some(of(operations.len() - others, false));
        explanation.neighbours = (others > 0).then(|| of(others, true));
    }
    explanation.unfinished = unfinished(index, operations, explanation.sleeps.unfinished);
    let again = CountedAgain::new(index, operations, timelines);
    [explanation.processes, explanation.cgroups] = victims(index, (&accounted, &again), &blockers);
    // Of a long run they are large, and convoys need much memory.
    drop((accounted, blockers));
    explanation.slow_operations = all.operations;
    explanation.others = operations.iter().filter(|operation| !operation.own).count() as u64;
    explanation.wall_ns = all.wall_ns;
    (explanation.causes, explanation.classes, explanation.culprits) = (all.causes, all.classes, all.culprits);
    count_once(explanation, &again);
    explanation.convoys = convoys((index, disks), operations, timelines, explanation.slower_than_ns);
    name_all_convoys(index, explanation);
    explanation.stalls = longest(index, operations, listed, timelines);
}

/// Says of which root blockers' lost time a convoy is.
fn name_all_convoys(index: &RunIndex, explanation: &mut Explanation) {
    let parts = [&mut explanation.command, &mut explanation.neighbours].into_iter().flatten();
    let culprits = parts.flat_map(|part| &mut part.culprits).chain(&mut explanation.culprits);
    name_convoys(index, culprits, &explanation.convoys);
}

/// Notes what of the time by cause counts for a client and for its server.
fn count_once(explanation: &mut Explanation, again: &CountedAgain) {
    let note = |causes: &mut [CauseTime], again: &ByCause| {
        causes.iter_mut().for_each(|time| time.again = again.get(&time.cause).copied().unwrap_or_default());
    };
    note(&mut explanation.causes, again.by_cause());
    for (part, is_command) in [(&mut explanation.command, true), (&mut explanation.neighbours, false)] {
        if let Some(part) = part {
            note(&mut part.causes, again.of_side(is_command));
        }
    }
}

/// The longest operations, those of others last, described.
fn longest(index: &RunIndex, operations: &[Operation], listed: usize, timelines: &mut TaskTimelines<'_>) -> Vec<Stall> {
    let is_others = |operation: &Operation| operation.is_of_command(index) == Some(false);
    let mut longest: Vec<&Operation> = operations.iter().collect();
    longest.sort_by_key(|operation| (is_others(operation), Reverse(operation.ns()), operation.start_ns, operation.tid));
    longest.truncate(listed);
    longest.into_iter().map(|operation| stall(index, operation, &timelines.of(operation))).collect()
}

/// Of the command or load, where there is one; with its sleeps outside of operations.
fn unfinished(index: &RunIndex, operations: &[Operation], (count, longest_ns): (u64, u64)) -> Unfinished {
    let is_one = |one: &&Operation| !one.finished && one.is_of_command(index) != Some(false);
    let lasting = || operations.iter().filter(is_one);
    Unfinished {
        waits: count + lasting().count() as u64,
        longest_ns: lasting().map(Operation::ns).max().unwrap_or(0).max(longest_ns),
    }
}

/// Sums that exceed the range of a clock come from damaged rows. Drops and counts those operations.
pub(crate) fn refuse_overflow(operations: &mut Vec<Operation>, explanation: &mut Explanation) {
    let mut wall_ns: u64 = 0;
    operations.retain(|operation| match wall_ns.checked_add(operation.ns()) {
        Some(sum_ns) => {
            wall_ns = sum_ns;
            true
        }
        None => {
            explanation.losses.damaged += 1;
            false
        }
    });
}

/// Time at a device of whose request nothing was seen by then, in words: a mapper holds it back.
fn held_back(index: &RunIndex, operation: &Operation, longest: &Segment) -> Option<String> {
    if longest.cause != Cause::Device || longest.off == NO_ROW || longest.by != NO_ROW {
        return None;
    }
    let row = index.row(longest.off);
    if row.tid != operation.tid || index.request(row).is_some_and(|request| request.began_ns() <= longest.start_ns) {
        return None;
    }
    let of_path = || index.mappers.of_path(index.names.get(operation.path?));
    let held_in = index.held_in(row).or_else(of_path)?;
    Some(format!("held back in {held_in}: no request below it yet"))
}

/// The longest time with a cause, in words.
fn detail(index: &RunIndex, operation: &Operation, longest: &Segment) -> Option<String> {
    let tid = operation.tid;
    if longest.ran != 0 {
        return Some(running_of_other(index, longest.ran, longest.start_ns, longest.end_ns));
    }
    if longest.cause == Cause::Running {
        return running(index, tid, longest.start_ns, longest.end_ns);
    }
    if let Some(words) = held_back(index, operation, longest) {
        return Some(words);
    }
    describe(index, index.row(longest.row()?), longest.cause)
}

/// An operation's time by cause, the largest first.
fn causes(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Vec<StallCause> {
    let sums = timeline.sums(operation.start_ns, operation.end_ns);
    let mut longest: [Option<Segment>; Cause::ALL.len()] = [None; Cause::ALL.len()];
    for segment in timeline.between(operation.start_ns, operation.end_ns) {
        let kept = &mut longest[segment.cause as usize];
        if kept.is_none_or(|kept| segment.ns() > kept.ns()) {
            *kept = Some(segment);
        }
    }
    let present = Cause::ALL.into_iter().zip(longest).filter(|(cause, _)| sums.of(*cause).total_ns() > 0);
    let mut causes: Vec<StallCause> = present
        .map(|(cause, longest)| StallCause {
            cause,
            time_ns: sums.of(cause).total_ns(),
            evidence: *sums.of(cause),
            detail: longest.and_then(|longest| detail(index, operation, &longest)),
        })
        .collect();
    causes.sort_by_key(|cause| Reverse(cause.time_ns));
    debug_assert_eq!(causes.iter().map(|cause| cause.time_ns).sum::<u64>(), operation.ns());
    causes
}

pub(crate) fn stall(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Stall {
    let mut rules = Rules::of_time(index, operation, timeline);
    let (chain, request) = operation_chain::of_operation(index, operation, timeline, &mut rules);
    let request = request.map(|request| name_others(index, operation, request));
    Stall {
        // A thread is recorded when its first row ends. By then its name may have changed.
        task: index.tasks.thread(operation.tid, operation.end_ns, &index.names),
        cgroup: index.tasks.cgroup(operation.tid, operation.end_ns).map(|name| index.names.get(name).to_owned()),
        of_command: operation.is_of_command(index),
        operation: index.names.get(operation.class).to_owned(),
        path: operation.path.map(|path| index.names.get(path).to_owned()),
        start_ns: operation.start_ns,
        duration_ns: operation.ns(),
        finished: operation.finished,
        cut: operation.cut,
        causes: causes(index, operation, timeline),
        chain,
        served: request.as_ref().and_then(|request| served(index, operation, request)),
        request,
        user_stack: index.user_stacks.within(operation.tid, operation.start_ns, operation.end_ns),
        rules: rules.into_vec(),
    }
}
