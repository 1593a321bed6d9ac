//! One operation in one line, while it lasts or just after it: `psql/7 poll blocked 4.00 s: lock <- postgres/8 <-
//! psql/9`.

use explain::blame::{Holds, Link, STOPPED, Stall};
use explain::snapshot::Stuck;

use super::line::Line;
use super::names::short_path;
use super::reason::LEAST;

/// Tasks of a chain.
const LEVELS: usize = 4;

/// A stall that lasts or lasted that long in all, ns.
pub fn of_stall(stall: &Stall, lasts_ns: u64) -> Line {
    let task = Line::new().name(stall.task.to_string());
    let called = |line: Line| with_path(line.say(" ").name(&stall.operation), stall.path.as_deref());
    let line = match (stall.operation == STOPPED, stall.finished) {
        (true, true) => task.say(" was stopped for "),
        (true, false) => task.say(" stopped "),
        (false, true) => called(task).say(" took "),
        (false, false) => called(task).say(" blocked "),
    };
    line.time(lasts_ns).and(why(stall))
}

/// `: 86 % lock <- tar/93 <- dd/7`
fn why(stall: &Stall) -> Option<Line> {
    let main = stall.causes.first()?;
    let part = main.time_ns as f64 / stall.duration_ns.max(1) as f64;
    let line = if part >= 1.0 - LEAST { Line::of(": ") } else { Line::of(": ").share(part).say(" ") };
    let line = line.cause(main.cause);
    let object = stall.chain.first().filter(|link| link.cause == main.cause).and_then(|link| link.object);
    let line = match object.filter(|kind| kind.is_programs_lock() && kind.words() != main.cause.words()) {
        Some(kind) => line.say(" (").name(kind.words()).say(")"),
        None => line,
    };
    let mut before = Some(&stall.task);
    let mut others = Vec::new();
    for link in stall.chain.iter().skip(1) {
        if let Some(task) = link.task.as_ref().filter(|task| Some(*task) != before) {
            others.push((link, task));
            before = Some(task);
        }
    }
    let with_task = |line: Line, (link, task): &(&Link, &explain::blame::TaskId)| {
        let line = line.say(" <- ").name(task.to_string());
        match link.holds {
            Some(Holds::Perhaps) => line.say(" (perhaps)"),
            Some(Holds::Stopped) => line.say(" (stopped it)"),
            _ if link.cause.is_wait() && link.cause != main.cause => line.say(" ").cause(link.cause),
            _ => line,
        }
    };
    Some(others.iter().take(LEVELS).fold(line, with_task))
}

/// A task that is stuck: of its wait only the place is known, unless it is one of the stalls.
pub fn of_stuck(stuck: &Stuck, explained: Option<&Stall>) -> Line {
    let line = Line::new().name(stuck.task.to_string());
    let line = match &stuck.operation {
        Some(call) => with_path(line.say(" ").name(call), stuck.path.as_deref()),
        None => line,
    };
    let line = line.say(" blocked ").time(stuck.lasts_ns);
    if let Some(stall) = explained.filter(|stall| stall.task.tid == stuck.task.tid) {
        return line.and(why(stall));
    }
    if let Some(other) = stuck.holder.as_ref().or(stuck.peer.as_ref()) {
        return line.say(" <- ").name(other.to_string());
    }
    let place = stuck.frames.iter().find(|frame| !frame.contains("schedule"));
    match place {
        Some(frame) => line.say(": in ").name(frame),
        None => line,
    }
}

fn with_path(line: Line, path: Option<&str>) -> Line {
    match path {
        Some(path) => line.say(" of ").name(short_path(path)),
        None => line,
    }
}
