//! Timed calls: histograms of powers of two, as argdist and bcc's other tools print them, and percentiles.

use model::call_latency::{CallCounts, LatencyGroup, LatencyHistogram, LatencyUnit};
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};
use model::stall::REQUEST_BUCKETS;
use serde_json::{Value, json};

use crate::number::latency;
use crate::style::{Style, printable};

#[cfg(test)]
mod tests;

/// A finished timing.
#[derive(Debug)]
pub struct Timing<'a> {
    /// What was timed.
    pub what: &'a str,
    /// The probes used.
    pub method: &'a str,
    /// The unit of the histograms.
    pub unit: LatencyUnit,
    /// From the first interval's start to the last one's end.
    pub duration_ns: u64,
    /// Histograms of the whole time.
    pub groups: &'a [LatencyGroup],
    /// Counts of begins and ends.
    pub counts: CallCounts,
}

/// The calls timed within one interval.
#[derive(Debug, Clone)]
pub struct TimingInterval {
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// End on the monotonic clock.
    pub end_ns: u64,
    /// Groups with calls in the interval.
    pub groups: Vec<LatencyGroup>,
}

/// A row of a histogram of powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log2Row {
    /// Lower bound, in units.
    pub from: u64,
    /// Upper bound, inclusive.
    pub to: u64,
    /// Number of calls.
    pub count: u64,
}

/// The rows up to the last one that is not empty: 0 and 1, 2 to 3, 4 to 7 ..., fractions of the unit truncated.
pub fn log2_rows(histogram: &LatencyHistogram) -> Vec<Log2Row> {
    let mut rows: Vec<Log2Row> = Vec::new();
    for (bucket, &count) in (0..).zip(&histogram.buckets).filter(|(_, count)| **count > 0) {
        let scaled = model::stall::request_bucket_floor_ns(bucket);
        let value = scaled >> histogram.unit.fraction_bits();
        let at = value.max(1).ilog2() as usize;
        for power in rows.len()..=at {
            let from = if power == 0 { 0 } else { 1 << power };
            rows.push(Log2Row { from, to: (2 << power) - 1, count: 0 });
        }
        rows[at].count += count;
    }
    rows
}

/// The time that a share of the calls did not exceed: the upper edge of its bucket, up to 12.5 % too long, and at most
/// the maximum if that is known.
pub fn percentile_ns(histogram: &LatencyHistogram, share: f64) -> Option<u64> {
    let wanted = ((histogram.count as f64 * share).ceil() as u64).clamp(1, histogram.count.max(1));
    let mut seen = 0;
    for (bucket, &count) in (0..).zip(&histogram.buckets) {
        seen += count;
        if seen >= wanted {
            let is_last = bucket + 1 == REQUEST_BUCKETS;
            let edge_ns = histogram.unit.bucket_floor_ns(if is_last { bucket } else { bucket + 1 });
            let edge_ns = if is_last { edge_ns } else { edge_ns - 1 };
            return Some(histogram.max_ns.map_or(edge_ns, |max_ns| if is_last { max_ns } else { edge_ns.min(max_ns) }));
        }
    }
    None
}

/// Groups in the text; the JSON document has all.
const SHOWN: usize = 10;

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

fn unit_word(unit: LatencyUnit) -> &'static str {
    match unit {
        LatencyUnit::Nanoseconds => "nsecs",
        LatencyUnit::Microseconds => "usecs",
        LatencyUnit::Milliseconds => "msecs",
    }
}

/// A histogram as argdist prints it: a line `low -> high : count |stars|` for each power of two.
pub fn histogram(histogram: &LatencyHistogram) -> String {
    stars(&log2_rows(histogram), unit_word(histogram.unit))
}

/// Rows in argdist's form, under the unit's word.
pub fn stars(rows: &[Log2Row], unit: &str) -> String {
    let Some(most) = rows.iter().map(|row| row.count).max() else { return String::new() };
    // Wide numbers take columns from the stars.
    let (digits, stars, indent) = if rows.len() <= 32 { (10, 40, 5) } else { (20, 20, 15) };
    let label = 2 * digits - 1;
    let mut text = format!("{:indent$}{:<label$} : count     distribution\n", "", unit);
    for &Log2Row { from, to, count } in rows {
        let length = (u128::from(count) * stars as u128 / u128::from(most)) as usize;
        let bar = "*".repeat(length);
        text.push_str(&format!("{from:>digits$} -> {to:<digits$} : {count:<8} |{bar:<stars$}|\n"));
    }
    text
}

fn figures(histogram: &LatencyHistogram) -> String {
    let mean_ns = histogram.sum_ns.checked_div(histogram.count);
    let mut text = format!("{}, mean {}", counted(histogram.count, "call"), latency(mean_ns));
    for (name, share) in PERCENTILES {
        text.push_str(&format!(", {name} {}", latency(percentile_ns(histogram, share))));
    }
    if let Some(max_ns) = histogram.max_ns {
        text.push_str(&format!(", max {}", Nanoseconds(max_ns)));
    }
    text
}

/// An interval's histograms under the time of day, as argdist shows them, with percentiles below each.
pub fn interval(time_of_day: &str, what: &str, groups: &[LatencyGroup], style: Style) -> String {
    let mut text = format!("[{time_of_day}]\n");
    if groups.is_empty() {
        text.push_str(&format!("{}\n", printable(what)));
    }
    text.push_str(&blocks(what, groups, style));
    text
}

