//! Who waited, and how long.

use explain::blame::{STOPPED, Stall, VictimGroup};

use super::line::{Fact, Line};
use super::names::short_path;
use super::part::{AnswerScope, Part};
use super::reason::LEAST;

/// Processes named with their time.
const NAMED: usize = 3;

/// Lines about the slow operations of a part.
pub(super) fn who(part: &Part<'_>) -> Vec<Line> {
    let longest = part.stalls().next();
    let one = longest.filter(|_| part.operations == 1).map(|stall| named(stall).say(", ").and(Some(lasted(stall))));
    let first = one.unwrap_or_else(|| many(part, longest));
    [Some(first), by_process(part), unfinished(part)].into_iter().flatten().collect()
}

/// `12 operations took at least 100 ms, 3.00 s in total; the longest, fsync by dd/93, 1.20 s`
fn many(part: &Part<'_>, longest: Option<&Stall>) -> Line {
    let line = Line::new().counted(part.operations, "operation").and(whose(part));
    let line = line.say(" took at least ").time(part.explanation.slower_than_ns).say(", ").time(part.wall_ns);
    let line = line.say(" in total");
    let line = match part.again_ns() {
        again_ns if part.share_of(again_ns) < LEAST => line,
        again_ns => line.say(" (").time(again_ns).say(" of it in processes that the others waited for)"),
    };
    match longest {
        Some(stall) => line.say("; the longest ").and(Some(lasted(stall))).say(": ").and(Some(named(stall))),
        None => line,
    }
}

/// ` of the recorded command and of redis-server, which --follow names`
fn whose(part: &Part<'_>) -> Option<Line> {
    let followed = &part.explanation.followed;
    match part.scope {
        AnswerScope::Machine | AnswerScope::Selection => None,
        AnswerScope::Load => Some(Line::of(" of the load")),
        AnswerScope::Command if followed.is_empty() => Some(Line::of(" of the command")),
        AnswerScope::Command => {
            Some(Line::of(" of the command and of what --follow names (").name(followed.join(", ")).say(")"))
        }
    }
}

/// `fsync by dd/93 of /srv/a`, `a stop of dd/93`
fn named(stall: &Stall) -> Line {
    if stall.operation == STOPPED {
        return Line::of("a stop of ").name(stall.task.to_string());
    }
    let line = Line::new().name(&stall.operation).say(" by ").name(stall.task.to_string());
    match &stall.path {
        Some(path) => line.say(" of ").name(short_path(path)),
        None => line,
    }
}

/// `1.20 s`, `at least 1.20 s (not ended)`
fn lasted(stall: &Stall) -> Line {
    match (stall.finished, stall.cut) {
        (true, false) => Line::new().time(stall.duration_ns),
        (true, true) => Line::of("at least ").time(stall.duration_ns).say(" (begun before the recording)"),
        (false, _) => Line::of("at least ").time(stall.duration_ns).say(" (still blocked at the end)"),
    }
}

/// `by process: 2.00 s dd/93, 1.00 s tar/94`: nothing for a single one. A client and the server that it waits for are
/// both named.
fn by_process(part: &Part<'_>) -> Option<Line> {
    let groups = part.groups();
    let is_large = |group: &&&VictimGroup| part.share_of(group.wall_ns) >= LEAST && group.name.is_some();
    let mut large = groups.iter().filter(is_large).take(NAMED).peekable();
    let first = large.next()?;
    large.peek()?;
    let line = Line::of("by process: ").and(Some(of_process(first)));
    Some(large.fold(line, |line, group| line.say(", ").and(Some(of_process(group)))))
}

/// `dd/93 2.00 s`, `15 postgres 1.00 s`
fn of_process(group: &VictimGroup) -> Line {
    let name = group.name.as_deref().unwrap_or_default();
    let line = match group.pid {
        Some(pid) => Line::new().name(format!("{name}/{pid}")),
        None => Line::new().fact(Fact::Count(group.processes)).say(" ").name(name),
    };
    line.say(" ").time(group.wall_ns)
}

/// `2 of them had not ended`
fn unfinished(part: &Part<'_>) -> Option<Line> {
    let waits = part.explanation.unfinished.waits;
    let says_so = part.operations == 1 && part.stalls().next().is_some_and(|stall| !stall.finished);
    (waits > 0 && !says_so && part.operations >= waits)
        .then(|| Line::new().counted(waits, "wait").say(" had not ended with the recording"))
}

/// `node b 3.00 s (85 %, 12 operations), node a 529 ms (15 %, 2 operations)`
pub(super) fn nodes(nodes: &[(&str, u64, u64)]) -> Option<Line> {
    let mut order: Vec<&(&str, u64, u64)> = nodes.iter().filter(|(_, count, _)| *count > 0).collect();
    order.sort_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let all_ns: u64 = order.iter().map(|(.., ns)| ns).sum();
    let one = |(name, count, ns): &(&str, u64, u64)| {
        let line = Line::of("node ").name(*name).say(" ").time(*ns).say(" (").share(*ns as f64 / all_ns.max(1) as f64);
        line.say(", ").counted(*count, "operation").say(")")
    };
    let first = one(order.first()?);
    Some(order[1..].iter().take(NAMED - 1).fold(first, |line, node| line.say(", ").and(Some(one(node)))))
}
