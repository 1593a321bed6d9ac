//! One chart of the page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The unit of a chart's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartUnit {
    /// Nanoseconds.
    Ns,
    /// Events per second.
    PerS,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
    /// A fraction of 1.
    Share,
    /// A count.
    Count,
}

impl ChartUnit {
    fn name(self) -> &'static str {
        match self {
            ChartUnit::Ns => "ns",
            ChartUnit::PerS => "/s",
            ChartUnit::Bytes => "bytes",
            ChartUnit::BytesPerS => "bytes/s",
            ChartUnit::Share => "share",
            ChartUnit::Count => "count",
        }
    }
}

/// Lines; an absent chart if there is no series.
pub(crate) fn lines(id: &str, title: &str, unit: ChartUnit, axis: &str, series: Vec<Value>, why_absent: &str) -> Value {
    drawn("lines", id, title, unit, axis, series, why_absent)
}

/// Stacked areas.
pub(crate) fn stack(id: &str, title: &str, unit: ChartUnit, axis: &str, series: Vec<Value>, why_absent: &str) -> Value {
    drawn("stack", id, title, unit, axis, series, why_absent)
}

fn drawn(
    kind: &str,
    id: &str,
    title: &str,
    unit: ChartUnit,
    axis: &str,
    series: Vec<Value>,
    why_absent: &str,
) -> Value {
    if series.is_empty() {
        return absent(id, title, why_absent);
    }
    json!({ "kind": kind, "id": id, "title": title, "unit": unit.name(), "axis": axis, "series": series })
}

/// A chart without data, and why.
pub(crate) fn absent(id: &str, title: &str, why: &str) -> Value {
    json!({ "kind": "absent", "id": id, "title": title, "why": why })
}

/// Gives a chart of latencies a logarithmic scale.
pub(crate) fn logarithmic(mut chart: Value) -> Value {
    chart["log"] = json!(true);
    chart
}

/// Maximum columns of a heat map.
const MOST_COLUMNS: u64 = 1_200;

/// Counts by time and latency.
#[derive(Debug, Default)]
pub(crate) struct Heat {
    cells: BTreeMap<(u64, u32), u64>,
}

impl Heat {
    /// Adds a count of that latency to the interval with that end.
    pub(crate) fn add(&mut self, end_ns: u64, latency_ns: u64, count: u64) {
        *self.cells.entry((end_ns, row(latency_ns))).or_default() += count;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The chart. `step_ns` is the interval's length, `span_ns` the length of the run; columns are merged above the
    /// maximum.
    pub(crate) fn chart(&self, id: &str, title: &str, step_ns: u64, span_ns: u64) -> Value {
        let step_ns = step_ns.max(1);
        let width_ns = step_ns.saturating_mul(span_ns.div_ceil(step_ns).div_ceil(MOST_COLUMNS).max(1));
        let back_ns = (step_ns - self.offset_ns(step_ns)) % step_ns;
        let mut joined: BTreeMap<(u64, u32), u64> = BTreeMap::new();
        for (&(end_ns, row), &count) in &self.cells {
            // A moment within the interval selects its column: ends are inexact, and the last interval of a phase is
            // short.
            let column = end_ns.saturating_add(back_ns).saturating_sub(step_ns / 4) / width_ns;
            *joined.entry((column, row)).or_default() += count;
        }
        let columns = crate::number::deltas(joined.keys().map(|(column, _)| *column));
        let rows: Vec<u32> = joined.keys().map(|(_, row)| *row).collect();
        let counts: Vec<u64> = joined.values().copied().collect();
        json!({
            "kind": "heat", "id": id, "title": title, "unit": "ns",
            "from_ms": 0.0 - back_ns as f64 / 1e6, "width_ms": width_ns as f64 / 1e6, "columns": columns, "rows": rows,
                "counts": counts,
        })
    }
}

impl Heat {
    /// The offset of most intervals' ends from a multiple of their length: a phase's intervals start with the phase.
    fn offset_ns(&self, step_ns: u64) -> u64 {
        /// Ends are compared in this many parts of an interval, since they are inexact.
        const PARTS: u64 = 16;
        let mut ends: Vec<u64> = self.cells.keys().map(|(end_ns, _)| *end_ns).collect();
        ends.dedup();
        let part = |end_ns: u64| (end_ns % step_ns).saturating_mul(PARTS) / step_ns;
        let mut parts: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for end_ns in ends {
            parts.entry(part(end_ns)).or_insert((0, end_ns % step_ns)).0 += 1;
        }
        parts.into_values().max_by_key(|(count, _)| *count).map_or(0, |(_, offset_ns)| offset_ns)
    }
}

/// The row of a latency: four per power of two. The page's program uses the same rule.
pub(crate) fn row(ns: u64) -> u32 {
    let ns = ns.max(4);
    let log = ns.ilog2();
    log * 4 + ((ns >> (log - 2)) & 3) as u32
}
