//! A phase of a run as JSON.

use explain::summary::{PhaseSummary, Progress};
use serde_json::{Map, Value, json};

use super::operation::class;
use crate::phases::JobThreads;

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
        "job_threads": JobThreads::of(phase).map(|members| job_threads(phase, &members)),
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

fn job_threads(phase: &PhaseSummary, threads: &JobThreads<'_>) -> Value {
    let slowest = threads.slowest;
    json!({
        "members": threads.members,
        "items": threads.items,
        "items_per_s": phase.items_per_s(),
        "sum_of_own_items_per_s": phase.sum_of_own_items_per_s(),
        "cpu_s": threads.cpu_ns.map(seconds),
        "fastest_s": seconds(threads.fastest_ns),
        "median_s": seconds(threads.median_ns),
        "slowest_s": seconds(threads.slowest_ns),
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
