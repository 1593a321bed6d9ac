//! The explanation in few sentences.

use explain::blame::{Cause, CauseTime, Explanation, Part};
use model::preflight::Subject;
use model::quantity::Nanoseconds;

use crate::number::{counted, grouped, share};
use crate::style::printable;

/// What a recording of nobody in particular does not see: both sides of a server that hangs look idle.
const ASLEEP: &str = " A program that slept all along is among them only where what it waits for is stopped or stuck.";

/// What was slow, and why; the recorded command first, its neighbours apart.
pub(super) fn sentence(explanation: &Explanation) -> String {
    if explanation.slow_operations == 0 {
        return nothing(explanation);
    }
    let (Some(command), Some(others)) = (&explanation.command, &explanation.neighbours) else {
        return took(&operations(explanation), explanation.wall_ns, &explanation.causes);
    };
    let of_others = of_others(others);
    if command.operations == 0 {
        return format!("No operation of {} was that slow. {of_others}", whose(explanation));
    }
    format!("{} {of_others}", took(&of_command(explanation, command), command.wall_ns, &command.causes))
}

/// `Of other programs, 3 operations took 1.00 s together: ...`
pub(super) fn of_others(others: &Part) -> String {
    let operations = counted(others.operations, "operation");
    format!("Of other programs, {}", took(&operations, others.wall_ns, &others.causes))
}

fn nothing(explanation: &Explanation) -> String {
    let of_all = explanation.operations.map_or_else(String::new, |all| format!(" of {}", grouped(all)));
    let in_scope = if explanation.scoped.is_some() { " in scope" } else { "" };
    let slowest = explanation.slowest.as_ref().map_or_else(String::new, |(class, ns)| {
        format!("; the slowest was a {} of {}", printable(class), Nanoseconds(*ns))
    });
    if explanation.losses.parts > 0 {
        return format!("None of the operations{of_all}{in_scope} that can still be read was that slow{slowest}.");
    }
    if explanation.untraced.iter().any(|untraced| untraced.subject == Subject::Operations) {
        return "No task was found blocked for that long by a poll.".to_owned();
    }
    let nobody = explanation.command.is_none() && explanation.operations.is_none();
    let asleep = if nobody { ASLEEP } else { "" };
    format!("No operation{of_all}{in_scope} was that slow{slowest}.{asleep}")
}

/// `12 operations took 3.00 s together: 80 % device, 20 % running, 0 % unexplained.`
fn took(subject: &str, wall_ns: u64, causes: &[CauseTime]) -> String {
    let part = |time_ns: u64| time_ns as f64 / wall_ns.max(1) as f64;
    let mut parts: Vec<String> = Vec::new();
    for time in causes.iter().filter(|time| time.cause != Cause::Unexplained).take(3) {
        let percent = part(time.time_ns);
        if percent >= 0.05 || parts.is_empty() {
            parts.push(format!("{} {}", share(percent), time.cause.words()));
        }
    }
    let unexplained = causes.iter().find(|time| time.cause == Cause::Unexplained);
    parts.push(format!("{} unexplained", share(part(unexplained.map_or(0, |time| time.time_ns)))));
    format!("{subject} took {} together: {}.", Nanoseconds(wall_ns), parts.join(", "))
}

fn whose(explanation: &Explanation) -> &'static str {
    if explanation.operations.is_some() { "the load" } else { "the recorded command" }
}

/// `12 of 4,000 operations and 3 of other programs`. A recording without a load has operations of other programs only.
fn operations(explanation: &Explanation) -> String {
    let (all, others) = (explanation.slow_operations, explanation.others);
    let Some(finished) = explanation.operations.filter(|_| all > others) else {
        return counted(all, "operation");
    };
    let own = format!("{} of {}", grouped(all - others), counted(finished, "operation"));
    if others > 0 { format!("{own} and {} of other programs", grouped(others)) } else { own }
}

/// The same of the recorded command alone, which has neighbours.
fn of_command(explanation: &Explanation, command: &Part) -> String {
    let own = explanation.slow_operations.saturating_sub(explanation.others);
    match explanation.operations.filter(|_| own == command.operations) {
        Some(finished) => format!("{} of {}", grouped(own), counted(finished, "operation")),
        None => format!("{} of {}", counted(command.operations, "operation"), whose(explanation)),
    }
}
