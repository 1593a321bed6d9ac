//! The document of `compare --json`.

use compare::{Better, Cell, Compared, ComparedStalls, Comparison, Scaling};
use serde_json::{Value, json};
use statistics::Ratio;

/// One side against another.
pub fn comparison(found: &Comparison) -> Value {
    json!({
        "a": {"name": found.a.0, "runs": found.a.1},
        "b": {"name": found.b.0, "runs": found.b.1},
        "machines": found.machines.iter().map(|machine| json!({
            "name": machine.name, "a_runs": machine.a, "b_runs": machine.b,
        })).collect::<Vec<_>>(),
        "machines_differ_in": found.machines_differ_in,
        "differences": found.differences.iter().map(|difference| json!({
            "what": difference.what, "a": difference.a, "b": difference.b, "intended": difference.intended,
                "follows": difference.implied_by,
        })).collect::<Vec<_>>(),
        "cautions": found.cautions,
        "metrics": found.metrics.iter().map(metric).collect::<Vec<_>>(),
        "stalls": found.stalls.iter().map(stalls).collect::<Vec<_>>(),
        "counters": found.counters.iter().map(metric).collect::<Vec<_>>(),
    })
}

/// Configurations against one baseline, a comparison for each.
pub fn comparisons(baseline: &str, found: &[Comparison]) -> Value {
    json!({ "baseline": baseline, "configurations": found.iter().map(comparison).collect::<Vec<_>>() })
}

/// One metric over the settings of many configurations.
pub fn scaling(found: &Scaling) -> Value {
    let cell = |cell: &Option<Cell>| {
        cell.as_ref().map(|cell| {
            let interval = cell.interval.map(|(low, high)| json!([low, high]));
            json!({"runs": cell.runs, "median": cell.median, "ci95": interval})
        })
    };
    let row = |(value, cells): (&String, &Vec<Option<Cell>>)| {
        json!({"value": value,
        "cells": cells.iter().map(cell).collect::<Vec<_>>()})
    };
    json!({
        "metric": found.metric,
        "unit": found.unit,
        "rows_by": found.rows,
        "columns_by": found.columns,
        "columns": found.column_values,
        "rows": found.row_values.iter().zip(&found.cells).map(row).collect::<Vec<_>>(),
    })
}

fn metric(metric: &Compared) -> Value {
    let better = match metric.better {
        Better::Lower => Some("lower"),
        Better::Higher => Some("higher"),
        Better::Neither => None,
    };
    json!({
        "name": metric.name,
        "unit": metric.unit,
        "better": better,
        "a": metric.typical_a(),
        "b": metric.typical_b(),
        "a_runs": metric.a,
        "b_runs": metric.b,
        "ratio": finite(metric.ratio.ratio),
        "ci95": interval(&metric.ratio),
        "confidence": metric.ratio.confidence,
        "by_machine": metric.by_machine.iter().map(of_machine).collect::<Vec<_>>(),
        "margin": metric.margin,
        "p": metric.p,
        "q": metric.q,
        "verdict": metric.verdict.name(),
        "need_runs": metric.need_runs,
    })
}

fn stalls(stalls: &ComparedStalls) -> Value {
    let count = stalls.count.as_ref();
    json!({
        "cause": stalls.cause,
        "a_per_run": stalls.per_run.0,
        "b_per_run": stalls.per_run.1,
        "rate_ratio": count.and_then(|count| finite(count.ratio.ratio)),
        "ci95": count.map_or(Value::Null, |count| interval(&count.ratio)),
        "p": count.map(|count| count.p),
        "q": count.map(|count| count.q),
        "verdict": stalls.verdict().name(),
        "need_runs": count.and_then(|count| count.need_runs),
        "a_time_ns_per_run": stalls.time_per_run_ns.0.round() as u64,
        "b_time_ns_per_run": stalls.time_per_run_ns.1.round() as u64,
        "time": metric(&stalls.time),
    })
}

/// In the order of the comparison's `machines`.
fn of_machine(ratio: &Option<Ratio>) -> Value {
    ratio.as_ref().map_or(
        Value::Null,
        |ratio| json!({"ratio": finite(ratio.ratio), "interval": interval(ratio), "confidence": ratio.confidence}),
    )
}

/// An infinite bound is `null`.
fn interval(ratio: &Ratio) -> Value {
    ratio.interval.map_or(Value::Null, |(low, high)| json!([finite(low), finite(high)]))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
