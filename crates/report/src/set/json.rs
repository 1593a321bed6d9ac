//! A set as JSON.

use explain::summary::{Outlier, SetSummary};
use model::set::SetDescription;
use serde_json::{Value, json};

use super::SetFigures;
use crate::set_node::node;

/// The document of `show --json` of a set: that of a run over all nodes, with `set`, `nodes` and `outliers`.
pub fn summary(figures: &SetFigures<'_>) -> Value {
    let mut document = match figures.all {
        Some(all) => whole(figures, all),
        None => json!({"run": figures.name, "workload": figures.set.workload}),
    };
    document["set"] = of_set(figures.set);
    let nodes = figures.nodes.iter().map(|one| {
        let mut value = node(one.node, one.clock, one.run);
        value["summary"] = one.summary.map_or(Value::Null, |summary| crate::json::summary(one.run, summary));
        value
    });
    document["nodes"] = nodes.collect();
    document
}

fn whole(figures: &SetFigures<'_>, all: &SetSummary) -> Value {
    let mut document = crate::json::summary(figures.name, &all.whole);
    for (at, on) in all.worst_on.iter().enumerate() {
        document["worst"][at]["node"] = figures.read(*on).map(|node| node.node.name.as_str()).into();
    }
    document["outliers"] = all.outliers.iter().map(|outlier| self::outlier(figures, outlier)).collect();
    document
}

fn outlier(figures: &SetFigures<'_>, outlier: &Outlier) -> Value {
    json!({
        "phase": outlier.phase,
        "repetition": outlier.repetition,
        "actor": outlier.actor,
        "ordinal": outlier.ordinal,
        "node": figures.node_of_outlier(outlier).map(|node| &node.name),
        "per_s": outlier.per_s,
        "median_per_s": outlier.median_per_s,
        "unit": if outlier.is_bytes { "bytes" } else { "items" },
        "of": outlier.of,
    })
}

/// The key `set`.
pub fn of_set(set: &SetDescription) -> Value {
    json!({
        "version": set.version,
        "workload": set.workload,
        "started_wall_ns": set.started_wall_ns,
        "is_final": set.is_final,
        "ranks": set.ranks,
        "nodes": set.nodes.len(),
    })
}
