//! The lines that simoop prints, in the form that mmtests' parser reads.
//!
//! Every figure covers the measured time so far, as in simoop; only the first figure of a rate is that of the
//! latest interval. Latencies are in microseconds.

use std::fmt::Write as _;

use explain::summary::{OperationSummary, Summary};
use model::quantity::{counted, grouped};
use statistics::RateSummary;

/// The parser reads from this line on.
pub const WARMUP_COMPLETE: &str = "Warmup complete";

/// The parser stops at this line; the figures of the whole run follow.
pub const FINAL_STATS: &str = "Final stats";

/// One report: run time, latencies, rates, and what is stuck.
pub fn report(summary: &Summary) -> String {
    let mut text = String::new();
    let seconds = (summary.duration_ns as f64 / 1e9).round();
    let _ = writeln!(text, "Run time: {seconds} seconds");
    for class in ["read", "write", "allocation"] {
        if let Some(operation) = summary.operations.iter().find(|operation| operation.class == class) {
            let _ = writeln!(text, "{}", latency_line(operation));
        }
    }
    for (rate, label, average) in [("work", "work rate", "avg"), ("alloc_stalls", "alloc stall rate", "avg:")] {
        if let Some((_, rates)) = summary.rates.iter().find(|(name, _)| name == rate) {
            let _ = writeln!(text, "{}", rate_line((label, average), rates));
        }
    }
    for operation in summary.operations.iter().filter(|operation| operation.stuck > 0) {
        let oldest_s = operation.stuck_oldest_ns.unwrap_or(0) as f64 / 1e9;
        let _ = writeln!(
            text,
            "Still stuck: {}, the oldest for {oldest_s:.1} seconds",
            counted(operation.stuck, &format!("{} operation", operation.class))
        );
    }
    text
}

fn latency_line(operation: &OperationSummary) -> String {
    let latencies = &operation.latencies;
    let us = |ns: Option<u64>| grouped(ns.unwrap_or(0) / 1000);
    let mut name = operation.class.clone();
    name[..1].make_ascii_uppercase();
    format!(
        "{name} latency usec: (p50: {}) (p95: {}) (p99: {}) (max: {})",
        us(latencies.quantile_ns(0.50)),
        us(latencies.quantile_ns(0.95)),
        us(latencies.quantile_ns(0.99)),
        us(latencies.max_ns())
    )
}

/// simoop writes `avg` without a colon for the work rate and with one for the stalls; parsers expect this.
fn rate_line((label, average): (&str, &str), rates: &RateSummary) -> String {
    let unit = if average.ends_with(':') { "" } else { "/sec" };
    format!(
        "{label} = {:.2}/sec ({average} {:.2}{unit}) (p50: {:.2}) (p95: {:.2}) (p99: {:.2})",
        rates.last_per_s, rates.mean_per_s, rates.p50_per_s, rates.p95_per_s, rates.p99_per_s
    )
}
