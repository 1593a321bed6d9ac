//! The summary of a run on several nodes, from those of its nodes.

use model::event::{Ending, Member};
use model::operation::OperationRecord;
use model::set::NodeClock;
use statistics::{TimedAmount, together};

use super::builder::rates;
use super::failures::FailureCount;
use super::findings::{OperationSummary, PhaseSummary, Progress, Recording, SlowCount, Summary};

/// Worst and failed operations kept.
const KEPT: usize = 10;
/// A rank is an outlier if it is slower than the median by this share at least,
const FAR: f64 = 0.1;
/// and by this many standard deviations, as estimated from the median absolute deviation,
const DEVIATIONS: f64 = 3.0;
/// unless there are fewer ranks than this, which have no deviation worth the name.
const FEW: usize = 4;
/// Standard deviation of a normal distribution of which the median absolute deviation is 1.
const OF_NORMAL: f64 = 1.4826;

/// A node's summary and its clock.
#[derive(Debug, Clone, Copy)]
pub struct OfNode<'a> {
    /// The summary; its times are on the node's clock.
    pub summary: &'a Summary,
    /// The clock.
    pub clock: NodeClock,
}

/// The figures of all nodes. Times are on the clock of rank 0.
#[derive(Debug, Clone)]
pub struct SetSummary {
    /// What adds up over nodes: operations, phases, rates, slow and failed operations, samples. What belongs to a
    /// machine (pressure, cgroups, figures over time, remarks) is left to the nodes.
    pub whole: Summary,
    /// The node of each of its worst operations, by its place.
    pub worst_on: Vec<usize>,
    /// Ranks much slower than the others, by phase.
    pub outliers: Vec<Outlier>,
}

/// A rank that was much slower than the others in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// The phase.
    pub phase: String,
    /// Which of the phases of this name.
    pub repetition: usize,
    /// The actor, which is `rank` for one thread a rank.
    pub actor: String,
    /// Its ordinal.
    pub ordinal: u64,
    /// What it did in a second of its own time: bytes or, where none were moved, items.
    pub per_s: f64,
    /// The median of all.
    pub median_per_s: f64,
    /// Whether these are bytes.
    pub is_bytes: bool,
    /// How many ranks there were.
    pub of: usize,
}

impl SetSummary {
    /// Of the nodes that could be read; `None`: there is none.
    pub fn of(nodes: &[OfNode<'_>]) -> Option<SetSummary> {
        let first = nodes.first()?.summary;
        let start = |node: &OfNode<'_>| node.clock.common_ns(node.summary.started_ns);
        let started_ns = nodes.iter().map(start).min()?;
        let phases = phases(nodes, started_ns);
        let amounts = amounts(nodes);
        let (worst, worst_on) = worst(nodes);
        let outliers = outliers(&phases);
        let whole = Summary {
            workload: first.workload.clone(),
            simulated: None,
            host: hosts(nodes),
            recipe: first.recipe.clone(),
            directories: first.directories.clone(),
            started_ns,
            duration_ns: duration_ns(&phases),
            warmup_ns: nodes.iter().map(|node| node.summary.warmup_ns).max()?,
            ending: ending(nodes),
            slower_than_ns: nodes.iter().map(|node| node.summary.slower_than_ns).max()?,
            limits: first.limits.clone(),
            operations: operations(nodes.iter().flat_map(|node| &node.summary.operations)),
            phases,
            rates: rates(&amounts),
            amounts,
            printed: Vec::new(),
            slow: slow(nodes),
            worst,
            failed: nodes.iter().flat_map(failed).take(KEPT).collect(),
            failures: failures(nodes),
            pressure: Vec::new(),
            memory_cgroup: None,
            cgroups: Vec::new(),
            timeline: Vec::new(),
            recording: recording(nodes),
            remarks: Vec::new(),
            missing: Vec::new(),
        };
        Some(SetSummary { whole, worst_on, outliers })
    }
}

/// One line, also for nodes that differ.
fn hosts(nodes: &[OfNode<'_>]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for node in nodes {
        match kinds.iter_mut().find(|(host, _)| *host == node.summary.host) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&node.summary.host, 1)),
        }
    }
    kinds.iter().map(|(host, count)| format!("{count} x {host}")).collect::<Vec<_>>().join("; ")
}

