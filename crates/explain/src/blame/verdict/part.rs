//! Sums over some operations: time by cause, by class, by root blocker.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::blame::culprits::culprit::Culprit;
use crate::blame::facts::cause::{Cause, CauseTime, CausedTime, EvidenceTimes};
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::explanation::{ClassTimes, Part};

/// Sums over some operations.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) operations: u64,
    pub(crate) wall_ns: u64,
    causes: BTreeMap<Cause, CauseTotals>,
}

/// Operations that lost time to a cause.
#[derive(Debug, Default)]
struct CauseTotals {
    operations: u64,
    most_of: u64,
    evidence: EvidenceTimes,
}

impl Totals {
    pub(crate) fn add(&mut self, ns: u64, times: &[CausedTime]) {
        self.operations += 1;
        self.wall_ns += ns;
        let mut largest: Option<(Cause, u64)> = None;
        for times in times.chunk_by(|a, b| a.0 == b.0) {
            let (cause, ns) = (times[0].0, times.iter().map(|time| time.2).sum());
            let totals = self.causes.entry(cause).or_default();
            totals.operations += 1;
            times.iter().for_each(|&(_, evidence, ns)| totals.evidence.add(evidence, ns));
            if largest.is_none_or(|(_, most_ns)| ns > most_ns) {
                largest = Some((cause, ns));
            }
        }
        if let Some((largest, _)) = largest {
            self.causes.entry(largest).or_default().most_of += 1;
        }
    }

    pub(crate) fn causes(&self) -> Vec<CauseTime> {
        let mut causes: Vec<CauseTime> = self
            .causes
            .iter()
            .map(|(&cause, totals)| CauseTime {
                cause,
                time_ns: totals.evidence.total_ns(),
                operations: totals.operations,
                most_of: totals.most_of,
                evidence: totals.evidence,
                again: EvidenceTimes::default(),
            })
            .collect();
        causes.sort_by_key(|time| Reverse(time.time_ns));
        debug_assert_eq!(
            causes.iter().map(|time| time.time_ns).sum::<u64>(),
            self.wall_ns,
            "causes do not sum to the wall time"
        );
        causes
    }
}

/// Operations, each with its time by cause.
pub(crate) struct Accounted<'a> {
    pub(crate) operations: &'a [Operation],
    times: Vec<CausedTime>,
    /// Where each operation's times end.
    ends: Vec<usize>,
}

impl<'a> Accounted<'a> {
    pub(crate) fn new(operations: &'a [Operation], timelines: &mut TaskTimelines<'_>) -> Accounted<'a> {
        let (mut times, mut ends) = (Vec::with_capacity(2 * operations.len()), Vec::with_capacity(operations.len()));
        for operation in operations {
            let begin = times.len();
            timelines.of(operation).times(operation.start_ns, operation.end_ns, &mut times);
            let sum_ns: u64 = times[begin..].iter().map(|time| time.2).sum();
            debug_assert_eq!(sum_ns, operation.ns(), "causes do not sum to the operation's duration");
            ends.push(times.len());
        }
        Accounted { operations, times, ends }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a Operation, &[CausedTime])> {
        let mut begin = 0;
        self.operations.iter().zip(&self.ends).map(move |(operation, &end)| {
            let times = &self.times[begin..end];
            begin = end;
            (operation, times)
        })
    }
}

/// Sums up the operations that are meant, which have these root blockers.
pub(crate) fn part(
    index: &RunIndex,
    operations: &Accounted<'_>,
    is_meant: impl Fn(&Operation) -> bool,
    culprits: Vec<Culprit>,
) -> Part {
    let mut all = Totals::default();
    let mut classes: BTreeMap<Name, Totals> = BTreeMap::new();
    for (operation, times) in operations.iter().filter(|(operation, _)| is_meant(operation)) {
        all.add(operation.ns(), times);
        classes.entry(operation.class).or_default().add(operation.ns(), times);
    }
    let class = |(name, totals): (&Name, &Totals)| ClassTimes {
        class: index.names.get(*name).to_owned(),
        operations: totals.operations,
        wall_ns: totals.wall_ns,
        causes: totals.causes(),
    };
    let mut classes: Vec<ClassTimes> = classes.iter().map(class).collect();
    classes.sort_by(|a, b| b.wall_ns.cmp(&a.wall_ns).then_with(|| a.class.cmp(&b.class)));
    Part { operations: all.operations, wall_ns: all.wall_ns, causes: all.causes(), classes, culprits }
}
