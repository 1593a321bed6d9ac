//! An explanation as text: where the time of slow operations went, who is to blame, and the worst stalls individually.

mod breakdown;
mod convoys;
mod rules;
mod scope;
mod short_waits;
mod sleeps;
mod stalls;
mod tables;
mod user_stack;
mod whatif;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use explain::blame::{Cause, Explanation, Losses, Stall};
use model::container::Containers;
use model::lost::noun;
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use crate::answer::Answer;
use crate::number::share;
use crate::style::{Style, printable};
pub use rules::rules;
pub(crate) use scope::scope;
pub use scope::scope_words;
pub(crate) use stalls::cgroup_words;
pub(crate) use whatif::ASSUMPTIONS;
pub use whatif::ranking;

/// Stalls shown individually by default.
pub const STALLS_SHOWN: usize = 5;

/// The whole explanation: the answer, then the evidence, with the worst `limit` stalls.
pub fn text(run: &str, explanation: &Explanation, answer: &Answer, limit: usize, style: Style) -> String {
    let mut text = String::new();
    if let Some(origin) = &explanation.simulated {
        let _ = writeln!(text, "{}", style.remark(&crate::simulation::badge(origin)));
    }
    text.push_str(&crate::answer::text(answer, Some(run), style));
    headline(&mut text, run, explanation, style);
    scope::present(&mut text, explanation);
    if explanation.slow_operations > 0 {
        let main = main_part(explanation);
        tables::causes(&mut text, &main, style);
        tables::classes(&mut text, &main, style);
        breakdown::of_command(&mut text, explanation, style);
        tables::culprits(&mut text, &main, style);
        breakdown::neighbours(&mut text, explanation, style);
        convoys::convoys(&mut text, explanation, style);
        stalls::stalls(&mut text, explanation, limit, style);
    }
    sleeps::sleeps(&mut text, explanation, style);
    short_waits::short_waits(&mut text, explanation, style);
    cautions(&mut text, explanation, style);
    text
}

/// One stall: how long it took, its causes, its chain.
pub(crate) fn one_stall(stall: &Stall, containers: &Containers, style: Style) -> String {
    let mut text = String::new();
    stalls::one(&mut text, stall, containers, style);
    text
}

/// The tables of causes and classes.
pub(crate) fn tables(text: &mut String, explanation: &Explanation, style: Style) {
    let main = main_part(explanation);
    tables::causes(text, &main, style);
    tables::classes(text, &main, style);
}

/// What limits the confidence in the figures of one node.
pub(crate) fn cautions_of(explanation: &Explanation, style: Style) -> String {
    let mut text = String::new();
    cautions(&mut text, explanation, style);
    text
}

/// The lines printed when a run ends: the answer, and the commands for more.
pub fn brief(run: &str, explanation: &Explanation, answer: &Answer, style: Style) -> String {
    let mut text = String::from("\n");
    scope(&mut text, explanation, style);
    text.push_str(&crate::answer::text(answer, Some(run), style));
    text
}

/// What the tables are about.
fn headline(text: &mut String, run: &str, explanation: &Explanation, style: Style) {
    let threshold = Nanoseconds(explanation.slower_than_ns);
    let about = format!("{}: operations of at least {threshold}", printable(run));
    let _ = writeln!(text, "\n{}", style.faint(&about));
    if let Some(asked_for_ns) = explanation.asked_for_ns {
        let asked_for = Nanoseconds(asked_for_ns);
        let line = format!(
            "operations between {asked_for} and {threshold} were not recorded; record with --slower-than {asked_for}"
        );
        let _ = writeln!(text, "{}", style.remark(&line));
    }
    scope(text, explanation, style);
}

/// The part that the tables show: the recorded command's where its neighbours are shown apart.
fn main_part(explanation: &Explanation) -> Explanation {
    let all = Explanation { stalls: Vec::new(), ..explanation.clone() };
    match &explanation.command {
        Some(command) if breakdown::is_apart(explanation) => {
            let command = command.clone();
            let (slow_operations, wall_ns) = (command.operations, command.wall_ns);
            let (causes, classes, culprits) = (command.causes, command.classes, command.culprits);
            Explanation { slow_operations, wall_ns, causes, classes, culprits, ..all }
        }
        _ => all,
    }
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
    // Those that follow each other for one reason: an early kernel lacks many.
    for group in losses.missing.chunk_by(|a, b| (&a.1, &a.2) == (&b.1, &b.2)) {
        let what: Vec<String> = group.iter().map(|(what, ..)| printable(what)).collect();
        let (_, why, remedy) = &group[0];
        let why = why.as_deref().map_or_else(|| "missing".to_owned(), printable);
        let remedy = remedy.as_deref().map_or_else(String::new, |remedy| format!(" ({})", printable(remedy)));
        let _ = writeln!(text, " {}", style.faint(&format!("without {}: {why}{remedy}", what.join(", "))));
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
    let lost = lost.map(|(what, count)| {
        let what = printable(&noun(*count, what));
        format!("{} {what} lost: shares may be too small", grouped(*count))
    });
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
        let counts = if losses.parts > 0 { "the run is damaged" } else { "their time counts as device time" };
        lines.push(format!("the requests of {waits} are not in the run: {counts}"));
    }
    if explanation.outside > 0 {
        let slow = counted(explanation.outside, "slow operation");
        lines.push(format!("{slow} ended outside the measurement window; excluded"));
    }
    lines
}
