//! When a task is known to have been on a CPU. Time without rows is no evidence: of most tasks, only some waits
//! are recorded.

use model::stall::StallKind;

use super::operations::joined;
use super::run_index::RunIndex;
use super::timeline::Covered;

/// What is known of the time that no row covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Free {
    /// All waits are recorded: the task was on a CPU.
    Running,
    /// It used this part (of 2^32) of the time, by its CPU time before and after.
    Part(u64),
    Unknown,
}

/// The time in which a task's waits are recorded without gaps, and its CPU time elsewhere.
#[derive(Debug, Default)]
pub(super) struct KnownTime {
    /// Ordered and disjoint.
    whole: Vec<(u64, u64)>,
    /// Between two rows with CPU times: begin, end, CPU time in between. Ordered and disjoint.
    between: Vec<(u64, u64, u64)>,
}

impl KnownTime {
    /// Of a task whose slow operations lie there. `off` are its rows off the CPU.
    pub(super) fn new(index: &RunIndex, tid: u32, operations: &[(u64, u64)], off: &[Covered]) -> KnownTime {
        let mut whole = operations.to_vec();
        let mut watched: Option<(u64, u64)> = None;
        for (_, row) in index.rows_of(tid) {
            match row.kind {
                StallKind::SystemCall => whole.push((row.start_ns, row.end_ns)),
                StallKind::OffCpu if row.call_start_ns > 0 => whole.push((row.call_start_ns, row.end_ns)),
                _ => {}
            }
            if row.watched {
                let (from_ns, to_ns) = watched.unwrap_or((row.start_ns, row.end_ns));
                watched = Some((from_ns, to_ns.max(row.end_ns)));
            }
        }
        whole.extend(watched);
        let between = off.windows(2).filter_map(|pair| {
            let (before, after) = (index.row(pair[0].2), index.row(pair[1].2));
            let used_ns = after.cpu_ns.checked_sub(before.cpu_ns).filter(|_| before.cpu_ns > 0)?;
            (pair[0].1 < pair[1].0).then_some((pair[0].1, pair[1].0, used_ns))
        });
        KnownTime { whole: joined(whole, 0), between: between.collect() }
    }

    /// The moments at which the knowledge changes.
    pub(super) fn borders(&self) -> impl Iterator<Item = u64> + '_ {
        self.whole.iter().flat_map(|&(from_ns, to_ns)| [from_ns, to_ns])
    }

    /// At a moment that no row covers.
    pub(super) fn at(&self, at_ns: u64) -> Free {
        let after = self.whole.partition_point(|&(_, to_ns)| to_ns <= at_ns);
        if self.whole.get(after).is_some_and(|&(from_ns, _)| from_ns <= at_ns) {
            return Free::Running;
        }
        let after = self.between.partition_point(|&(_, to_ns, _)| to_ns <= at_ns);
        match self.between.get(after).filter(|(from_ns, ..)| *from_ns <= at_ns) {
            Some(&(from_ns, to_ns, cpu_ns)) => Free::Part(part(cpu_ns, to_ns - from_ns)),
            None => Free::Unknown,
        }
    }
}

impl KnownTime {
    /// Between two moments, if no row lies there.
    pub(super) fn running_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = |from: u64, to: u64| to.min(to_ns).saturating_sub(from.max(from_ns));
        let whole_ns: u64 = self.whole.iter().map(|&(from, to)| within(from, to)).sum();
        let of_part = |&(from, to, cpu_ns): &(u64, u64, u64)| {
            let part = part(cpu_ns, to - from);
            ((u128::from(within(from, to)) * u128::from(part)) >> 32) as u64
        };
        whole_ns.max(self.between.iter().map(of_part).sum())
    }
}

/// CPU time is taken as of the context switches: tiny differences are the clocks'.
fn part(cpu_ns: u64, of_ns: u64) -> u64 {
    let part = (u128::from(cpu_ns.min(of_ns)) << 32) / u128::from(of_ns.max(1));
    part as u64
}
