//! Latencies of a class of operations as JSON.

use explain::summary::OperationSummary;
use serde_json::{Value, json};
use statistics::Distribution;

/// One entry of `operations`.
pub(super) fn class(operation: &OperationSummary) -> Value {
    let latencies = &operation.latencies;
    let quantiles = [("p50_ns", 0.50), ("p90_ns", 0.90), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999)];
    let mut value = json!({
        "count": latencies.count(),
        "errors": latencies.errors(),
        "stuck": operation.stuck,
        "stuck_oldest_ns": operation.stuck_oldest_ns,
        "bytes": latencies.bytes(),
        "mean_ns": latencies.mean_ns(),
        "max_ns": latencies.max_ns(),
        "too_few_operations_for": too_few(latencies, &quantiles),
    });
    for (name, quantile) in quantiles {
        value[name] = json!(latencies.quantile_ns(quantile));
    }
    value
}

fn too_few(latencies: &Distribution, quantiles: &[(&'static str, f64)]) -> Vec<&'static str> {
    quantiles.iter().filter(|(_, quantile)| !latencies.supports(*quantile)).map(|(name, _)| *name).collect()
}
