//! The slowest operation of a moment, and why, in one line.

use explain::blame::{STOPPED, Stall};
use explain::snapshot::{Snapshot, Stuck};
use model::quantity::Nanoseconds;

use crate::number::share;
use crate::style::printable;

/// The slowest operation of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowestNow {
    /// What it is, and why it is slow.
    pub text: String,
    /// How long it took, or has taken so far.
    pub lasts_ns: u64,
}

/// The operation that lasts or lasted longest, of the recorded command if it has one; `None` where none was slow.
pub fn slowest(snapshot: &Snapshot) -> Option<SlowestNow> {
    let is_own = |stall: &Stall| stall.of_command == Some(true);
    let known = snapshot.explanation.stalls.iter().zip(&snapshot.whole);
    let known = known.max_by_key(|(stall, (_, duration_ns))| (is_own(stall), *duration_ns));
    let stuck = snapshot.stuck.first();
    match (known, stuck) {
        (Some((stall, (_, duration_ns))), stuck)
            if is_own(stall) || stuck.is_none_or(|stuck| stuck.lasts_ns <= *duration_ns) =>
        {
            Some(SlowestNow { text: of_stall(stall, *duration_ns), lasts_ns: *duration_ns })
        }
        (_, Some(stuck)) => {
            let text = of_stuck(stuck, known.map(|(stall, _)| stall));
            Some(SlowestNow { text, lasts_ns: stuck.lasts_ns })
        }
        _ => None,
    }
}

fn of_stall(stall: &Stall, duration_ns: u64) -> String {
    let of = stall.path.as_ref().map_or_else(String::new, |path| format!(" of {path}"));
    let so_far = if stall.finished { "" } else { " so far" };
    let by = if stall.operation == STOPPED { "a stop of".to_owned() } else { format!("{} by", stall.operation) };
    let what = format!("{by} {}{of}, {}{so_far}", stall.task, Nanoseconds(duration_ns));
    printable(&format!("slowest now: {what}{}", why(stall)))
}

/// Its main cause, and the last task of its chain.
fn why(stall: &Stall) -> String {
    let Some(main) = stall.causes.first() else { return String::new() };
    let part = share(main.time_ns as f64 / stall.duration_ns.max(1) as f64);
    let last = stall.chain.last().and_then(|link| link.task.as_ref()).filter(|task| **task != stall.task);
    let by = last.map_or_else(String::new, |task| format!(", through {task}"));
    format!(": {part} {}{by}", main.cause.words())
}

/// A task that is stuck: of its wait only the place is known, unless it is already explained.
fn of_stuck(stuck: &Stuck, explained: Option<&Stall>) -> String {
    let of = stuck.path.as_ref().map_or_else(String::new, |path| format!(" of {path}"));
    let call = stuck.operation.as_deref().unwrap_or("wait");
    let known = explained.filter(|stall| stall.task.tid == stuck.task.tid).map(why);
    let place = || stuck.frames.iter().find(|frame| !frame.contains("schedule")).map(|frame| format!(": in {frame}"));
    let why = known.or_else(place).unwrap_or_default();
    printable(&format!("slowest now: {call} by {}{of}, {} so far{why}", stuck.task, Nanoseconds(stuck.lasts_ns)))
}
