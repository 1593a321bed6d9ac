//! Shorter waits of a command that cost it more than its slow operations, or all that it lost.

use explain::blame::{CauseTime, Explanation, ProcessShortWaits, ShortWaits};

use super::line::Line;
use super::names::program_of;
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
    let first = waits.causes.first().map(|first| Line::of(": ").share(share(waits, first)).say(" ").cause(first.cause));
    vec![lost.clone().and(first), lost]
}

fn share(waits: &ShortWaits, time: &CauseTime) -> f64 {
    time.time_ns as f64 / waits.time_ns.max(1) as f64
}

/// `perl/93 lost 11.2 s to 871 waits of at most 104 ms`
pub(super) fn of_process(most: &ProcessShortWaits) -> Line {
    let line = Line::new().name(most.process.to_string()).say(" lost ").time(most.waits.time_ns).say(" to ");
    line.counted(most.waits.count, "wait").say(" of at most ").time(most.waits.longest_ns)
}

/// `; perl lost 11.2 s to shorter waits: 99 % swap-in`
pub(super) fn besides(most: &ProcessShortWaits) -> Line {
    let line = Line::of("; ").name(program_of(&most.process)).say(" lost ").time(most.waits.time_ns);
    let line = line.say(" to shorter waits");
    let first = most.waits.causes.first();
    line.and(first.map(|first| Line::of(": ").share(share(&most.waits, first)).say(" ").cause(first.cause)))
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
pub(super) fn why(waits: &ShortWaits) -> Vec<Line> {
    let mut large = waits.causes.iter().filter(|time| share(waits, time) >= LEAST).take(CAUSES);
    let one = |line: Line, time: &CauseTime| line.share(share(waits, time)).say(" ").cause(time.cause);
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
