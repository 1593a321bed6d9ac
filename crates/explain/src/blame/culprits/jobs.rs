//! Programs and those that they start are one job: a build and its compilers.

use std::cmp::Reverse;

use super::costs::Cost;
use super::key::Key;
use crate::thresholds::SMALL_PART;

/// Root blockers that are looked at: those with the most time.
const MOST: usize = 256;

/// Adds the cost of programs that another root blocker started, for the same cause and disk in the same cgroup, to its
/// own. `starter`: the process that started one.
pub(super) fn joined(mut groups: Vec<(Key, Cost)>, starter: impl Fn(&Key) -> Option<u32>) -> Vec<(Key, Cost)> {
    groups.sort_by_key(|(_, cost)| Reverse(cost.total_ns));
    let others = groups.split_off(groups.len().min(MOST));
    let mut at = 0;
    while at < groups.len() {
        let place = starter(&groups[at].0).and_then(|pid| {
            let (key, cost) = &groups[at];
            let is_it = |(other, its): &(Key, Cost)| {
                is_same_but_process(key, other)
                    && other.process.as_ref().is_some_and(|process| process.tid == pid)
                    && its.total_ns.saturating_mul(SMALL_PART) >= cost.total_ns
            };
            groups.iter().position(is_it)
        });
        match place.filter(|place| *place != at) {
            Some(place) => {
                let (_, cost) = groups.remove(at);
                groups[if place > at { place - 1 } else { place }].1.add(&cost);
                // What it has now may be enough for those before.
                at = 0;
            }
            None => at += 1,
        }
    }
    groups.extend(others);
    groups
}

fn is_same_but_process(one: &Key, other: &Key) -> bool {
    let rest = |key: &Key| (key.cgroup, key.device, key.cause, key.evicts);
    rest(one) == rest(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::facts::cause::Cause;
    use crate::blame::facts::task_id::TaskId;

    fn cost(pid: u32, total_ns: u64) -> (Key, Cost) {
        let process = Some(TaskId { tid: pid, name: Some("task".to_owned()) });
        let key = Key { process, cgroup: None, device: None, cause: Cause::CpuThrottle, evicts: false };
        (key, Cost { processes: 1, total_ns, ..Cost::default() })
    }

    fn check(costs: &[(u32, u64)], expected: &[(u32, u64, u64)]) {
        let groups = costs.iter().map(|(pid, ns)| cost(*pid, *ns)).collect();
        // 20 was started by 10, and 30 by 20.
        let starter = |key: &Key| key.process.as_ref().map(|process| process.tid - 10);
        let groups = joined(groups, starter);
        let found: Vec<_> = groups
            .iter()
            .map(|(key, cost)| (key.process.as_ref().unwrap().tid, cost.total_ns, cost.processes))
            .collect();
        assert_eq!(found, expected, "{costs:?}");
    }

    #[test]
    fn what_a_program_starts_is_its_own_work() {
        check(&[(20, 400), (10, 100)], &[(10, 500, 2)]);
        check(&[(20, 400), (10, 10)], &[(20, 400, 1), (10, 10, 1)]);
        check(&[(30, 700), (20, 100), (10, 100)], &[(10, 900, 3)]);
        check(&[(30, 700), (10, 100)], &[(30, 700, 1), (10, 100, 1)]);
    }

    #[test]
    fn another_cause_is_another_one() {
        let (key, its) = cost(10, 100);
        let groups = vec![cost(20, 400), (Key { cause: Cause::CpuWait, ..key }, its)];
        assert_eq!(joined(groups, |key| key.process.as_ref().map(|process| process.tid - 10)).len(), 2);
    }
}
