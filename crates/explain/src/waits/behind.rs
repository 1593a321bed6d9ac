//! What the tasks waited for that others waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::cause::Cause;

use super::Waits;

#[cfg(test)]
mod tests;

/// Tasks that are named.
const NAMED: usize = 3;

/// What slow operations waited for in the end, behind a wait of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Behind {
    /// Their own wait.
    pub cause: Cause,
    /// The last wait of its chains, or what the last task did; the same cause, where another process's wait is theirs.
    pub end: Cause,
    /// Duration, ns.
    pub time_ns: u64,
    /// Part of the time of all slow operations, 0 to 1.
    pub share: f64,
    /// Processes whose wait this last one is, with their time: those with the most time first. The others are missing.
    pub tasks: Vec<(String, u64)>,
}

/// What is behind the waits of slow operations, the most time first. What is unknown is left out.
pub fn behind(waits: &Waits) -> Vec<Behind> {
    let mut sums: BTreeMap<(Cause, Cause), BTreeMap<&str, u64>> = BTreeMap::new();
    let mut all_ns = 0;
    for operation in &waits.operations {
        for &(path, ns) in &operation.pieces {
            all_ns += ns;
            let path = &waits.paths[path as usize];
            let (first, last) = (&path[0], &path[path.len() - 1]);
            let is_anothers = |tid: u32| waits.tasks.get(&tid) != waits.tasks.get(&operation.tid);
            if (path.len() > 1 || is_anothers(first.tid)) && last.cause != Cause::Unexplained {
                // The victim's own request, behind a worker's wait: what delayed it is a root blocker, and not the
                // victim.
                let name = waits.tasks.get(&last.tid).filter(|_| is_anothers(last.tid)).map_or("", String::as_str);
                *sums.entry((first.cause, last.cause)).or_default().entry(name).or_default() += ns;
            }
        }
    }
    let mut list: Vec<Behind> = sums.into_iter().map(|(causes, tasks)| of(causes, tasks, waits, all_ns)).collect();
    list.sort_by_key(|behind| Reverse(behind.time_ns));
    list
}

fn of((cause, end): (Cause, Cause), tasks: BTreeMap<&str, u64>, waits: &Waits, all_ns: u64) -> Behind {
    let ns: u64 = tasks.values().sum();
    let named = tasks.into_iter().filter(|(name, _)| !name.is_empty());
    let mut tasks: Vec<(String, u64)> =
        named.map(|(name, ns)| (name.to_owned(), ns.saturating_mul(waits.stands_for))).collect();
    tasks.sort_by_key(|(_, ns)| Reverse(*ns));
    tasks.truncate(NAMED);
    let share = ns as f64 / all_ns.max(1) as f64;
    Behind { cause, end, time_ns: ns.saturating_mul(waits.stands_for), share, tasks }
}
