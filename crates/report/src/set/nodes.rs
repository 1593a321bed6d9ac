//! A line for each node.

use explain::summary::Summary;
use model::quantity::grouped;
use model::quantity::{Bytes, Nanoseconds};

use super::figures::SetFigures;
use crate::number::{latency, share};
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// Nodes shown.
const MOST: usize = 40;
/// Ranges of ranks shown of a node.
const RANGES: usize = 4;

pub(super) fn lines(text: &mut String, set: &SetFigures<'_>, style: Style) {
    let headings =
        ["", "ranks", "bytes", "bytes/s", "operations", "slow", "longest", "PSI io", "clock", "known within"];
    let mut rows = table(&headings, 2);
    for node in set.nodes.iter().take(MOST) {
        let mut row = vec![printable(&node.node.name), ranks(&node.node.ranks)];
        row.extend(node.summary.map_or_else(|| vec!["not read".to_owned()], figures));
        if node.summary.is_some() {
            row.push(offset(node.clock.offset_ns));
            row.push(node.clock.error_ns.map_or_else(|| "unknown".to_owned(), |ns| Nanoseconds(ns).to_string()));
        }
        rows.add_row(row);
    }
    push_section(text, "Nodes", &rows, style);
    if set.nodes.len() > MOST {
        let more = format!("   and {} more; see --json\n", set.nodes.len() - MOST);
        text.push_str(&style.faint(&more));
    }
}

fn figures(summary: &Summary) -> Vec<String> {
    let measured = || summary.phases.iter().filter(|phase| phase.measured);
    let bytes: u64 = measured().filter_map(|phase| phase.bytes).fold(0, u64::saturating_add);
    let operations: u64 = summary.operations.iter().map(|operation| operation.latencies.count()).sum();
    let slow: u64 = summary.slow.iter().map(|slow| slow.count).sum();
    let longest = summary.operations.iter().filter_map(|operation| operation.latencies.max_ns()).max();
    let psi = summary.pressure.iter().find(|pressure| (&*pressure.resource, &*pressure.extent) == ("io", "some"));
    // Over the time of its own phases: between them it waits for the others.
    let ended = || measured().filter_map(|phase| Some((phase.bytes?, phase.end_ns?.saturating_sub(phase.start_ns))));
    let (moved, time_ns) = ended().fold((0.0, 0.0), |(moved, ns), one| (moved + one.0 as f64, ns + one.1 as f64));
    let per_s = (time_ns > 0.0).then(|| moved * 1e9 / time_ns);
    vec![
        Bytes(bytes).to_string(),
        per_s.map_or_else(|| "-".to_owned(), |per_s| Bytes(per_s as u64).to_string()),
        grouped(operations),
        grouped(slow),
        latency(longest),
        psi.map_or_else(|| "-".to_owned(), |psi| share(psi.share)),
    ]
}

/// `+1.20 s`: ahead of rank 0's clock.
fn offset(offset_ns: i64) -> String {
    let sign = if offset_ns < 0 { "-" } else { "+" };
    match offset_ns {
        0 => "0".to_owned(),
        _ => format!("{sign}{}", Nanoseconds(offset_ns.unsigned_abs())),
    }
}

/// Ranks in ranges: `0-3, 8`.
pub fn ranks(ranks: &[u64]) -> String {
    let ranges: Vec<String> = ranks
        .chunk_by(|one, next| one.checked_add(1) == Some(*next))
        .filter_map(|range| match range {
            [] => None,
            [only] => Some(only.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
        })
        .collect();
    match ranges.len() {
        count if count > RANGES => format!("{}, ... ({} ranks)", ranges[..RANGES].join(", "), ranks.len()),
        _ => ranges.join(", "),
    }
}
