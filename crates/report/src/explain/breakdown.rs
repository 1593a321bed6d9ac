//! Who lost the time: tables by process and by cgroup, those of the recorded command apart from its neighbours.

use explain::blame::{Explanation, VictimGroup};
use model::container::Containers;
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use super::tables::blocker;
use crate::number::share;
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// Rows of a table.
const SHOWN: usize = 8;

/// Tables of the recorded command, or of all where none was recorded. A single row would repeat the sum of all.
pub(super) fn of_command(text: &mut String, explanation: &Explanation, style: Style) {
    let is_one = |group: &&VictimGroup| !is_neighbour(group) || !is_apart(explanation);
    section(
        text,
        "By process",
        (explanation.processes.iter().filter(is_one).collect(), &explanation.containers),
        2,
        style,
    );
    section(
        text,
        "By cgroup",
        (explanation.cgroups.iter().filter(is_one).collect(), &explanation.containers),
        2,
        style,
    );
}

/// Tables of the programs beside the recorded command.
pub(super) fn neighbours(text: &mut String, explanation: &Explanation, style: Style) {
    if !is_apart(explanation) {
        return;
    }
    let neighbours = |groups: &'_ [VictimGroup]| groups.iter().filter(|group| is_neighbour(group)).cloned().collect();
    let (processes, cgroups): (Vec<VictimGroup>, Vec<VictimGroup>) =
        (neighbours(&explanation.processes), neighbours(&explanation.cgroups));
    section(text, "Neighbours by process", (processes.iter().collect(), &explanation.containers), 1, style);
    section(text, "Neighbours by cgroup", (cgroups.iter().collect(), &explanation.containers), 2, style);
}

fn is_neighbour(group: &VictimGroup) -> bool {
    group.of_command == Some(false)
}

/// Whether the recorded command and its neighbours are shown apart.
pub(super) fn is_apart(explanation: &Explanation) -> bool {
    explanation.neighbours.is_some() && explanation.command.as_ref().is_some_and(|command| command.operations > 0)
}

fn section(
    text: &mut String,
    title: &str,
    (groups, containers): (Vec<&VictimGroup>, &Containers),
    least: usize,
    style: Style,
) {
    if groups.len() < least {
        return;
    }
    let mut rows = table(&["", "slow", "time", "lost", "mostly", "root blocker of this"], 1);
    for column in rows.column_iter_mut().skip(4) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for group in groups.iter().take(SHOWN) {
        let part = group.cause_ns as f64 / group.lost_ns.max(1) as f64;
        rows.add_row([
            name(group, containers),
            grouped(group.operations),
            Nanoseconds(group.wall_ns).to_string(),
            Nanoseconds(group.lost_ns).to_string(),
            group.cause.map_or_else(String::new, |cause| format!("{} {}", share(part), cause.words())),
            group.culprit.as_ref().map_or_else(|| "-".to_owned(), blocker),
        ]);
    }
    let more = groups.get(SHOWN..).unwrap_or_default();
    if !more.is_empty() {
        let sum = |of: fn(&VictimGroup) -> u64| more.iter().fold(0_u64, |sum, group| sum.saturating_add(of(group)));
        rows.add_row([
            counted(more.len() as u64, "other"),
            grouped(sum(|group| group.operations)),
            Nanoseconds(sum(|group| group.wall_ns)).to_string(),
            Nanoseconds(sum(|group| group.lost_ns)).to_string(),
        ]);
    }
    push_section(text, title, &rows, style);
}

/// `fio/12`, `15 postgres`, a cgroup.
fn name(group: &VictimGroup, containers: &Containers) -> String {
    let Some(name) = &group.name else { return "unknown".to_owned() };
    if let Some(words) = containers.words(name) {
        return printable(&words);
    }
    let name = printable(name);
    match group.pid {
        _ if name.starts_with('/') => name,
        Some(pid) => format!("{name}/{pid}"),
        None => format!("{} {name}", grouped(group.processes)),
    }
}
