//! From timelines to findings. Causes sum exactly to each operation's duration.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::cause::{Cause, EvidenceTimes, Sums};
use super::chain;
use super::culprits::culprits;
use super::disks::Disks;
use super::explanation::{CauseTime, ClassTimes, Explanation, Stall, StallCause};
use super::names::Name;
use super::operations::Operation;
use super::run_index::RunIndex;
use super::timeline::TaskTimeline;
use super::timelines::TaskTimelines;
use super::wording::describe;

/// Operations described individually: the longest.
const STALLS_KEPT: usize = 200;

/// Sums over some operations.
#[derive(Debug, Default)]
struct Totals {
    operations: u64,
    wall_ns: u64,
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
    fn add(&mut self, ns: u64, sums: &Sums) {
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

    fn causes(&self) -> Vec<CauseTime> {
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

/// Fills in the findings for these operations.
pub(super) fn explain(
    index: &RunIndex,
    mut operations: Vec<Operation>,
    silent: HashMap<u32, u64>,
    disks: &Disks,
    explanation: &mut Explanation,
) {
    operations.sort_by_key(|operation| (operation.tid, operation.start_ns, operation.end_ns, operation.class));
    refuse_overflow(&mut operations, explanation);
    let mut borders: HashMap<u32, Vec<u64>> = HashMap::new();
    for operation in &operations {
        borders.entry(operation.tid).or_default().extend([operation.start_ns, operation.end_ns]);
    }
    let mut timelines = TaskTimelines::new(index, borders, silent);
    let mut all = Totals::default();
    let mut classes: BTreeMap<Name, Totals> = BTreeMap::new();
    for operation in &operations {
        let sums = timelines.get(operation.tid).sums(operation.start_ns, operation.end_ns);
        debug_assert_eq!(sums.total_ns(), operation.ns(), "causes do not sum to the operation's duration");
        all.add(operation.ns(), &sums);
        classes.entry(operation.class).or_default().add(operation.ns(), &sums);
    }
    explanation.slow_operations = all.operations;
    explanation.others = operations.iter().filter(|operation| !operation.own).count() as u64;
    explanation.wall_ns = all.wall_ns;
    explanation.causes = all.causes();
    let class = |(name, totals): (&Name, &Totals)| ClassTimes {
        class: index.names.get(*name).to_owned(),
        operations: totals.operations,
        wall_ns: totals.wall_ns,
        causes: totals.causes(),
    };
    explanation.classes = classes.iter().map(class).collect();
    explanation.classes.sort_by(|a, b| b.wall_ns.cmp(&a.wall_ns).then_with(|| a.class.cmp(&b.class)));
    explanation.culprits = culprits(index, &operations, &mut timelines, disks);
    operations.sort_by_key(|operation| (Reverse(operation.ns()), operation.start_ns, operation.tid));
    operations.truncate(STALLS_KEPT);
    let stalls = operations.iter().map(|operation| stall(index, operation, &timelines.get(operation.tid)));
    explanation.stalls = stalls.collect();
}

/// Sums that exceed the range of a clock come from damaged rows. Drops and counts those operations.
fn refuse_overflow(operations: &mut Vec<Operation>, explanation: &mut Explanation) {
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

pub(super) fn stall(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Stall {
    let sums = timeline.sums(operation.start_ns, operation.end_ns);
    let mut longest = [(0, None); Cause::ALL.len()];
    for segment in timeline.between(operation.start_ns, operation.end_ns) {
        let kept = &mut longest[segment.cause as usize];
        if segment.ns() > kept.0 {
            *kept = (segment.ns(), segment.row());
        }
    }
    let present = Cause::ALL.into_iter().zip(longest).filter(|(cause, _)| sums.of(*cause).total_ns() > 0);
    let mut causes: Vec<StallCause> = present
        .map(|(cause, (_, row))| StallCause {
            cause,
            time_ns: sums.of(cause).total_ns(),
            evidence: *sums.of(cause),
            detail: row.and_then(|row| describe(index, index.row(row), cause)),
        })
        .collect();
    causes.sort_by_key(|cause| Reverse(cause.time_ns));
    debug_assert_eq!(causes.iter().map(|cause| cause.time_ns).sum::<u64>(), operation.ns());
    let (chain, request) = chain::of_operation(index, operation, timeline);
    Stall {
        // A thread is recorded when its first row ends. By then its name may have changed.
        task: index.tasks.who(operation.tid, operation.end_ns, &index.names),
        cgroup: index.tasks.cgroup(operation.tid, operation.end_ns).map(|name| index.names.get(name).to_owned()),
        operation: index.names.get(operation.class).to_owned(),
        path: operation.path.map(|path| index.names.get(path).to_owned()),
        start_ns: operation.start_ns,
        duration_ns: operation.ns(),
        finished: operation.finished,
        causes,
        chain,
        request,
    }
}