/// A set ended as planned if all its nodes did.
fn ending(nodes: &[OfNode<'_>]) -> Option<Ending> {
    let endings: Option<Vec<Ending>> = nodes.iter().map(|node| node.summary.ending).collect();
    let endings = endings?;
    endings.iter().copied().find(|ending| *ending != Ending::Done).or_else(|| endings.first().copied())
}

/// From the begin of the first measured phase to the end of the last one.
fn duration_ns(phases: &[PhaseSummary]) -> u64 {
    let measured = || phases.iter().filter(|phase| phase.measured);
    let reached = |phase: &PhaseSummary| {
        let last = phase.progress.last().map_or(phase.start_ns, |progress| progress.end_ns);
        phase.end_ns.unwrap_or(last)
    };
    let end_ns = measured().map(reached).max().unwrap_or(0);
    end_ns.saturating_sub(measured().map(|phase| phase.start_ns).min().unwrap_or(0))
}

/// A phase of a name is one with the phase of that name on other nodes that was the same repetition.
fn phases(nodes: &[OfNode<'_>], started_ns: u64) -> Vec<PhaseSummary> {
    let mut all: Vec<(usize, Vec<PhaseSummary>)> = Vec::new();
    for node in nodes {
        let mut before: Vec<&str> = Vec::new();
        for phase in &node.summary.phases {
            let repetition = before.iter().filter(|name| **name == phase.name).count();
            before.push(&phase.name);
            let common = on_common_clock(phase, node, started_ns);
            match all.iter_mut().find(|(known, parts)| *known == repetition && parts[0].name == phase.name) {
                Some((_, parts)) => parts.push(common),
                None => all.push((repetition, vec![common])),
            }
        }
    }
    let mut phases: Vec<PhaseSummary> = all.into_iter().filter_map(|(_, parts)| one_phase(&parts)).collect();
    phases.sort_by_key(|phase| phase.start_ns);
    phases
}

/// With times since the set's start, members on the clock of rank 0.
fn on_common_clock(phase: &PhaseSummary, node: &OfNode<'_>, started_ns: u64) -> PhaseSummary {
    let since = |ns: u64| node.clock.common_ns(node.summary.started_ns.saturating_add(ns)).saturating_sub(started_ns);
    let progress = |progress: &Progress| Progress {
        start_ns: since(progress.start_ns),
        end_ns: since(progress.end_ns),
        ..*progress
    };
    let member = |member: &Member| Member {
        start_ns: node.clock.common_ns(member.start_ns),
        end_ns: node.clock.common_ns(member.end_ns),
        opened_ns: member.opened_ns.map(|ns| node.clock.common_ns(ns)),
        closing_ns: member.closing_ns.map(|ns| node.clock.common_ns(ns)),
        ..member.clone()
    };
    PhaseSummary {
        start_ns: since(phase.start_ns),
        end_ns: phase.end_ns.map(since),
        progress: phase.progress.iter().map(progress).collect(),
        job_threads: phase.job_threads.iter().map(member).collect(),
        ..phase.clone()
    }
}

/// A phase has ended, and its bytes are known, if that is so on all nodes.
fn one_phase(parts: &[PhaseSummary]) -> Option<PhaseSummary> {
    let first = parts.first()?;
    let ends: Option<Vec<u64>> = parts.iter().map(|part| part.end_ns).collect();
    let bytes: Option<Vec<u64>> = parts.iter().map(|part| part.bytes).collect();
    let mut job_threads: Vec<Member> = parts.iter().flat_map(|part| part.job_threads.iter().cloned()).collect();
    job_threads.sort_by(|one, other| (&one.actor, one.ordinal).cmp(&(&other.actor, other.ordinal)));
    Some(PhaseSummary {
        name: first.name.clone(),
        measured: first.measured,
        start_ns: parts.iter().map(|part| part.start_ns).min()?,
        end_ns: ends.and_then(|ends| ends.into_iter().max()),
        bytes: bytes.map(|bytes| bytes.into_iter().fold(0, u64::saturating_add)),
        operations: operations(parts.iter().flat_map(|part| &part.operations)),
        progress: progress(parts),
        job_threads,
    })
}

fn progress(parts: &[PhaseSummary]) -> Vec<Progress> {
    let of = |amount: fn(&Progress) -> u64| {
        let timed = |part: &PhaseSummary| -> Vec<TimedAmount> {
            let progress = part.progress.iter();
            progress.map(|p| TimedAmount { from_ns: p.start_ns, to_ns: p.end_ns, amount: amount(p) as f64 }).collect()
        };
        let parts: Vec<Vec<TimedAmount>> = parts.iter().map(timed).collect();
        whole_numbers(&together(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    };
    let (operations, bytes, files) = (of(|p| p.operations), of(|p| p.bytes), of(|p| p.files));
    let one = |((&(start_ns, end_ns, operations), &(_, _, bytes)), &(_, _, files))| Progress {
        start_ns,
        end_ns,
        operations,
        bytes,
        files,
    };
    operations.iter().zip(&bytes).zip(&files).map(one).collect()
}

/// Rounded so that the sum is right.
fn whole_numbers(amounts: &[TimedAmount]) -> Vec<(u64, u64, u64)> {
    let (mut sum, mut given) = (0.0, 0);
    let mut next = |amount: &TimedAmount| {
        sum += amount.amount;
        let whole = (f64::round(sum) as u64).saturating_sub(given);
        given += whole;
        (amount.from_ns, amount.to_ns, whole)
    };
    amounts.iter().map(&mut next).collect()
}

fn operations<'a>(parts: impl Iterator<Item = &'a OperationSummary>) -> Vec<OperationSummary> {
    let mut all: Vec<OperationSummary> = Vec::new();
    for part in parts {
        match all.iter_mut().find(|known| known.class == part.class) {
            Some(known) => {
                known.latencies.merge(&part.latencies);
                known.stuck = known.stuck.saturating_add(part.stuck);
                known.stuck_oldest_ns = known.stuck_oldest_ns.max(part.stuck_oldest_ns);
            }
            None => all.push(part.clone()),
        }
    }
    all
}

fn amounts(nodes: &[OfNode<'_>]) -> Vec<(String, Vec<TimedAmount>)> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in nodes.iter().flat_map(|node| &node.summary.amounts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let common = |node: &OfNode<'_>, amount: &TimedAmount| TimedAmount {
        from_ns: node.clock.common_ns(amount.from_ns),
        to_ns: node.clock.common_ns(amount.to_ns),
        ..*amount
    };
    let of_name = |name: &&str| {
        let of_node = |node: &OfNode<'_>| -> Vec<TimedAmount> {
            let amounts = node.summary.amounts.iter().filter(|(known, _)| known == name);
            amounts.flat_map(|(_, amounts)| amounts.iter().map(|amount| common(node, amount))).collect()
        };
        let parts: Vec<Vec<TimedAmount>> = nodes.iter().map(of_node).collect();
        ((*name).to_owned(), together(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    };
    names.iter().map(of_name).collect()
}

fn slow(nodes: &[OfNode<'_>]) -> Vec<SlowCount> {
    let mut all: Vec<SlowCount> = Vec::new();
    for slow in nodes.iter().flat_map(|node| &node.summary.slow) {
        match all.iter_mut().find(|known| known.class == slow.class) {
            Some(known) => known.count = known.count.saturating_add(slow.count),
            None => all.push(slow.clone()),
        }
    }
    all
}

fn moved(operation: &OperationRecord, clock: NodeClock) -> OperationRecord {
    OperationRecord { start_ns: clock.common_ns(operation.start_ns), ..operation.clone() }
}

fn worst(nodes: &[OfNode<'_>]) -> (Vec<OperationRecord>, Vec<usize>) {
    let of_node = |(at, node): (usize, &OfNode<'_>)| {
        node.summary.worst.iter().map(|one| (moved(one, node.clock), at)).collect::<Vec<_>>()
    };
    let mut all: Vec<(OperationRecord, usize)> = nodes.iter().enumerate().flat_map(of_node).collect();
    all.sort_by_key(|(operation, _)| (std::cmp::Reverse(operation.duration_ns), operation.start_ns));
    all.truncate(KEPT);
    all.into_iter().unzip()
}

fn failed(node: &OfNode<'_>) -> Vec<OperationRecord> {
    node.summary.failed.iter().map(|operation| moved(operation, node.clock)).collect()
}

/// The number of files is unknown where several nodes have failures of a kind: they may be the same files.
fn failures(nodes: &[OfNode<'_>]) -> Vec<FailureCount> {
    let mut all: Vec<FailureCount> = Vec::new();
    for (node, failure) in nodes.iter().flat_map(|node| node.summary.failures.iter().map(move |one| (node, one))) {
        let first = failure.first.as_ref().map(|first| moved(first, node.clock));
        let same = |known: &&mut FailureCount| {
            (&known.class, known.measured, known.errno, known.fault)
                == (&failure.class, failure.measured, failure.errno, failure.fault)
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                known.count = known.count.saturating_add(failure.count);
                known.at_least |= failure.at_least;
                known.files = None;
                known.first = known.first.take().into_iter().chain(first).min_by_key(|first| first.start_ns);
            }
            None => all.push(FailureCount { first, ..failure.clone() }),
        }
    }
    all
}

/// What adds up; what recording cost belongs to a machine.
fn recording(nodes: &[OfNode<'_>]) -> Recording {
    let mut sum = Recording::default();
    for recording in nodes.iter().map(|node| &node.summary.recording) {
        sum.samples += recording.samples;
        sum.metrics = sum.metrics.max(recording.metrics);
        sum.late_samples += recording.late_samples;
        sum.missing_samples += recording.missing_samples;
        sum.lost_events = sum.lost_events.saturating_add(recording.lost_events);
        sum.remarks_left_out += recording.remarks_left_out;
        sum.archive_bytes =
            sum.archive_bytes.map_or(recording.archive_bytes, |bytes| Some(bytes + recording.archive_bytes?));
    }
    sum
}

/// Ranks that do much less in a second of their own time than the median, in the order of the phases, the slowest
/// first.
fn outliers(phases: &[PhaseSummary]) -> Vec<Outlier> {
    let mut before: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for phase in phases.iter().filter(|phase| phase.measured) {
        let repetition = before.iter().filter(|name| **name == phase.name).count();
        before.push(&phase.name);
        let is_bytes = phase.job_threads.iter().any(|member| member.bytes > 0);
        let per_s = |member: &Member| {
            let done = if is_bytes { member.bytes } else { member.items };
            done as f64 * 1e9 / member.end_ns.saturating_sub(member.start_ns).max(1) as f64
        };
        let rates: Vec<f64> = phase.job_threads.iter().map(per_s).collect();
        let Some((median_per_s, least_per_s)) = limits(&rates) else { continue };
        let outlier = |(member, &per_s): (&Member, &f64)| Outlier {
            phase: phase.name.clone(),
            repetition,
            actor: member.actor.clone(),
            ordinal: member.ordinal,
            per_s,
            median_per_s,
            is_bytes,
            of: rates.len(),
        };
        let is_slow = |(_, per_s): &(&Member, &f64)| **per_s < least_per_s;
        let mut of_phase: Vec<Outlier> = phase.job_threads.iter().zip(&rates).filter(is_slow).map(outlier).collect();
        of_phase.sort_by(|one, other| one.per_s.total_cmp(&other.per_s));
        all.extend(of_phase);
    }
    all
}

/// The (upper) median of some rates, and the least that is no outlier; `None` for a single one.
fn limits(rates: &[f64]) -> Option<(f64, f64)> {
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    if rates.len() < 2 {
        return None;
    }
    let middle = median(&mut rates.to_vec());
    let deviation = median(&mut rates.iter().map(|rate| (rate - middle).abs()).collect());
    let margin = if rates.len() < FEW { 0.0 } else { DEVIATIONS * OF_NORMAL * deviation };
    Some((middle, middle - (FAR * middle).max(margin)))
}

#[cfg(test)]
mod tests;
