//! IOR's table of results and its two lines of maxima.
//!
//! Times are defined as in the original (`ReduceIterResults` of its src/ior.c): each of `open(s)`, `wr/rd(s)`,
//! `close(s)` and `total(s)` is from the first rank's begin to the last rank's end, so the first three overlap where
//! ranks are not in step, and their sum may exceed the total. fsync belongs to `wr/rd(s)`. `bw` is all bytes over
//! `total(s)`, `IOPS` all transfers over `wr/rd(s)`, and `Latency(s)` that of the best rank: its own time between open
//! and close over its transfers.

use std::fmt::Write as _;

use explain::summary::{PhaseSummary, Summary};
use model::event::Member;

const HEAD: &str =
    "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
";
/// Phases by IOR's names, and the class of their transfers.
const ACCESSES: [(&str, &str); 2] = [("write", "write"), ("read", "read")];

struct Row {
    mib_per_s: f64,
    text: String,
}

/// The lines.
pub(super) fn lines(summary: &Summary) -> String {
    let mut text = String::from("Results: \n\n");
    text += HEAD;
    let repetitions = |name: &str| measured(summary, name).count();
    let most = ACCESSES.iter().map(|(name, _)| repetitions(name)).max().unwrap_or(0);
    let mut best = [None; ACCESSES.len()];
    for repetition in 0..most {
        for ((name, class), best) in ACCESSES.iter().zip(&mut best) {
            let phase = measured(summary, name).nth(repetition);
            if let Some(row) = phase.and_then(|phase| row(summary, phase, class, repetition)) {
                text += &row.text;
                *best = Some(best.map_or(row.mib_per_s, |best: f64| best.max(row.mib_per_s)));
            }
        }
    }
    for (label, best) in ["Max Write: ", "Max Read:  "].iter().zip(best) {
        if let Some(mib_per_s) = best {
            let _ = writeln!(text, "{label}{mib_per_s:.2} MiB/sec ({:.2} MB/sec)", mib_per_s * 1.048_576);
        }
    }
    text
}

fn measured<'a>(summary: &'a Summary, name: &'a str) -> impl Iterator<Item = &'a PhaseSummary> {
    summary.phases.iter().filter(move |phase| phase.measured && phase.name == name)
}

fn variable(summary: &Summary, name: &str) -> f64 {
    let mut variables = summary.recipe.iter().flat_map(|recipe| &recipe.variables);
    variables.find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
}

/// The times of a phase.
struct Times {
    total_s: f64,
    open_s: f64,
    moving_s: f64,
    close_s: f64,
    latency_s: f64,
}

/// Shortest time that something is divided by.
const LEAST_S: f64 = 1e-9;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Times {
    /// From the ranks' own; `None` where a rank could not open its file, and in runs of versions that did not record
    /// them.
    fn of(ranks: &[Member]) -> Option<Times> {
        let of_each = |time: fn(&Member) -> Option<u64>| ranks.iter().map(time).collect::<Option<Vec<u64>>>();
        let (opened, closing) = (of_each(|rank| rank.opened_ns)?, of_each(|rank| rank.closing_ns)?);
        let (first_open, last_open) = (ranks.iter().map(|rank| rank.start_ns).min()?, *opened.iter().max()?);
        let (first_transfer, last_transfer) = (*opened.iter().min()?, *closing.iter().max()?);
        let (first_close, last_close) = (*closing.iter().min()?, ranks.iter().map(|rank| rank.end_ns).max()?);
        let each = ranks.iter().zip(opened.iter().zip(&closing)).filter(|(rank, _)| rank.items > 0);
        let latencies =
            each.map(|(rank, (opened, closing))| seconds(closing.saturating_sub(*opened)) / rank.items as f64);
        let between = |from: u64, to: u64| seconds(to.saturating_sub(from));
        Some(Times {
            total_s: between(first_open, last_close).max(LEAST_S),
            open_s: between(first_open, last_open),
            moving_s: between(first_transfer, last_transfer).max(LEAST_S),
            close_s: between(first_close, last_close),
            latency_s: latencies.min_by(f64::total_cmp).unwrap_or(0.0),
        })
    }

    /// From the operations: the slowest open and close, the time that they leave, and the mean of a transfer.
    fn of_slowest(phase: &PhaseSummary, class: &str) -> Option<Times> {
        let of = |class: &str| phase.operations.iter().find(|operation| operation.class == class);
        let longest_s = |class: &str| of(class).and_then(|operation| operation.latencies.max_ns()).map_or(0.0, seconds);
        let total_s = seconds(phase.end_ns?.saturating_sub(phase.start_ns)).max(LEAST_S);
        let (open_s, close_s) = (longest_s("open"), longest_s("close"));
        let moving_s = (total_s - open_s - close_s).max(LEAST_S);
        let latency_s = of(class)?.latencies.mean_ns().map_or(0.0, seconds);
        Some(Times { total_s, open_s, moving_s, close_s, latency_s })
    }
}

/// `None` for a truncated phase.
fn row(summary: &Summary, phase: &PhaseSummary, class: &str, repetition: usize) -> Option<Row> {
    phase.end_ns?;
    let transfers = phase.operations.iter().find(|operation| operation.class == class)?.latencies.count();
    let Times { total_s, open_s, moving_s, close_s, latency_s } =
        Times::of(&phase.job_threads).or_else(|| Times::of_slowest(phase, class))?;
    let mib_per_s = phase.bytes? as f64 / f64::from(1 << 20) / total_s;
    let text = format!(
        "{class:<10}{:<11}{:<11}{:<12}{:<11}{:<11}{:<11}{:<11}{:<11}{:<11}{:<4}\n",
        format!("{mib_per_s:.2}"),
        format!("{:.2}", transfers as f64 / moving_s),
        format!("{latency_s:.6}"),
        format!("{:.2}", variable(summary, "block") / 1024.0),
        format!("{:.2}", variable(summary, "transfer") / 1024.0),
        format!("{open_s:.6}"),
        format!("{moving_s:.6}"),
        format!("{close_s:.6}"),
        format!("{total_s:.6}"),
        repetition
    );
    Some(Row { mib_per_s, text })
}
