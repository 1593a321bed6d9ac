//! The chain of waits in words, one level a line.

use explain::blame::{Cause, Holds, Link};
use model::wait_kind::WaitKind;

use super::line::Line;
use super::part::Part;
use super::reason::{Ended, LEAST, Reason};

/// Levels of a chain.
const LEVELS: usize = 4;
/// Causes named.
const CAUSES: usize = 3;
/// A cause of this share needs no share.
const ALL: f64 = 0.95;

/// The causes, unless one explains nearly all, and the chain of a typical operation.
pub(super) fn why(part: &Part<'_>, ended: &[Ended], reason: &Reason<'_>) -> Vec<Line> {
    let chain = reason.example.map_or(&[][..], |stall| &stall.chain);
    let mut lines: Vec<Line> = causes(part, ended, chain.is_empty()).into_iter().collect();
    let before = |at: usize| at.checked_sub(1).map(|before| &chain[before]);
    lines.extend(chain.iter().take(LEVELS).enumerate().map(|(at, link)| level(before(at), link, chain.get(at + 1))));
    lines
}

/// `59 % cgroup I/O throttling (24 % behind a lock), 4.0 % device (behind direct reclaim)`
fn causes(part: &Part<'_>, ended: &[Ended], alone: bool) -> Option<Line> {
    let named = ended.iter().filter(|ended| ended.cause != Cause::Unexplained);
    let mut large = named.filter(|ended| part.share_of_once(ended.once_ns) >= LEAST).take(CAUSES).peekable();
    let first = *large.peek()?;
    let is_all = part.share_of_once(first.once_ns) >= ALL;
    if is_all && !alone {
        return None;
    }
    let one = |line: Line, ended: &Ended| {
        let line = line.share(part.share_of_once(ended.once_ns)).say(" ").cause(ended.cause);
        let through = ended.through.filter(|_| part.share_of_once(ended.through_ns) >= LEAST);
        let Some(through) = through else { return line };
        let is_all = ended.through_ns as f64 >= ALL * ended.once_ns as f64;
        let line =
            if is_all { line.say(" (") } else { line.say(" (").share(part.share_of_once(ended.through_ns)).say(" ") };
        let line = line.say(if through == Cause::Lock { "behind a " } else { "behind " });
        line.cause(through).say(")")
    };
    let first = one(Line::new(), large.next()?);
    Some(large.fold(first, |line, ended| one(line.say(", "), ended)))
}

/// One wait of a chain, after the one before it.
fn level(before: Option<&Link>, link: &Link, after: Option<&Link>) -> Line {
    let task = || link.task.as_ref().map_or_else(|| "an unknown task".to_owned(), ToString::to_string);
    let Some(before) = before else {
        return Line::new().name(task()).and(Some(waits(link, after)));
    };
    let which = |line: Line| line.name(task()).say(", which").and(Some(waits(link, after)));
    match link.holds {
        Some(Holds::Stopped) if link.cause == Cause::Frozen => Line::of("frozen by ").name(task()),
        Some(Holds::Stopped) => Line::of("stopped by ").name(task()),
        Some(Holds::Exactly) => which(Line::of("held by ")),
        Some(Holds::Perhaps) => which(Line::of("held by readers such as ")),
        None if before.task == link.task => Line::of("that is, it").and(Some(waits(link, after))),
        Some(Holds::OtherEnd) | None => which(Line::of("for ")),
    }
}

/// ` waited 1.20 s: inode lock of a file`, ` ran for 1.20 s`
fn waits(link: &Link, after: Option<&Link>) -> Line {
    let is_anothers = after.is_some_and(|after| after.cause == link.cause && after.holds != Some(Holds::Stopped));
    match link.cause {
        Cause::Running => Line::of(" ran for ").time(link.time_ns),
        Cause::Sleep if !is_anothers => Line::of(" slept ").time(link.time_ns).say(" on its own timer"),
        Cause::Stopped if !is_anothers => {
            let frozen = link.object == Some(WaitKind::FrozenCgroup);
            Line::of(if frozen { " was frozen for " } else { " was stopped for " }).time(link.time_ns)
        }
        Cause::Unexplained => {
            let line = Line::of(" slept ").time(link.time_ns);
            // Else it is the stack.
            match link.detail.as_ref().filter(|detail| !detail.contains(" < ")) {
                Some(detail) => line.say(" (").name(detail).say(")"),
                None => line,
            }
        }
        cause => {
            let line = Line::of(" waited ").time(link.time_ns).say(": ");
            let object = link.object.filter(|kind| !is_vague(*kind));
            match object {
                // Which lock it is says that it is one.
                Some(kind) if kind.words().contains(cause.words()) => line.name(kind.words()),
                Some(kind) => line.cause(cause).say(" (").name(kind.words()).say(")"),
                None => line.cause(cause),
            }
        }
    }
}

/// Kinds that say no more than their cause.
fn is_vague(kind: WaitKind) -> bool {
    use WaitKind::{Asleep, DirtyThrottle, FileSystemThaw, Io, KernelLock, OwnWork, WorkOfAnother};
    matches!(kind, Asleep | DirtyThrottle | FileSystemThaw | Io | KernelLock | OwnWork | WorkOfAnother)
}
