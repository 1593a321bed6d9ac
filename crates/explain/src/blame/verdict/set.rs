//! What the explanations of a run's nodes have in common: times and counts that add up.

use crate::blame::facts::cause::{CauseTime, Evidence, EvidenceTimes};
use crate::blame::facts::missing::{Losses, Untraced};
use crate::blame::verdict::explanation::{ClassTimes, Explanation, Part};

/// The sums over nodes. What belongs to a machine (root blockers, convoys, single stalls, sleeps, shorter waits) is
/// left to the nodes.
pub fn together(nodes: &[&Explanation]) -> Explanation {
    let sum = |of: fn(&Explanation) -> u64| nodes.iter().map(|node| of(node)).fold(0, u64::saturating_add);
    let operations: Vec<u64> = nodes.iter().filter_map(|node| node.operations).collect();
    Explanation {
        slower_than_ns: nodes.iter().map(|node| node.slower_than_ns).max().unwrap_or(0),
        asked_for_ns: nodes.iter().filter_map(|node| node.asked_for_ns).max(),
        trace: nodes.iter().find_map(|node| node.trace.clone()),
        operations: (!operations.is_empty()).then(|| operations.into_iter().fold(0, u64::saturating_add)),
        slowest: nodes.iter().filter_map(|node| node.slowest.clone()).max_by_key(|(_, ns)| *ns),
        outside: sum(|node| node.outside),
        slow_operations: sum(|node| node.slow_operations),
        others: sum(|node| node.others),
        wall_ns: sum(|node| node.wall_ns),
        causes: causes(nodes.iter().map(|node| &node.causes[..])),
        classes: classes(nodes.iter().flat_map(|node| &node.classes)),
        scoped: nodes.iter().find_map(|node| node.scoped.clone()).map(|mut scoped| {
            let all = || nodes.iter().filter_map(|node| node.scoped.as_ref());
            scoped.outside = all().map(|scoped| scoped.outside).fold(0, u64::saturating_add);
            scoped.outside_ns = all().map(|scoped| scoped.outside_ns).fold(0, u64::saturating_add);
            scoped.present = Vec::new();
            scoped
        }),
        command: part(nodes.iter().filter_map(|node| node.command.as_ref())),
        neighbours: part(nodes.iter().filter_map(|node| node.neighbours.as_ref())),
        losses: losses(nodes.iter().map(|node| &node.losses)),
        untraced: untraced(nodes.iter().flat_map(|node| &node.untraced)),
        ..Explanation::default()
    }
}

fn part<'a>(parts: impl Iterator<Item = &'a Part>) -> Option<Part> {
    let parts: Vec<&Part> = parts.collect();
    let sum = |of: fn(&Part) -> u64| parts.iter().map(|part| of(part)).fold(0, u64::saturating_add);
    (!parts.is_empty()).then(|| Part {
        operations: sum(|part| part.operations),
        wall_ns: sum(|part| part.wall_ns),
        causes: causes(parts.iter().map(|part| &part.causes[..])),
        classes: classes(parts.iter().flat_map(|part| &part.classes)),
        culprits: Vec::new(),
    })
}

/// Once for each subject and reason.
fn untraced<'a>(all: impl Iterator<Item = &'a Untraced>) -> Vec<Untraced> {
    let mut together: Vec<Untraced> = Vec::new();
    for one in all {
        let is_same = |known: &&mut Untraced| (known.subject, &known.why) == (one.subject, &one.why);
        match together.iter_mut().find(is_same) {
            Some(known) => {
                known.time_ns = known.time_ns.zip(one.time_ns).map(|(known_ns, ns)| known_ns.saturating_add(ns));
            }
            None => together.push(one.clone()),
        }
    }
    together
}

/// The largest first, as those of one run.
fn causes<'a>(lists: impl Iterator<Item = &'a [CauseTime]>) -> Vec<CauseTime> {
    let mut all: Vec<CauseTime> = Vec::new();
    for time in lists.flatten() {
        let Some(known) = all.iter_mut().find(|known| known.cause == time.cause) else {
            all.push(*time);
            continue;
        };
        known.time_ns = known.time_ns.saturating_add(time.time_ns);
        known.operations = known.operations.saturating_add(time.operations);
        known.most_of = known.most_of.saturating_add(time.most_of);
        add(&mut known.evidence, &time.evidence);
        add(&mut known.again, &time.again);
    }
    all.sort_by_key(|time| std::cmp::Reverse(time.time_ns));
    all
}

fn add(to: &mut EvidenceTimes, from: &EvidenceTimes) {
    Evidence::ALL.into_iter().for_each(|evidence| to.add(evidence, from.of(evidence)));
}

fn classes<'a>(lists: impl Iterator<Item = &'a ClassTimes>) -> Vec<ClassTimes> {
    let mut all: Vec<ClassTimes> = Vec::new();
    for class in lists {
        match all.iter_mut().find(|known| known.class == class.class) {
            Some(known) => {
                known.operations = known.operations.saturating_add(class.operations);
                known.wall_ns = known.wall_ns.saturating_add(class.wall_ns);
                known.causes = causes([&known.causes[..], &class.causes[..]].into_iter());
            }
            None => all.push(class.clone()),
        }
    }
    all.sort_by_key(|class| std::cmp::Reverse(class.wall_ns));
    all
}

fn losses<'a>(lists: impl Iterator<Item = &'a Losses>) -> Losses {
    let mut all = Losses::default();
    for losses in lists {
        for (what, count) in &losses.lost {
            match all.lost.iter_mut().find(|(known, _)| known == what) {
                Some((_, known)) => *known = known.saturating_add(*count),
                None => all.lost.push((what.clone(), *count)),
            }
        }
        all.tables
            .extend(losses.tables.iter().filter(|table| !all.tables.contains(table)).cloned().collect::<Vec<_>>());
        let missing = losses.missing.iter().filter(|missing| !all.missing.contains(missing));
        all.missing.extend(missing.cloned().collect::<Vec<_>>());
        all.damaged = all.damaged.saturating_add(losses.damaged);
        all.unknown_requests = all.unknown_requests.saturating_add(losses.unknown_requests);
        all.parts = all.parts.saturating_add(losses.parts);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::together;
    use crate::blame::{Cause, CauseTime, EvidenceTimes, Explanation, Part};

    fn node(cause: Cause, time_ns: u64) -> Explanation {
        let evidence = EvidenceTimes::default();
        let causes = vec![CauseTime { cause, time_ns, operations: 2, most_of: 1, evidence, again: evidence }];
        let part = Part { operations: 2, wall_ns: time_ns, causes: causes.clone(), ..Part::default() };
        let (operations, command) = (Some(10), Some(part));
        Explanation { slow_operations: 3, wall_ns: time_ns, operations, command, causes, ..Explanation::default() }
    }

    #[test]
    fn times_of_one_cause_on_several_nodes_are_one() {
        let nodes = [node(Cause::Device, 10), node(Cause::Lock, 25), node(Cause::Device, 20)];
        let all = together(&nodes.iter().collect::<Vec<_>>());
        assert_eq!((all.slow_operations, all.wall_ns, all.operations), (9, 55, Some(30)));
        let command = all.command.unwrap();
        for causes in [&all.causes, &command.causes] {
            let found: Vec<_> = causes.iter().map(|time| (time.cause, time.time_ns, time.operations)).collect();
            assert_eq!(found, [(Cause::Device, 30, 4), (Cause::Lock, 25, 2)]);
        }
        assert_eq!((command.operations, command.wall_ns, all.neighbours), (6, 55, None));
    }
}
