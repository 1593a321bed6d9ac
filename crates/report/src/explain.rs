//! An explanation as text: where the time of slow operations went, who is to blame, and the worst stalls individually.

mod stalls;
mod tables;
mod wording;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use explain::blame::{Cause, Explanation, Losses, Stall};
use model::quantity::Nanoseconds;

use crate::number::{counted, grouped, share};
use crate::style::{Style, printable};
pub use wording::words;

/// Stalls shown individually by default.
pub const STALLS_SHOWN: usize = 5;

/// The whole explanation, with the worst `limit` stalls.
pub fn text(run: &str, explanation: &Explanation, limit: usize, style: Style) -> String {
    let mut text = String::new();
    headline(&mut text, run, explanation, style);
    if explanation.slow_operations > 0 {
        tables::causes(&mut text, explanation, style);
        tables::classes(&mut text, explanation, style);
        tables::culprits(&mut text, explanation, style);
        stalls::stalls(&mut text, explanation, limit, style);
    }
    cautions(&mut text, explanation, style);
    text
}

/// One stall: how long it took, its causes, its chain.
pub(crate) fn one_stall(stall: &Stall, style: Style) -> String {
    let mut text = String::new();
    stalls::one(&mut text, stall, style);
    text
}

/// The lines printed when a run ends: the causes in one sentence, the worst stall, and the command for more.
pub fn brief(run: &str, explanation: &Explanation, style: Style) -> String {
    let threshold = Nanoseconds(explanation.slower_than_ns);
    let mut text = format!("\n{}\n", style.heading(&format!("Why operations took longer than {threshold}")));
    let _ = writeln!(text, " {}", sentence(explanation));
    stalls::worst(&mut text, explanation, style);
    let losses = &explanation.losses;
    if losses.any() {
        let _ = writeln!(
            text,
            " {}",
            style.remark("the recording is incomplete; the full explanation lists what is missing")
        );
    }
    if explanation.slow_operations > 0 {
        let _ = writeln!(text, " {}", style.faint(&format!("more: stallscope explain {}", printable(run))));
    }
    text
}

fn headline(text: &mut String, run: &str, explanation: &Explanation, style: Style) {
    let threshold = Nanoseconds(explanation.slower_than_ns);
    let _ = writeln!(text, "{}", style.heading(&format!("Why operations took longer than {threshold}")));
    if let Some(origin) = &explanation.simulated {
        let _ = writeln!(text, "{}", style.remark(&crate::simulation::badge(origin)));
    }
    let _ = writeln!(text, "{}", style.faint(&printable(run)));
    if let Some(asked_for_ns) = explanation.asked_for_ns {
        let asked_for = Nanoseconds(asked_for_ns);
        let line = format!(
            "operations between {asked_for} and {threshold} were not recorded; record with --slower-than {asked_for}"
        );
        let _ = writeln!(text, "{}", style.remark(&line));
    }
    let _ = writeln!(text, "\n {}", sentence(explanation));
}

/// The whole explanation in one sentence.
fn sentence(explanation: &Explanation) -> String {
    let of_all = explanation.operations.map_or_else(String::new, |all| format!(" of {}", grouped(all)));
    if explanation.slow_operations == 0 {
        let slowest = explanation.slowest.as_ref().map_or_else(String::new, |(class, ns)| {
            format!("; the slowest was a {} of {}", printable(class), Nanoseconds(*ns))
        });
        return format!("No operation{of_all} was that slow{slowest}.");
    }
    let mut parts: Vec<String> = Vec::new();
    for time in explanation.causes.iter().filter(|time| time.cause != Cause::Unexplained).take(3) {
        let percent = time.time_ns as f64 / explanation.wall_ns.max(1) as f64;
        if percent >= 0.05 || parts.is_empty() {
            parts.push(format!("{} {}", share(percent), words(time.cause)));
        }
    }
    let unexplained = explanation.share(Cause::Unexplained).unwrap_or(0.0);
    parts.push(format!("{} unexplained", share(unexplained)));
    format!("{} took {} together: {}.", who(explanation), Nanoseconds(explanation.wall_ns), parts.join(", "))
}

/// `12 of 4,000 operations and 3 of other programs`. A recording without a load has operations of other programs only.
fn who(explanation: &Explanation) -> String {
    let (all, others) = (explanation.slow_operations, explanation.others);
    let Some(finished) = explanation.operations.filter(|_| all > others) else {
        return counted(all, "operation");
    };
    let own = format!("{} of {}", grouped(all - others), counted(finished, "operation"));
    if others > 0 { format!("{own} and {} of other programs", grouped(others)) } else { own }
}

/// Share of unexplained time above which a remark is printed.
const MUCH: f64 = 0.1;

/// What limits the confidence in the figures.
fn cautions(text: &mut String, explanation: &Explanation, style: Style) {
    let losses = &explanation.losses;
    let lines = [confidence(explanation), lost(losses), excluded(explanation)].concat();
    if !lines.is_empty() || !losses.missing.is_empty() {
        text.push('\n');
    }
    for line in lines {
        let _ = writeln!(text, " {}", style.remark(&line));
    }
    for (what, why, remedy) in &losses.missing {
        let why = why.as_deref().map_or_else(|| "missing".to_owned(), printable);
        let remedy = remedy.as_deref().map_or_else(String::new, |remedy| format!(" ({})", printable(remedy)));
        let _ = writeln!(text, " {}", style.faint(&format!("without {}: {why}{remedy}", printable(what))));
    }
}

fn confidence(explanation: &Explanation) -> Vec<String> {
    let unexplained = explanation.share(Cause::Unexplained).unwrap_or(0.0);
    if explanation.trace.is_none() {
        let line = "the kernel was not traced: only tasks found blocked by a poll are explained; record as root, \
                    without --no-trace; 'stallscope doctor' lists what is missing";
        return vec![line.to_owned()];
    }
    if unexplained < MUCH {
        return Vec::new();
    }
    vec![format!("{} is unexplained; 'stalls' of --json has the stacks", share(unexplained))]
}

fn lost(losses: &Losses) -> Vec<String> {
    let lost = losses.lost.iter();
    let lost =
        lost.map(|(what, count)| format!("{} {} lost: shares may be too small", grouped(*count), printable(what)));
    let tables = losses.tables.iter();
    let tables = tables.map(|(table, why)| format!("table '{}' was abandoned: {}", printable(table), printable(why)));
    lost.chain(tables).collect()
}

fn excluded(explanation: &Explanation) -> Vec<String> {
    let losses = &explanation.losses;
    let mut lines = Vec::new();
    if losses.damaged > 0 {
        lines.push(format!("{} with impossible timestamps; excluded", counted(losses.damaged, "row")));
    }
    if losses.unknown_requests > 0 {
        let waits = counted(losses.unknown_requests, "wait");
        lines.push(format!("the requests of {waits} are not in the run: their time counts as device time"));
    }
    if explanation.outside > 0 {
        let slow = counted(explanation.outside, "slow operation");
        lines.push(format!("{slow} ended outside the measurement window; excluded"));
    }
    lines
}