fn blocks(what: &str, groups: &[LatencyGroup], style: Style) -> String {
    let mut text = String::new();
    for group in &groups[..groups.len().min(SHOWN)] {
        let by = group.name.as_ref().map_or_else(String::new, |name| format!(" by {}", printable(name)));
        text.push_str(&format!("{}{by}\n{}", printable(what), histogram(&group.histogram)));
        text.push_str(&format!("     {}\n", style.faint(&figures(&group.histogram))));
    }
    text.push_str(&not_shown(groups));
    text
}

/// The number of groups beyond those shown.
fn not_shown(groups: &[LatencyGroup]) -> String {
    let Some(rest) = groups.get(SHOWN..).filter(|rest| !rest.is_empty()) else { return String::new() };
    let calls = rest.iter().map(|group| group.histogram.count).sum();
    format!("     and {} with {}\n", counted(rest.len() as u64, "other group"), counted(calls, "call"))
}

/// Why a function that is called may not be seen.
fn nothing(timing: &Timing<'_>) -> &'static str {
    let is_pair = timing.what.contains("..");
    if is_pair || timing.counts.begun > 0 {
        return "no calls";
    }
    "no calls; those that the compiler copied into the caller (inlined) are not seen"
}

/// The whole time: histograms (omitted if a single interval has shown them), and the calls that were not timed.
pub fn summary(timing: &Timing<'_>, with_histograms: bool, style: Style) -> String {
    let heading = format!(
        "{} for {}, by {}",
        printable(timing.what),
        Nanoseconds(timing.duration_ns / 1_000_000 * 1_000_000),
        timing.method
    );
    let mut text = format!("{}\n", style.heading(&heading));
    if timing.groups.is_empty() {
        text.push_str(&format!("     {}\n", nothing(timing)));
    } else if with_histograms {
        text.push_str(&blocks(timing.what, timing.groups, style));
    } else {
        for group in &timing.groups[..timing.groups.len().min(SHOWN)] {
            let by = group.name.as_ref().map_or_else(String::new, |name| format!("{}: ", printable(name)));
            text.push_str(&format!("     {by}{}\n", figures(&group.histogram)));
        }
        text.push_str(&not_shown(timing.groups));
    }
    if !timing.groups.is_empty() {
        text.push_str(&format!(
            "     {}\n",
            style.faint("percentiles are upper bucket edges, at most 12.5 % too long; mean and max are exact")
        ));
    }
    for remark in remarks(&timing.counts) {
        text.push_str(&format!("     {}\n", style.remark(&remark)));
    }
    text
}

/// Calls that are not in the histograms.
fn remarks(counts: &CallCounts) -> Vec<String> {
    let remarks = [
        (counts.filtered, "excluded by --above or --below"),
        (counts.open(), "without an end: still running, or the end was missed"),
        (counts.ends_alone, "ended without a begin: already running at the start, or begun in another task"),
        (counts.forgotten, "abandoned: 16 later calls of the task began without an end in between"),
        (counts.no_room, "not timed: too many tasks (16384) were inside the function"),
        (counts.no_group, "counted as 'all others': too many groups"),
        (counts.missed.unwrap_or(0), "begins and ends missed: nested in another one on the same CPU"),
    ];
    remarks
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect()
}

/// The JSON document.
pub fn document(timing: &Timing<'_>, intervals: &[TimingInterval], filter: Value) -> Value {
    let counts = &timing.counts;
    let intervals = intervals.iter().map(|interval| {
        let groups: Vec<Value> = interval.groups.iter().map(group).collect();
        json!({ "start_ns": interval.start_ns, "end_ns": interval.end_ns, "groups": groups })
    });
    json!({
        "what": timing.what,
        "method": timing.method,
        "unit": timing.unit.symbol(),
        "duration_ns": timing.duration_ns,
        "filter": filter,
        "groups": timing.groups.iter().map(group).collect::<Vec<_>>(),
        "intervals": intervals.collect::<Vec<_>>(),
        "calls": {
            "begun": counts.begun, "ended": counts.ended, "filtered": counts.filtered, "open": counts.open(),
            "ends_alone": counts.ends_alone, "forgotten": counts.forgotten, "no_room": counts.no_room,
            "no_group": counts.no_group, "missed": counts.missed,
        },
    })
}

fn group(group: &LatencyGroup) -> Value {
    let histogram = &group.histogram;
    let rows = log2_rows(histogram);
    let rows = rows.iter().map(|row| json!({ "from": row.from, "to": row.to, "count": row.count }));
    json!({
        "name": group.name,
        "count": histogram.count,
        "sum_ns": histogram.sum_ns,
        "mean_ns": histogram.sum_ns.checked_div(histogram.count),
        "min_ns": histogram.min_ns,
        "p50_ns": percentile_ns(histogram, 0.5),
        "p90_ns": percentile_ns(histogram, 0.9),
        "p99_ns": percentile_ns(histogram, 0.99),
        "p999_ns": percentile_ns(histogram, 0.999),
        "max_ns": histogram.max_ns,
        "log2": rows.collect::<Vec<_>>(),
    })
}
