//! bonnie++'s line of comma-separated values: format 1.98 (bonnie++ 2), and the formats of bonnie++ 1.96 and 1.97, which
//! have two fields fewer. A line is a run.

use super::error::{ForeignError, Runs, malformed};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "bonnie++";
/// Phases of the large file in column order, and whether they are in KiB/s. The names are those of the phases of
/// `run bonnie`, except that bonnie++ counts seeks where `run bonnie` counts bytes.
const BULK: [(&str, bool); 6] =
    [("put", true), ("write", true), ("rewrite", true), ("get", true), ("read", true), ("seeks", false)];
const SMALL: [&str; 6] = ["create", "stat", "delete", "create-random", "stat-random", "delete-random"];
/// Field of the first phase in format 1.98, and the offset to the phases of small files.
const BULK_AT: usize = 9;
const SMALL_AFTER: usize = 17;
const LATENCIES_AFTER: usize = 29;
/// Fields missing before bonnie++ 2: number of seeks and of seeking processes.
const FEWER: usize = 2;

pub(super) fn runs(text: &str) -> Runs {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| is_values(line)).collect();
    if lines.is_empty() {
        let is_table = text.contains("Sequential Output") && text.contains("-Per Chr-");
        return is_table
            .then(|| Err(malformed(TOOL, "its line of comma-separated values is missing; bonnie++ prints it last")));
    }
    Some(lines.into_iter().map(run).collect())
}

fn is_values(line: &str) -> bool {
    let mut fields = line.split(',');
    let is_version = |field: Option<&str>| field.is_some_and(|field| ["1.96", "1.97", "1.98"].contains(&field));
    is_version(fields.next()) && fields.count() >= 20
}

fn run(line: &str) -> Result<RunFigures, ForeignError> {
    let fields: Vec<&str> = line.split(',').collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    let bulk_at = if field(0) == "1.98" { BULK_AT } else { BULK_AT - FEWER };
    let mut run = RunFigures::default();
    let mut too_short = Vec::new();
    let mut rate = |name: &str, at: usize, factor: f64, unit: &str| {
        let text = field(at);
        if text.starts_with('+') {
            too_short.push(name.to_owned());
        }
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0)?;
        let name = format!("{name}.{}", if unit == "bytes/s" { "bytes_per_s" } else { "per_s" });
        Some(Figure::level(name, unit, Better::Higher, value * factor))
    };
    for (at, (name, in_kib)) in BULK.into_iter().enumerate() {
        let (factor, unit) = if in_kib { (1024.0, "bytes/s") } else { (1.0, "/s") };
        run.metrics.extend(rate(name, bulk_at + 2 * at, factor, unit));
    }
    for (at, name) in SMALL.into_iter().enumerate() {
        run.metrics.extend(rate(name, bulk_at + SMALL_AFTER + 2 * at, 1.0, "/s"));
    }
    for (at, name) in BULK.iter().map(|(name, _)| *name).chain(SMALL).enumerate() {
        let longest = latency_ns(field(bulk_at + LATENCIES_AFTER + at));
        run.metrics.extend(longest.map(|ns| Figure::level(format!("{name}.max"), "ns", Better::Lower, ns)));
    }
    if run.metrics.is_empty() && too_short.is_empty() {
        return Err(malformed(TOOL, "its line of comma-separated values has no figure"));
    }
    if !too_short.is_empty() {
        let phases = too_short.join(", ");
        run.cautions.push(format!("too short to measure (under 0.5 s): {phases}; use larger files (-s)"));
    }
    run.facts = facts(&field, bulk_at);
    Ok(run)
}

fn facts<'a>(field: &impl Fn(usize) -> &'a str, bulk_at: usize) -> Vec<Fact> {
    let named = [("bonnie++ version", 1), ("concurrency", 3), ("file size", 5), ("chunk size", 6)];
    let small_files = ("small files", bulk_at + SMALL_AFTER - 5);
    let described = named.into_iter().chain([small_files]).map(|(what, at)| Fact::new(what, field(at)));
    [Fact::new("workload", "bonnie++")].into_iter().chain(described).collect()
}

/// `4352us`, `12ms`, `3s`.
fn latency_ns(text: &str) -> Option<f64> {
    let (digits, factor) = [("us", 1e3), ("ms", 1e6), ("s", 1e9)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    digits.parse::<f64>().ok().map(|value| value * factor).filter(|ns| ns.is_finite() && *ns >= 0.0)
}
