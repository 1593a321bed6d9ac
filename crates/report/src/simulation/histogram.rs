//! Histograms in the output formats of known tools.

use model::simulation::{Histogram, HistogramForm};

use crate::funclat::{Log2Row, stars};

/// The histogram in its format.
pub(super) fn text(histogram: &Histogram) -> String {
    match histogram.form {
        HistogramForm::RpcStats => rpc_stats(histogram),
        HistogramForm::Argdist => stars(&log2(&histogram.rows), "nsecs"),
    }
}

/// As in Lustre's `rpc_stats`: value, count, percent and cumulative percent, both truncated.
fn rpc_stats(histogram: &Histogram) -> String {
    let thing = histogram.name.rsplit_once(" per ").map_or("count", |(_, thing)| thing);
    let total: u64 = histogram.rows.iter().map(|(_, count)| count).sum();
    let percent = |count: u64| (u128::from(count) * 100).checked_div(u128::from(total)).unwrap_or(0);
    let mut text = format!("{:<22}{:>10}   % cum %\n", histogram.name, format!("{thing}s"));
    let mut so_far = 0;
    for &(value, count) in &histogram.rows {
        so_far += count;
        let value = format!("{value}:");
        text.push_str(&format!("{value:<22}{count:>10} {:>3} {:>3}\n", percent(count), percent(so_far)));
    }
    text
}

/// Rows of powers of two without a gap: 0 and 1, 2 to 3, 4 to 7 ... Leading empty rows are dropped: a model's
/// times start far above a nanosecond.
fn log2(rows: &[(u64, u64)]) -> Vec<Log2Row> {
    let mut filled: Vec<Log2Row> = Vec::new();
    for &(value, count) in rows {
        let at = value.max(1).ilog2() as usize;
        for power in filled.len()..=at {
            let from = if power == 0 { 0 } else { 1 << power };
            filled.push(Log2Row { from, to: (2_u64 << power).wrapping_sub(1), count: 0 });
        }
        filled[at].count += count;
    }
    let empty = filled.iter().take_while(|row| row.count == 0).count();
    filled.split_off(empty)
}
