//! Operations of one direction: all of them, and interval by interval.

use std::collections::BTreeMap;

use model::latency::range_of;
use model::operation::IntervalRecord;
use serde_json::{Map, Value, json};

/// Directions of fio: its name, the number in its logs, and the operation class of the run.
pub(super) const DIRECTIONS: [(&str, u8, &str); 4] =
    [("read", 0, "read"), ("write", 1, "write"), ("trim", 2, "trim"), ("sync", 3, "fsync")];
/// fio's own percentiles.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Longer latencies count in fio's last bin; its tools have no higher one.
const HIGHEST_BIN_NS: u64 = 17_112_760_320;
/// Upper bounds, exclusive, of the ranges whose shares fio reports: in ns, us and ms.
const RANGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Finished operations.
#[derive(Debug, Default)]
pub(super) struct Direction {
    pub(super) count: u64,
    pub(super) errors: u64,
    pub(super) bytes: u64,
    sum_ns: u128,
    max_ns: Option<u64>,
    /// By the bucket's index.
    buckets: BTreeMap<u32, u64>,
    pub(super) steps: Vec<Step>,
}

/// Operations finished in one interval.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) end_ns: u64,
    pub(super) span_ns: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) sum_ns: u64,
}

impl Direction {
    pub(super) fn add(&mut self, record: &IntervalRecord) {
        self.count += record.count;
        self.errors += record.errors;
        self.bytes += record.bytes;
        self.sum_ns += u128::from(record.sum_ns);
        self.max_ns = self.max_ns.max(record.max_ns);
        record.buckets.iter().for_each(|bucket| *self.buckets.entry(bucket.index).or_default() += bucket.count);
        self.steps.push(Step {
            end_ns: record.end_ns,
            span_ns: record.end_ns.saturating_sub(record.start_ns),
            count: record.count,
            bytes: record.bytes,
            sum_ns: record.sum_ns,
        });
    }

    pub(super) fn end_ns(&self) -> Option<u64> {
        self.steps.iter().map(|step| step.end_ns).max()
    }

    /// fio's fields for reads, writes and trims.
    pub(super) fn json(&self, span_ns: u64) -> Value {
        let bytes_per_s = rate_per_s(self.bytes, span_ns);
        let mut value = json!({
            "io_bytes": self.bytes,
            "io_kbytes": self.bytes / 1024,
            "bw_bytes": bytes_per_s as u64,
            "bw": (bytes_per_s / 1024.0) as u64,
            "iops": rate_per_s(self.count, span_ns),
            "runtime": if self.count > 0 { span_ns / 1_000_000 } else { 0 },
            "total_ios": self.count,
            "slat_ns": spread(&[]),
            "clat_ns": self.latency(),
            "lat_ns": self.latency(),
            "bw_agg": if self.count > 0 { 100.0 } else { 0.0 },
        });
        let mut rates = |name: &str, spread: Spread, whole: bool| {
            let ends = [("min", spread.min), ("max", spread.max)];
            ends.iter().for_each(|(end, rate)| {
                value[format!("{name}_{end}")] = if whole { json!(*rate as u64) } else { json!(rate) };
            });
            value[format!("{name}_mean")] = json!(spread.mean);
            // fio has two names for it.
            value[format!("{name}_{}", if name == "bw" { "dev" } else { "stddev" })] = json!(spread.deviation);
            value[format!("{name}_samples")] = json!(spread.count);
        };
        rates("bw", Spread::of(&self.rates(|step| step.bytes as f64 / 1024.0)), true);
        rates("iops", Spread::of(&self.rates(|step| step.count as f64)), true);
        value
    }

    /// fio's fields for syncs.
    pub(super) fn sync(&self) -> Value {
        json!({ "total_ios": self.count, "lat_ns": self.latency() })
    }

    /// Rates per second of each interval, without a short one at the end of a phase.
    fn rates(&self, amount: impl Fn(&Step) -> f64) -> Vec<f64> {
        let longest_ns = self.steps.iter().map(|step| step.span_ns).max().unwrap_or(0);
        let whole = self.steps.iter().filter(|step| step.span_ns > 0 && step.span_ns >= longest_ns / 2);
        whole.map(|step| amount(step) * 1e9 / step.span_ns as f64).collect()
    }

