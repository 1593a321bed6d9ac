//! Sums over some operations: time by cause, by class, by root blocker.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::cause::{Cause, EvidenceTimes, Sums};
use super::explanation::{CauseTime, ClassTimes, Culprit, Part};
use super::names::Name;
use super::operations::Operation;
use super::run_index::RunIndex;
use super::timelines::TaskTimelines;

/// Sums over some operations.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) operations: u64,
    pub(super) wall_ns: u64,
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
    pub(super) fn add(&mut self, ns: u64, sums: &Sums) {
        self.operations += 1;
        self.wall_ns += ns;
        let mut last = None;
        for (cause, evidence, ns) in sums.parts() {
            let totals = self.causes.entry(cause).or_default();
            totals.operations += u64::from(last != Some(cause));
            totals.evidence.add(evidence, ns);
            last = Some(cause);
        }
        if let Some(largest) = sums.largest() {
            self.causes.entry(largest).or_default().most_of += 1;
        }
    }

    pub(super) fn causes(&self) -> Vec<CauseTime> {
        let mut causes: Vec<CauseTime> = self
            .causes
            .iter()
            .map(|(&cause, totals)| CauseTime {
                cause,
                time_ns: totals.evidence.total_ns(),
                operations: totals.operations,
                most_of: totals.most_of,
                evidence: totals.evidence,
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

/// Sums up operations that are ordered by task, and have these root blockers.
pub(super) fn part(
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    culprits: Vec<Culprit>,
) -> Part {
    let mut all = Totals::default();
    let mut classes: BTreeMap<Name, Totals> = BTreeMap::new();
    for operation in operations {
        let sums = timelines.of(operation).sums(operation.start_ns, operation.end_ns);
        debug_assert_eq!(sums.total_ns(), operation.ns(), "causes do not sum to the operation's duration");
        all.add(operation.ns(), &sums);
        classes.entry(operation.class).or_default().add(operation.ns(), &sums);
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
