//! The explanation of a run on several nodes as text.

use std::fmt::Write as _;

use explain::blame::Stall;
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};
use model::set::SetDescription;
use serde_json::Value;

use super::{clocks, ranks};
use crate::document::{ExplainedNode, ExplainedNodes};
use crate::number::share;
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// The whole explanation: the answer over all nodes, the evidence, and then each node.
pub fn explained(
    (name, set): (&str, &SetDescription),
    ExplainedNodes { all, answer, document }: &ExplainedNodes,
    nodes: &[ExplainedNode<'_>],
    (limit, style): (usize, Style),
) -> String {
    let mut text = crate::answer::text(answer, Some(name), style);
    let threshold = Nanoseconds(all.slower_than_ns);
    let (count, of_ranks) = (counted(set.nodes.len() as u64, "node"), counted(set.ranks, "rank"));
    let about = format!("{}: operations of at least {threshold}, on {count}, {of_ranks}", printable(name));
    let _ = writeln!(text, "\n{}", style.faint(&about));
    let _ = writeln!(text, "{}", style.faint(&clocks(nodes.iter().map(|node| (node.node, node.clock)))));
    crate::explain::scope(&mut text, all, style);
    if all.slow_operations > 0 {
        overview(&mut text, document, style);
        crate::explain::tables(&mut text, all, style);
        worst(&mut text, nodes, limit, style);
    }
    for node in nodes {
        one_node(&mut text, node, style);
    }
    text
}

/// The lines printed when a run ends: the answer, and the commands for more.
pub fn brief(name: &str, explained: &ExplainedNodes, style: Style) -> String {
    format!("\n{}", crate::answer::text(&explained.answer, Some(name), style))
}

fn overview(text: &mut String, document: &Value, style: Style) {
    let mut rows = table(&["", "ranks", "slow", "time", "share", "main cause"], 2);
    if let Some(column) = rows.column_mut(5) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for node in document["nodes"].as_array().into_iter().flatten() {
        let of_ranks: Vec<u64> = node["ranks"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let part =
            if document["command"]["operations"].as_u64() > Some(0) { "/explanation/command" } else { "/explanation" };
        let main = node.pointer(&format!("{part}/causes/0/cause")).and_then(Value::as_str);
        let main = main.and_then(model::cause::Cause::from_name).map_or("-", model::cause::Cause::words);
        rows.add_row([
            printable(node["node"].as_str().unwrap_or_default()),
            ranks(&of_ranks),
            grouped(node["slow_operations"].as_u64().unwrap_or(0)),
            Nanoseconds(node["wall_ns"].as_u64().unwrap_or(0)).to_string(),
            share(node["share"].as_f64().unwrap_or(0.0)),
            main.to_owned(),
        ]);
    }
    push_section(text, "By node", &rows, style);
}

/// The worst stalls of all nodes, each with its node.
fn worst(text: &mut String, nodes: &[ExplainedNode<'_>], limit: usize, style: Style) {
    let of_each = nodes.iter().map(|node| node.explanation.stalls.iter().map(move |stall| (node, stall)));
    let mut stalls: Vec<(&ExplainedNode<'_>, &Stall)> = of_each.flatten().collect();
    stalls.sort_by_key(|(_, stall)| std::cmp::Reverse(stall.duration_ns));
    if stalls.is_empty() || limit == 0 {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Worst stalls"));
    for (at, (node, stall)) in stalls.iter().take(limit).enumerate() {
        let _ = writeln!(text, "{} node {}", if at > 0 { "\n" } else { "" }, printable(&node.node.name));
        text.push_str(&crate::explain::one_stall(stall, &node.explanation.containers, style));
    }
}

fn one_node(text: &mut String, node: &ExplainedNode<'_>, style: Style) {
    let title = format!("Node {}, ranks {}", printable(&node.node.name), ranks(&node.node.ranks));
    let _ = writeln!(text, "\n{}", style.heading(&title));
    text.push_str(&crate::answer::text(node.answer, Some(node.run), style));
    text.push_str(&crate::explain::cautions_of(node.explanation, style));
}
