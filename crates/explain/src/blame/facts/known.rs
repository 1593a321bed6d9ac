//! When a task is known to have been on a CPU. Time without rows is no evidence: of most tasks, only some waits
//! are recorded.

use model::stall::StallKind;

use crate::blame::facts::covered::Covered;
use crate::blame::facts::rows::Row;
use crate::blame::facts::times::joined;

/// What is known of the time that no row covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Free {
    /// All waits are recorded: the task was on a CPU.
    Running,
    /// It used this part (of 2^32) of the time, by its CPU time before and after.
    Part(u64),
    Unknown,
}

/// The time in which a task's waits are recorded without gaps, and its CPU time elsewhere.
#[derive(Debug, Default)]
pub(crate) struct KnownTime {
    /// Ordered and disjoint.
    whole: Vec<(u64, u64)>,
    /// Between two rows with CPU times: begin, end, and the part (of 2^32) of the time that no row covers in which it
    /// ran. Ordered and disjoint.
    between: Vec<(u64, u64, u64)>,
}

impl KnownTime {
    /// Of a task with these rows, the first of which has that number, whose slow operations lie there. `off` are its
    /// rows off the CPU.
    pub(crate) fn new((rows, first): (&[Row], u32), operations: &[(u64, u64)], off: &[Covered]) -> KnownTime {
        let mut whole = operations.to_vec();
        let mut watched: Option<(u64, u64)> = None;
        for row in rows {
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
        let row = |number: u32| &rows[(number - first) as usize];
        let times = off.iter().map(|&(from_ns, to_ns, number)| (from_ns, to_ns, row(number).accounted.cpu_ns));
        KnownTime { whole: joined(whole, 0), between: between(times) }
    }

    /// The moments at which the knowledge changes.
    pub(crate) fn borders(&self) -> impl Iterator<Item = u64> + '_ {
        self.whole.iter().flat_map(|&(from_ns, to_ns)| [from_ns, to_ns])
    }

    /// At a moment that no row covers.
    pub(crate) fn at(&self, at_ns: u64) -> Free {
        let after = self.whole.partition_point(|&(_, to_ns)| to_ns <= at_ns);
        if self.whole.get(after).is_some_and(|&(from_ns, _)| from_ns <= at_ns) {
            return Free::Running;
        }
        let after = self.between.partition_point(|&(_, to_ns, _)| to_ns <= at_ns);
        match self.between.get(after).filter(|(from_ns, ..)| *from_ns <= at_ns) {
            Some(&(.., part)) => Free::Part(part),
            None => Free::Unknown,
        }
    }
}

impl KnownTime {
    /// Between two moments, if no row lies there.
    pub(crate) fn running_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = |from: u64, to: u64| to.min(to_ns).saturating_sub(from.max(from_ns));
        let whole = &self.whole[self.whole.partition_point(|&(_, to)| to <= from_ns)..];
        let whole = whole.iter().take_while(|&&(from, _)| from < to_ns);
        let whole_ns: u64 = whole.map(|&(from, to)| within(from, to)).sum();
        let of_part =
            |&(from, to, part): &(u64, u64, u64)| ((u128::from(within(from, to)) * u128::from(part)) >> 32) as u64;
        let between = &self.between[self.between.partition_point(|&(_, to, _)| to <= from_ns)..];
        let between = between.iter().take_while(|&&(from, ..)| from < to_ns);
        whole_ns.max(between.map(of_part).sum())
    }
}

/// Between rows, with the CPU time by each: 0 where that is unknown.
fn between(rows: impl Iterator<Item = (u64, u64, u64)>) -> Vec<(u64, u64, u64)> {
    let mut between = Vec::new();
    // The end of the last row with a CPU time, that time, and how long rows without one took since.
    let mut last: Option<(u64, u64, u64)> = None;
    for (from_ns, to_ns, cpu_ns) in rows {
        if cpu_ns == 0 {
            last = last.map(|(since_ns, before_ns, others_ns)| (since_ns, before_ns, others_ns + (to_ns - from_ns)));
            continue;
        }
        if let Some((since_ns, before_ns, others_ns)) = last
            && let Some(used_ns) = cpu_ns.checked_sub(before_ns).filter(|_| since_ns < from_ns)
        {
            between.push((since_ns, from_ns, part(used_ns, (from_ns - since_ns).saturating_sub(others_ns))));
        }
        last = Some((to_ns, cpu_ns, 0));
    }
    between
}

/// CPU time is taken as of the context switches: tiny differences are the clocks'.
fn part(cpu_ns: u64, of_ns: u64) -> u64 {
    let part = (u128::from(cpu_ns.min(of_ns)) << 32) / u128::from(of_ns.max(1));
    part as u64
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_row_without_cpu_time_does_not_hide_what_is_known() {
        let half = 1 << 31;
        assert_eq!(between([(0, 10, 100), (30, 40, 110)].into_iter()), [(10, 30, half)]);
        assert_eq!(between([(0, 10, 100), (20, 30, 0), (40, 50, 110)].into_iter()), [(10, 40, half)]);
        assert_eq!(between([(0, 10, 0), (20, 30, 100), (40, 50, 90)].into_iter()), [], "unknown, and damaged");
        assert_eq!(between([(0, 10, 100), (10, 25, 0), (30, 40, 110)].into_iter()), [(10, 30, 1 << 32)]);
    }
}
