//! Who or what held the operations up.

use explain::blame::{Cause, Culprit};

use super::line::{Fact, Line};
use super::names::{disk_of, place_of};
use super::reason::{LEAST, blames_itself};

/// Root blockers named.
const NAMED: usize = 3;

/// Root blockers with their share of a time, the most first: one line.
pub(super) fn blockers(culprits: &[Culprit], wall_ns: u64, node_of: &dyn Fn(usize) -> Option<String>) -> Vec<Line> {
    let share = |culprit: &Culprit| culprit.time_ns as f64 / wall_ns.max(1) as f64;
    let culprits = together(culprits);
    let large: Vec<&(usize, Culprit)> = culprits
        .iter()
        .filter(|(_, culprit)| share(culprit) >= LEAST && culprit.cause != Cause::Unexplained)
        .take(NAMED)
        .collect();
    if large.is_empty() {
        return vec![Line::of("unknown")];
    }
    let one = |(at, culprit): &&(usize, Culprit)| {
        let line = blocker(culprit).say(": ").share(share(culprit));
        match node_of(*at) {
            Some(node) => line.say(" on node ").name(node),
            None => line,
        }
    };
    large.iter().map(one).collect()
}

/// What a task cost by waits of several causes, as one; each with the number of the first.
fn together(culprits: &[Culprit]) -> Vec<(usize, Culprit)> {
    let mut all: Vec<(usize, Culprit)> = Vec::new();
    for (at, culprit) in culprits.iter().enumerate() {
        let is_same = |(_, one): &&mut (usize, Culprit)| {
            one.task.is_some() && (&one.task, &one.cgroup, &one.role) == (&culprit.task, &culprit.cgroup, &culprit.role)
        };
        match all.iter_mut().find(is_same) {
            Some((_, one)) => {
                (one.time_ns, one.own_ns) = (one.time_ns + culprit.time_ns, one.own_ns + culprit.own_ns);
                (one.at_once, one.evicts) = (one.at_once.max(culprit.at_once), one.evicts || culprit.evicts);
            }
            None => all.push((at, culprit.clone())),
        }
    }
    all.sort_by_key(|(_, culprit)| std::cmp::Reverse(culprit.time_ns));
    all
}

/// `tar/93 (started by backup.sh/7) in backup.service`, `the limit of backup.service`, `the disk loop0`
fn blocker(culprit: &Culprit) -> Line {
    let Some(task) = &culprit.task else { return without_task(culprit) };
    let name = task.to_string();
    let line = match culprit.tasks {
        0 | 1 => Line::new().name(name),
        many => Line::new().fact(Fact::Count(many)).say(" processes such as ").name(name),
    };
    let line = if blames_itself(culprit) && culprit.tasks <= 1 { line.say(" itself") } else { line };
    let line = line.and(details(culprit));
    let line = match place_of(culprit) {
        Some(place) => line.say(" in ").name(place),
        None => line,
    };
    let line = if culprit.evicts { line.say(", which filled the memory that held what is read again") } else { line };
    match culprit.at_once {
        0 => line,
        tasks => line.say(", which held up ").fact(Fact::Count(tasks)).say(" tasks at once"),
    }
}

/// ` (checkpointer, started by postgres/7)`
fn details(culprit: &Culprit) -> Option<Line> {
    let through = culprit.through.as_ref().map(ToString::to_string);
    // A role that is the program's name says nothing.
    let is_name =
        |role: &str| culprit.task.as_ref().is_some_and(|task| task.to_string().starts_with(&format!("{role}/")));
    let role = culprit.role.clone().filter(|role| !is_name(role));
    let details = [("", role), ("started by ", culprit.started_by.clone()), ("through ", through)];
    let mut details = details.into_iter().filter_map(|(words, name)| Some(Line::of(words).name(name?)));
    let first = Line::of(" (").and(Some(details.next()?));
    Some(details.fold(first, |line, detail| line.say(", ").and(Some(detail))).say(")"))
}

fn without_task(culprit: &Culprit) -> Line {
    match (culprit.cause, place_of(culprit), disk_of(culprit)) {
        (Cause::IoThrottle, Some(place), _) => Line::of("the I/O limit of ").name(place),
        (Cause::CpuThrottle, Some(place), _) => Line::of("the CPU quota of ").name(place),
        (Cause::Stopped, Some(place), _) => Line::of("the freezer of ").name(place),
        (Cause::IoThrottle, None, Some(disk)) => Line::of("unknown, at an I/O limit on ").name(disk),
        (Cause::Frozen, _, Some(disk)) => Line::of("who froze the file system on ").name(disk).say(" is unknown"),
        (Cause::Frozen, ..) => Line::of("who froze the file system is unknown"),
        (_, _, Some(disk)) => Line::of("the disk ").name(disk),
        (_, Some(place), None) => Line::of("unknown, in ").name(place),
        (cause, None, None) => Line::of("unknown (").cause(cause).say(")"),
    }
}
