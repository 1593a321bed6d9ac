//! Who lost the time: slow operations by process and by cgroup.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use crate::blame::culprits::{RootBlockers, Victims};
use crate::blame::facts::cause::Cause;
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::timeline::counted_again::CountedAgain;
use crate::blame::verdict::explanation::VictimGroup;
use crate::blame::verdict::part::{Accounted, Totals};

/// Groups kept: those with the most lost time, of the command and of the others each.
const KEPT: usize = 100;
/// Groups whose root blocker is looked for.
const DETAILED: usize = 16;

/// Operations of one group.
#[derive(Default)]
struct Group {
    processes: HashSet<u32>,
    totals: Totals,
    /// Of the time that was running, that of others which it waited for.
    others_ns: u64,
    again_ns: u64,
    again_within_ns: u64,
}

/// Operations with their times, and what of these other ones hold.
type Counted<'a> = (&'a Accounted<'a>, &'a CountedAgain);

/// By name of the process, and by cgroup. Processes of one name are one group.
pub(crate) fn victims(index: &RunIndex, operations: Counted<'_>, blockers: &RootBlockers<'_>) -> [Vec<VictimGroup>; 2] {
    [
        victim_groups(index, operations, |victims| victims.process, blockers),
        victim_groups(index, operations, |victims| victims.cgroup, blockers),
    ]
}

/// Whether it is of the others, and its name.
type Key = (bool, Option<Name>);

fn victim_groups(
    index: &RunIndex,
    (operations, again): Counted<'_>,
    name: impl Fn(&Victims) -> Option<Name>,
    blockers: &RootBlockers<'_>,
) -> Vec<VictimGroup> {
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    let key = |victims: &Victims| (victims.are_others, name(victims));
    for ((operation, times), again) in operations.iter().zip(again.iter()) {
        let group = groups.entry(key(&Victims::of(index, operation))).or_default();
        group.totals.add(operation.ns(), times);
        (group.again_ns, group.again_within_ns) = (group.again_ns + again.0, group.again_within_ns + again.1);
        group.processes.insert(index.tasks.process_of(operation.tid, operation.end_ns));
    }
    for (victims, ns) in blockers.running_of_others() {
        if let Some(group) = groups.get_mut(&(victims.are_others, name(victims))) {
            group.others_ns += ns;
        }
    }
    let group_of = |(is_others, name): Key, group| {
        let name = name.map(|name| index.names.get(name).to_owned());
        victim_group(name, index.has_command.then_some(!is_others), group)
    };
    let mut found: Vec<(Key, VictimGroup)> =
        groups.into_iter().map(|(key, group)| (key, group_of(key, group))).collect();
    found.sort_by_key(|(_, victims)| order(victims));
    let mut victim_groups: Vec<VictimGroup> = Vec::new();
    for of_command in [Some(true), None, Some(false)] {
        let same = found.iter_mut().filter(|(_, victims)| victims.of_command == of_command).take(KEPT).enumerate();
        for (at, (own, victims)) in same {
            if at < DETAILED {
                let culprits = blockers.of(|victims| key(victims) == *own);
                victims.culprit = culprits.into_iter().find(|culprit| Some(culprit.cause) == victims.cause);
            }
            victim_groups.push(victims.clone());
        }
    }
    victim_groups
}

fn order(victims: &VictimGroup) -> impl Ord + use<> {
    (Reverse(victims.lost_ns), Reverse(victims.wall_ns), victims.name.clone())
}

fn victim_group(name: Option<String>, of_command: Option<bool>, group: Group) -> VictimGroup {
    let causes = group.totals.causes();
    let running_ns = causes.iter().find(|time| time.cause == Cause::Running).map_or(0, |time| time.time_ns);
    // Asynchronous operations of one task may overlap.
    let others_ns = group.others_ns.min(running_ns);
    let most = causes.iter().find(|time| time.cause != Cause::Running).map(|time| (time.cause, time.time_ns));
    let most = most.filter(|(_, ns)| *ns >= others_ns).or((others_ns > 0).then_some((Cause::Running, others_ns)));
    let processes = group.processes.len() as u64;
    VictimGroup {
        name,
        pid: group.processes.into_iter().next().filter(|_| processes == 1),
        processes,
        of_command,
        operations: group.totals.operations,
        wall_ns: group.totals.wall_ns,
        again_ns: group.again_ns,
        again_within_ns: group.again_within_ns,
        lost_ns: group.totals.wall_ns - (running_ns - others_ns),
        cause: most.map(|(cause, _)| cause),
        cause_ns: most.map_or(0, |(_, ns)| ns),
        culprit: None,
    }
}
