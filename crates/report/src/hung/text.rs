//! A dump as text: the likely root first.

use std::fmt::Write as _;

use hung::{Class, Root};
use model::quantity::{counted, verb};

use super::HungFindings;
use crate::style::{Style, printable};
use crate::table::{push_heading, push_section, table};

/// Rows of each table, names in a row, and roots.
const GROUPS: usize = 12;
const NAMES: usize = 4;
const ROOTS: usize = 3;
/// Functions of a stack that are shown.
const FRAMES: usize = 5;

/// The findings.
pub fn text(findings: &HungFindings<'_>, style: Style) -> String {
    let mut text = String::new();
    summary(&mut text, findings, style);
    roots(&mut text, findings, style);
    groups(&mut text, findings, style);
    signs(&mut text, findings, style);
    push_heading(&mut text, "Collect next", style);
    for line in findings.advice {
        let _ = writeln!(text, " - {line}");
    }
    text
}

fn summary(text: &mut String, findings: &HungFindings<'_>, style: Style) {
    let (dump, analysis) = (findings.dump, findings.analysis);
    let mut line = counted(analysis.blocked.len() as u64, "blocked task");
    let others = dump.tasks.len() - analysis.blocked.len();
    if others > 0 {
        let _ = write!(line, ", {} that run, idle or wait for other programs", counted(others as u64, "task"));
    }
    let longest = analysis.blocked.iter().filter_map(|blocked| dump.tasks[blocked.task].blocked_s).max();
    if let Some(seconds) = longest {
        let _ = write!(line, "; blocked for at least {seconds} s");
    }
    if let Some(kernel) = &dump.kernel {
        let _ = write!(line, "; kernel {}", printable(kernel));
    }
    let _ = writeln!(text, "{}", style.heading(&line));
    if dump.more_tasks > 0 {
        let left_out = counted(dump.more_tasks, "more task");
        let _ = writeln!(text, "{}", style.remark(&format!("{left_out} left out: the dump is too large")));
    }
}

fn roots(text: &mut String, findings: &HungFindings<'_>, style: Style) {
    push_heading(text, "Likely root", style);
    if findings.analysis.roots.is_empty() {
        let _ = writeln!(text, " none: no stack in the dump shows a wait");
    }
    for (at, root) in findings.analysis.roots.iter().take(ROOTS).enumerate() {
        let line = format!(" {}: {}", words(root.class), printable(&root.what));
        let _ = writeln!(text, "{}", if at == 0 { style.bad(&line) } else { line });
        let _ = writeln!(text, "   {}", waiters(findings, root));
        if let Some(first) = root.tasks.first().filter(|_| at == 0) {
            let blocked = &findings.analysis.blocked[*first];
            let frames = &findings.dump.tasks[blocked.task].frames;
            let begin = frames.iter().position(|frame| *frame == blocked.wait.function).unwrap_or(0);
            let shown: Vec<String> = frames.iter().skip(begin).take(FRAMES).map(|frame| printable(frame)).collect();
            let _ = writeln!(text, "   {}", style.faint(&shown.join(" < ")));
        }
    }
}

fn waiters(findings: &HungFindings<'_>, root: &Root) -> String {
    let mut line = match root.tasks.len() {
        0 => "no stack shows it".to_owned(),
        many => format!("{} {} there", names(findings, &root.tasks), verb(many as u64, "waits", "wait")),
    };
    if root.behind > 0 {
        let _ = write!(line, ", {} behind", counted(root.behind as u64, "more task"));
    }
    line
}

fn names(findings: &HungFindings<'_>, tasks: &[usize]) -> String {
    let named: Vec<String> = tasks.iter().take(NAMES).map(|at| findings.title(*at)).collect();
    let more = tasks.len().saturating_sub(NAMES);
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

fn groups(text: &mut String, findings: &HungFindings<'_>, style: Style) {
    let groups = &findings.analysis.groups;
    if groups.is_empty() {
        return;
    }
    let mut rows = table(&["tasks", "where", "wait for", "behind", "who"], 99);
    for group in groups.iter().take(GROUPS) {
        let reclaim = if group.wait.in_reclaim { ", in memory reclaim" } else { "" };
        rows.add_row([
            group.members.len().to_string(),
            words(group.wait.class).to_owned(),
            printable(&group.wait.what) + reclaim,
            group.behind.as_deref().map_or_else(|| "-".to_owned(), printable),
            names(findings, &group.members),
        ]);
    }
    push_section(text, "Who waits for what", &rows, style);
    if groups.len() > GROUPS {
        let more = counted((groups.len() - GROUPS) as u64, "more group");
        let _ = writeln!(text, " and {more}; --json has them");
    }
}

fn signs(text: &mut String, findings: &HungFindings<'_>, style: Style) {
    if findings.dump.signs.is_empty() {
        return;
    }
    push_heading(text, "The log also has", style);
    for sign in &findings.dump.signs {
        let times = counted(sign.count, "message");
        let _ = writeln!(text, " {} ({times}): {}", sign.of, printable(&sign.text));
    }
}

fn words(class: Class) -> &'static str {
    match class {
        Class::Device => "device or transport",
        Class::Server => "server",
        Class::Program => "serving program",
        Class::Memory => "memory",
        Class::Halted => "frozen",
        Class::Throttled => "throttled",
        Class::FileSystem => "file system",
        Class::Lock => "lock",
        Class::Other => "other",
        Class::Unknown => "unknown",
    }
}
