//! IOR's table of results and its two lines of maxima.
//!
//! As in the original: `total(s)` is from the first open to the last close, `bw` the bytes over that; `open(s)` and `close(s)` are
//! those of the slowest rank, and `wr/rd(s)` is the time between them (including fsync, if any); `IOPS` is over `wr/rd(s)`,
//! and `Latency(s)` the mean of a transfer.

use std::fmt::Write as _;

use explain::summary::{PhaseSummary, Summary};

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

/// `None` for a truncated phase.
fn row(summary: &Summary, phase: &PhaseSummary, class: &str, repetition: usize) -> Option<Row> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let total_s = seconds(phase.end_ns?.saturating_sub(phase.start_ns)).max(1e-9);
    let of = |class: &str| phase.operations.iter().find(|operation| operation.class == class);
    let longest_s = |class: &str| of(class).and_then(|operation| operation.latencies.max_ns()).map_or(0.0, seconds);
    let transfers = &of(class)?.latencies;
    let (open_s, close_s) = (longest_s("open"), longest_s("close"));
    let moving_s = (total_s - open_s - close_s).max(1e-9);
    let mib_per_s = phase.bytes? as f64 / f64::from(1 << 20) / total_s;
    let text = format!(
        "{class:<10}{:<11}{:<11}{:<12}{:<11}{:<11}{:<11}{:<11}{:<11}{:<11}{:<4}\n",
        format!("{mib_per_s:.2}"),
        format!("{:.2}", transfers.count() as f64 / moving_s),
        format!("{:.6}", transfers.mean_ns().map_or(0.0, seconds)),
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
