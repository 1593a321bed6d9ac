//! Shorter waits of a command that cost it more than its slow operations, or all that it lost.

use explain::blame::{CauseTime, Explanation};

use super::line::Line;
use super::part::{AnswerScope, Part};
use super::reason::LEAST;
use super::victim::victim;

/// The class of a wait in no system call: `explain` names it.
const PREEMPTED: &str = "preempted";
/// Causes named.
const CAUSES: usize = 3;

/// `tar lost 41.2 s to 5,000 waits shorter than 100 ms, 96 % of it: journal`
pub(super) fn headline(part: &Part<'_>) -> Vec<Line> {
    let waits = &part.explanation.short_waits;
    let who = match part.scope {
        AnswerScope::Selection => Line::of("The tasks in scope"),
        _ => victim(part, false),
    };
    let lost = who.say(" lost ").time(waits.time_ns).say(" to ").counted(waits.count, "wait");
    let lost = lost.say(" shorter than ").time(part.explanation.slower_than_ns);
    let first = waits
        .causes
        .first()
        .map(|first| Line::of(": ").share(share(part.explanation, first)).say(" ").cause(first.cause));
    vec![lost.clone().and(first), lost]
}

fn share(explanation: &Explanation, time: &CauseTime) -> f64 {
    time.time_ns as f64 / explanation.short_waits.time_ns.max(1) as f64
}

/// `98 % of its non-idle time; the longest of those recorded individually took 98.0 ms`
pub(super) fn who(explanation: &Explanation) -> Vec<Line> {
    let waits = &explanation.short_waits;
    let line = match explanation.scoped.is_some() {
        // Of other tasks it is not recorded when they ran.
        true => Line::of("waits in calls that may need storage, too short to be listed"),
        false => Line::new().share(explanation.share_of_short_waits()).say(" of the command's non-idle time"),
    };
    let longest = (waits.recorded > 0).then(|| Line::of("; the longest wait took ").time(waits.longest_ns));
    vec![line.and(longest)]
}

/// `96 % journal, 4 % lock; in write, fsync`
pub(super) fn why(explanation: &Explanation) -> Vec<Line> {
    let waits = &explanation.short_waits;
    let mut large = waits.causes.iter().filter(|time| share(explanation, time) >= LEAST).take(CAUSES);
    let one = |line: Line, time: &CauseTime| line.share(share(explanation, time)).say(" ").cause(time.cause);
    let Some(first) = large.next() else { return Vec::new() };
    let line = large.fold(one(Line::new(), first), |line, time| one(line.say(", "), time));
    let calls = waits.calls.first().map(|class| match class.class.as_str() {
        PREEMPTED => Line::of("; most of them while preempted"),
        call => Line::of("; most of them in ").name(call),
    });
    vec![line.and(calls)]
}

/// What is known of them besides: the other operations, which are described below.
pub(super) fn slow_besides(part: &Part<'_>) -> Option<Line> {
    (part.operations > 0).then(|| {
        let line = Line::of("besides, ").counted(part.operations, "operation").say(" took at least ");
        line.time(part.explanation.slower_than_ns).say(", ").time(part.wall_ns).say(" in total")
    })
}
