//! An answer as lines of a terminal.

use super::command;
use super::content::{Answer, Verdict};
use super::line::Line;
use crate::style::{Style, columns, printable};

/// Columns of the labels.
const INDENT: usize = 11;
/// Columns in which no line breaks.
const UNWRAPPED: usize = 1 << 16;
/// Stalls that the next command shows.
const WORST: usize = 20;
/// Blanks before a label.
const MARGIN: &str = "  ";

/// The answer, what of the machine it leaves out under a heading of its own, and what to type next: `run` is the run's
/// directory, if it has one.
pub fn text(answer: &Answer, run: Option<&str>, style: Style) -> String {
    let columns = columns(style);
    let mut lines: Vec<String> = answer.headline.wrapped(columns).iter().map(|line| style.heading(line)).collect();
    lines.push(String::new());
    lines.extend(body(answer, columns, style));
    if let Some(run) = run {
        lines.push(String::new());
        lines.extend(entry("next", &next(answer, run), columns, style));
    }
    if let Some(machine) = &answer.machine {
        lines.push(String::new());
        lines.push(style.heading("Whole machine"));
        let whole = machine.headline.wrapped(columns - MARGIN.len());
        lines.extend(whole.iter().map(|line| format!("{MARGIN}{line}")));
        lines.extend(labelled("who", &machine.who[..machine.who.len().min(1)], columns, style));
        lines.extend(labelled("blocker", &machine.blocker[..machine.blocker.len().min(1)], columns, style));
    }
    lines.into_iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The same without colours and without what comes next, for a screen that has room for so many lines: where they are
/// too few for all, the begin of each label's lines.
pub fn lines(answer: &Answer, style: Style, most: usize) -> Vec<String> {
    let plain = Style { color: false, ..style };
    let mut lines = answer.headline.wrapped(style.width);
    let body_of = |columns: usize| body(answer, columns, plain);
    let whole = body_of(style.width);
    if lines.len() + whole.len() <= most {
        lines.extend(whole);
        return lines;
    }
    let is_labelled = |line: &String| !line[MARGIN.len()..].starts_with(' ');
    let begins = body_of(UNWRAPPED).into_iter().filter(is_labelled).map(|line| cut(line, style));
    lines.extend(begins);
    lines.truncate(most);
    lines
}

/// A line that fits the screen.
fn cut(line: String, style: Style) -> String {
    if line.chars().count() <= style.width {
        return line;
    }
    let mark = if style.unicode { '…' } else { '~' };
    line.chars().take(style.width.saturating_sub(1)).chain([mark]).collect()
}

fn body(answer: &Answer, columns: usize, style: Style) -> Vec<String> {
    let sure = labelled("sure", &answer.sure, columns, style);
    let (first, last) = if answer.sure_first { (sure, Vec::new()) } else { (Vec::new(), sure) };
    let middle = [
        labelled("who", &answer.who, columns, style),
        labelled("why", &answer.why, columns, style),
        labelled("blocker", &answer.blocker, columns, style),
        fix(answer, columns, style),
    ];
    first.into_iter().chain(middle.into_iter().flatten()).chain(last).collect()
}

fn fix(answer: &Answer, columns: usize, style: Style) -> Vec<String> {
    let room = columns - INDENT;
    let wrapped = |line: &Line| line.wrapped(room);
    let texts: Vec<String> = answer.fix.lines.iter().flat_map(wrapped).collect();
    let mut lines = entry("fix", &texts, columns, style);
    lines.extend(answer.fix.command.iter().flat_map(|command| typed(&printable(command), columns, style)));
    let predicted: Vec<String> = answer.fix.predicted.iter().flat_map(|one| wrapped(&one.line())).collect();
    lines.extend(entry("", &predicted, columns, style));
    lines
}

/// A command, from the first column on where a word of it has no room behind the labels: blanks before the rest of a
/// word would end it.
fn typed(command: &str, columns: usize, style: Style) -> Vec<String> {
    let indented = command::wrapped(command, columns - INDENT);
    let breaks_words = indented.iter().any(|line| line.ends_with('\\') && !line.ends_with(" \\"));
    if breaks_words { command::wrapped(command, columns) } else { entry("", &indented, columns, style) }
}

/// Lines behind their label; nothing without lines.
fn labelled(label: &str, lines: &[Line], columns: usize, style: Style) -> Vec<String> {
    let texts: Vec<String> = lines.iter().flat_map(|line| line.wrapped(columns - INDENT)).collect();
    entry(label, &texts, columns, style)
}

fn entry(label: &str, texts: &[String], columns: usize, style: Style) -> Vec<String> {
    debug_assert!(columns > INDENT);
    let one = |(at, text): (usize, &String)| {
        let label = if at == 0 { label } else { "" };
        let begin = format!("{MARGIN}{label:<width$}", width = INDENT - MARGIN.len());
        format!("{}{text}", style.faint(&begin))
    };
    texts.iter().enumerate().map(one).collect()
}

/// The commands that go on from here.
fn next(answer: &Answer, run: &str) -> Vec<String> {
    let run = printable(run);
    let first = match answer.verdict {
        Verdict::Quiet => format!("stallscope show {run}"),
        _ if answer.fix.is_live => format!("stallscope trial --from {run} --dry-run"),
        _ if answer.fix.predicted.is_some() => format!("stallscope explain {run} --what-if"),
        _ => format!("stallscope explain {run} --worst {WORST}"),
    };
    vec![first, format!("stallscope report {run} -o report.html")]
}
