//! A phase of a run as JSON.

use explain::summary::{PhaseSummary, Progress};
use serde_json::{Map, Value, json};

use super::operation::class;
use crate::phases::Crew;

/// One entry of `phases`.
pub(super) fn phase(phase: &PhaseSummary) -> Value {
    let span_ns = phase.end_ns.map(|end| end.saturating_sub(phase.start_ns)).filter(|&ns| ns > 0);
    let bytes_per_s = phase.bytes.zip(span_ns).map(|(bytes, ns)| bytes as f64 * 1e9 / ns as f64);
    let operations = phase.operations.iter().map(|operation| (operation.class.clone(), class(operation)));
    json!({
        "name": phase.name,
        "measured": phase.measured,
        "start_s": seconds(phase.start_ns),
        "end_s": phase.end_ns.map(seconds),
        "bytes": phase.bytes,
        "bytes_per_s": bytes_per_s,
        "operations": operations.collect::<Map<_, _>>(),
        "progress": phase.progress.iter().map(progress).collect::<Vec<_>>(),
        "crew": Crew::of(phase).map(|members| crew(phase, &members)),
    })
}

fn progress(progress: &Progress) -> Value {
    json!({
        "start_s": seconds(progress.start_ns),
        "end_s": seconds(progress.end_ns),
        "operations": progress.operations,
        "bytes": progress.bytes,
    })
}

fn crew(phase: &PhaseSummary, crew: &Crew<'_>) -> Value {
    let slowest = crew.slowest;
    json!({
        "members": crew.members,
        "items": crew.items,
        "items_per_s": phase.items_per_s(),
        "sum_of_own_items_per_s": phase.sum_of_own_items_per_s(),
        "cpu_s": crew.cpu_ns.map(seconds),
        "fastest_s": seconds(crew.fastest_ns),
        "median_s": seconds(crew.median_ns),
        "slowest_s": seconds(crew.slowest_ns),
        "slowest": {
            "actor": slowest.actor,
            "ordinal": slowest.ordinal,
            "tid": slowest.tid,
            "items": slowest.items,
            "bytes": slowest.bytes,
            "busy_s": seconds(slowest.busy_ns),
        },
    })
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