    fn latency(&self) -> Value {
        let all: u64 = self.buckets.values().sum();
        let Some(max_ns) = self.max_ns.filter(|_| all > 0) else { return spread(&[]) };
        let lowest_ns = self.buckets.keys().next().map_or(0, |index| range_of(*index).0);
        let mean = self.sum_ns as f64 / self.count as f64;
        let squares: f64 =
            self.buckets.iter().map(|(index, count)| (middle_ns(*index) as f64 - mean).powi(2) * *count as f64).sum();
        let mut bins = BTreeMap::<u64, u64>::new();
        for (index, count) in &self.buckets {
            *bins.entry(middle_ns(*index).min(HIGHEST_BIN_NS)).or_default() += count;
        }
        let bins: Map<String, Value> = bins.into_iter().map(|(ns, count)| (ns.to_string(), count.into())).collect();
        let percentile: Map<String, Value> = PERCENTILES
            .into_iter()
            .map(|percent| (format!("{percent:.6}"), self.percentile_ns(percent, all).min(max_ns).into()))
            .collect();
        json!({
            "min": lowest_ns,
            "max": max_ns,
            "mean": mean,
            "stddev": if all > 1 { (squares / (all - 1) as f64).sqrt() } else { 0.0 },
            "N": self.count,
            "percentile": percentile,
            "bins": bins,
        })
    }

    /// The upper bound of the bucket that reaches this percentage.
    fn percentile_ns(&self, percent: f64, all: u64) -> u64 {
        // 99.9 % has no exact binary form; of 1,000 operations it is the 999th.
        let wanted = ((percent * all as f64 / 100.0) - 1e-9).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        reached.map_or(u64::MAX, |(index, _)| range_of(*index).1)
    }
}

/// An amount over a time, per second.
pub(super) fn rate_per_s(amount: u64, span_ns: u64) -> f64 {
    if span_ns > 0 { amount as f64 * 1e9 / span_ns as f64 } else { 0.0 }
}

/// The percentage of all operations in each of fio's ranges of ns, us and ms.
pub(super) fn shares(directions: &[Direction]) -> [Value; 3] {
    let mut counts = [[0_u64; RANGES.len() + 2]; 3];
    for (index, count) in directions.iter().flat_map(|direction| &direction.buckets) {
        let ns = range_of(*index).0;
        let (unit, value) = match ns {
            0..1_000 => (0, ns),
            1_000..1_000_000 => (1, ns / 1_000),
            _ => (2, ns / 1_000_000),
        };
        let seconds = if value < 2_000 { RANGES.len() } else { RANGES.len() + 1 };
        counts[unit][RANGES.iter().position(|end| value < *end).unwrap_or(seconds)] += count;
    }
    let all = counts.iter().flatten().sum::<u64>().max(1) as f64;
    let names = RANGES.iter().map(u64::to_string).chain(["2000".to_owned(), ">=2000".to_owned()]);
    let names: Vec<String> = names.collect();
    [(0, 10), (1, 10), (2, 12)].map(|(unit, ranges)| {
        let share = |(name, count): (&String, &u64)| (name.clone(), json!(100.0 * *count as f64 / all));
        Value::Object(names.iter().zip(&counts[unit]).take(ranges).map(share).collect())
    })
}

fn middle_ns(index: u32) -> u64 {
    let (low, high) = range_of(index);
    low.midpoint(high)
}

fn spread(values: &[f64]) -> Value {
    let all = Spread::of(values);
    json!({ "min": all.min, "max": all.max, "mean": all.mean, "stddev": all.deviation, "N": all.count })
}

/// Minimum, maximum, mean, deviation; fio writes zeros and a count of 0 if there are no values.
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
    count: usize,
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        let count = values.len();
        if count == 0 {
            return Spread { min: 0.0, max: 0.0, mean: 0.0, deviation: 0.0, count };
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
            count,
        }
    }
}
