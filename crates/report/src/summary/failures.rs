//! Failed operations: error, count, and the first failure.

use std::fmt::Write as _;

use explain::summary::{FailureCount, Summary};
use model::event::Member;
use model::operation::OperationRecord;
use model::quantity::grouped;

use super::path::below;
use crate::style::{Style, printable};
use crate::table::{push_heading, push_table, table};

/// The failed operations by kind; nothing if none failed. `node_of` is the node of a job's thread, in a set.
pub(crate) fn failures(
    text: &mut String,
    summary: &Summary,
    node_of: impl Fn(&Member) -> Option<String>,
    style: Style,
) {
    if summary.failures.is_empty() {
        return;
    }
    push_heading(text, "Failed operations", style);
    let mut failures = table(&["", "count", "error", "files", "first"], 1);
    for column in failures.column_iter_mut().skip(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for failure in &summary.failures {
        let outside = if failure.measured { "" } else { " (not measured)" };
        let at_least = if failure.at_least { "at least " } else { "" };
        failures.add_row([
            format!("{}{outside}", printable(&failure.class)),
            format!("{at_least}{}", grouped(failure.count)),
            error(failure),
            failure.files.map(grouped).unwrap_or_default(),
            failure.first.as_ref().map(|first| place(first, summary, &node_of)).unwrap_or_default(),
        ]);
    }
    push_table(text, &failures);
}

fn error(failure: &FailureCount) -> String {
    match (failure.error(), failure.errno, &failure.first) {
        (Some(name), ..) => name.replace('_', " "),
        (None, Some(errno), _) => format!("error {errno}"),
        (None, None, Some(_)) => "no errno".to_owned(),
        (None, None, None) => "not recorded: too many at once".to_owned(),
    }
}

fn place(first: &OperationRecord, summary: &Summary, node_of: impl Fn(&Member) -> Option<String>) -> String {
    let since_start = first.start_ns.saturating_sub(summary.started_ns) as f64 / 1e9;
    let mut place = format!("at {since_start:.1} s");
    if let Some(path) = &first.path {
        let _ = write!(place, ", {}", printable(below(path, summary)));
    }
    if let Some(offset) = first.offset_bytes {
        let _ = write!(place, " from byte {offset}");
    }
    if let Some(member) = summary.member_of(first) {
        let node = node_of(member).map_or_else(String::new, |node| format!(" on {}", printable(&node)));
        let _ = write!(place, ", by {} {}{node}", printable(&member.actor), member.ordinal);
    }
    place
}
