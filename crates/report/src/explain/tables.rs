//! Causes of all slow operations, by class, and culprits.

use std::collections::HashSet;
use std::fmt::Write as _;

use explain::blame::{Cause, CauseTime, Culprit, Evidence, Explanation, TaskId};
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use crate::number::share;
use crate::style::{Style, printable};
use crate::table::{push_heading, push_section, table};

/// Width of a bar of 100 %.
const BAR: usize = 20;
/// Causes in the table by operation class.
const COLUMNS: usize = 4;
/// Classes shown.
const CLASSES: usize = 8;
/// Culprits shown.
const CULPRITS: usize = 5;
/// Names of their victims shown.
const VICTIMS: usize = 3;

/// Causes with a smaller share are summed up in one row.
const LEAST: f64 = 0.005;

pub(super) fn causes(text: &mut String, explanation: &Explanation, style: Style) {
    let part = |time_ns: u64| time_ns as f64 / explanation.wall_ns.max(1) as f64;
    let mut rows = table(&["", "", "time", "share", "operations", "evidence"], 2);
    let (shown, others): (Vec<&CauseTime>, Vec<&CauseTime>) =
        explanation.causes.iter().partition(|time| part(time.time_ns) >= LEAST);
    for time in shown {
        rows.add_row([
            time.cause.words().to_owned(),
            bar(part(time.time_ns), style),
            Nanoseconds(time.time_ns).to_string(),
            share(part(time.time_ns)),
            grouped(time.operations),
            evidence(time),
        ]);
    }
    let rest_ns: u64 = others.iter().map(|time| time.time_ns).sum();
    if rest_ns > 0 {
        let name = counted(others.len() as u64, "other");
        rows.add_row([name, String::new(), Nanoseconds(rest_ns).to_string(), share(part(rest_ns))]);
    }
    push_section(text, "Where the time went", &rows, style);
}

/// A bar of up to [`BAR`] columns.
fn bar(part: f64, style: Style) -> String {
    let full = if style.unicode { "█" } else { "#" };
    full.repeat(((part * BAR as f64).round() as usize).min(BAR))
}

fn evidence(time: &CauseTime) -> String {
    let of = |evidence: Evidence| time.evidence.of(evidence) as f64 / time.time_ns.max(1) as f64;
    let words = [(Evidence::Event, "traced"), (Evidence::Stack, "stack"), (Evidence::Correlation, "aggregated")];
    let parts: Vec<String> = words
        .into_iter()
        .filter(|(evidence, _)| time.evidence.of(*evidence) > 0)
        .map(
            |(evidence, word)| {
                if of(evidence) == 1.0 { word.to_owned() } else { format!("{word} {}", share(of(evidence))) }
            },
        )
        .collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Nothing for a single class: the table of causes covers it.
pub(super) fn classes(text: &mut String, explanation: &Explanation, style: Style) {
    if explanation.classes.len() < 2 {
        return;
    }
    let columns: Vec<_> = explanation.causes.iter().map(|time| time.cause).take(COLUMNS).collect();
    let mut headings = vec!["", "slow", "time"];
    headings.extend(columns.iter().map(|&cause| cause.words()));
    let mut rows = table(&headings, 1);
    for class in explanation.classes.iter().take(CLASSES) {
        let mut row = vec![printable(&class.class), grouped(class.operations), Nanoseconds(class.wall_ns).to_string()];
        row.extend(columns.iter().map(|&cause| {
            let time_ns = class.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.time_ns);
            share(time_ns as f64 / class.wall_ns.max(1) as f64)
        }));
        rows.add_row(row);
    }
    let others = explanation.classes.get(CLASSES..).unwrap_or_default();
    if !others.is_empty() {
        let slow: u64 = others.iter().map(|class| class.operations).sum();
        let wall_ns: u64 = others.iter().map(|class| class.wall_ns).sum();
        rows.add_row([counted(others.len() as u64, "other"), grouped(slow), Nanoseconds(wall_ns).to_string()]);
    }
    push_section(text, "By operation", &rows, style);
}

/// In the order of the document: the largest is never hidden.
pub(super) fn culprits(text: &mut String, explanation: &Explanation, style: Style) {
    if explanation.culprits.is_empty() {
        return;
    }
    push_heading(text, "Root blockers", style);
    for culprit in explanation.culprits.iter().take(CULPRITS) {
        let time = Nanoseconds(culprit.time_ns).to_string();
        let _ = writeln!(text, " {time:>9}  {:<24}  {}{}", culprit.cause.words(), blocker(culprit), delayed(culprit));
    }
}

/// A root blocker in words.
pub(super) fn blocker(culprit: &Culprit) -> String {
    let mut parts = Vec::new();
    parts.extend(culprit.task.as_ref().map(|task| match &task.name {
        Some(name) if culprit.tasks > 1 => format!("{} {} tasks", grouped(culprit.tasks), printable(name)),
        _ => printable(&task.to_string()),
    }));
    parts.extend(culprit.role.as_ref().map(|role| format!("({})", printable(role))));
    parts.extend(culprit.started_by.as_ref().map(|starter| format!("(started by {})", printable(starter))));
    parts.extend(culprit.through.as_ref().map(|through| format!("(through {})", printable(&through.to_string()))));
    let cgroup = culprit.cgroup.as_deref().filter(|cgroup| *cgroup != "/");
    let place = |cgroup: &str| culprit.container.clone().unwrap_or_else(|| last_name(cgroup));
    parts.extend(cgroup.map(|cgroup| format!("of {}", printable(&place(cgroup)))));
    if culprit.evicts {
        parts.push("(filled the memory)".to_owned());
    }
    let name = culprit.device_name.as_deref().map(printable).or_else(|| Some(culprit.device?.to_string()));
    parts.extend(name.map(|name| format!("on {name}")));
    parts.extend(culprit.file_system.as_ref().map(|name| format!("({})", printable(name))));
    if culprit.task.is_none() && culprit.device.is_none() {
        let is_frozen = culprit.cause == Cause::Stopped && cgroup.is_some();
        parts.insert(0, if is_frozen { "the freezer" } else { "unknown" }.to_owned());
    }
    parts.join(" ")
}

/// Whose time it cost: the processes that lost the most; nothing where the culprit is unknown.
fn delayed(culprit: &Culprit) -> String {
    if culprit.task.is_none() || culprit.victims.is_empty() {
        return String::new();
    }
    let at_once = match culprit.at_once {
        0 => String::new(),
        tasks => format!(" ({} tasks at once)", grouped(tasks)),
    };
    if culprit.own_ns == culprit.time_ns {
        return format!(": itself{at_once}");
    }
    let is_other = |task: &&TaskId| culprit.tasks > 1 || culprit.task.as_ref() != Some(task);
    let mut names: Vec<String> = culprit.victims.iter().map(|(task, _)| task).filter(is_other).map(name).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.truncate(VICTIMS);
    format!(": delayed {}{at_once}", names.join(", "))
}

fn name(task: &TaskId) -> String {
    printable(task.name.as_deref().unwrap_or("unknown"))
}

/// `/box` as it is, `/a/b/box` as `.../box`.
fn last_name(cgroup: &str) -> String {
    match cgroup.rsplit_once('/') {
        Some((above, name)) if !above.is_empty() && !name.is_empty() => format!(".../{name}"),
        _ => cgroup.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn a_deep_cgroup_is_shown_by_its_last_name() {
        for (cgroup, expected) in [("/box", "/box"), ("/a/b/box", ".../box"), ("/", "/"), ("", ""), ("/a/", "/a/")] {
            assert_eq!(last_name(cgroup), expected);
        }
    }
}
