//! The load over time: latencies, rates, bytes.

use std::collections::BTreeMap;

use model::latency::range_of;
use model::operation::{IntervalRecord, ROUND};
use serde_json::Value;

use crate::chart::{ChartUnit, Heat, absent, lines, logarithmic};
use crate::steps::{ChartAxis, Join};

const NO_LOAD: &str = "The run has no Stallscope load; use 'stallscope run', or see the system calls below.";

/// One class in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    count: u64,
    bytes: u64,
    errors: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    oldest_ns: Option<u64>,
}

/// Collects intervals.
#[derive(Debug, Default)]
pub(crate) struct LoadCharts {
    started_ns: u64,
    /// Starts by end.
    intervals: BTreeMap<u64, u64>,
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    name: String,
    points: BTreeMap<u64, Point>,
    heat: Heat,
}

impl LoadCharts {
    pub(crate) fn new(started_ns: u64) -> LoadCharts {
        LoadCharts { started_ns, ..LoadCharts::default() }
    }

    pub(crate) fn interval(&mut self, record: &IntervalRecord) {
        let end_ns = record.end_ns.saturating_sub(self.started_ns);
        self.intervals.insert(end_ns, record.start_ns.saturating_sub(self.started_ns));
        let class = match self.classes.iter_mut().position(|class| class.name == record.class) {
            Some(at) => &mut self.classes[at],
            None => {
                let class = Class { name: record.class.clone(), points: BTreeMap::new(), heat: Heat::default() };
                self.classes.push(class);
                self.classes.last_mut().expect("it was just pushed")
            }
        };
        let point = class.points.entry(end_ns).or_default();
        point.count += record.count;
        point.bytes += record.bytes;
        point.errors += record.errors;
        point.p50_ns = point.p50_ns.max(quantile(record, 0.50));
        point.p99_ns = point.p99_ns.max(quantile(record, 0.99));
        point.max_ns = point.max_ns.max(record.max_ns);
        point.oldest_ns = point.oldest_ns.max(record.oldest_running_ns.filter(|_| record.stuck > 0));
        if record.class != ROUND {
            for bucket in &record.buckets {
                class.heat.add(end_ns, range_of(bucket.index).0, bucket.count);
            }
        }
    }

    /// The last known moment, since the run's start.
    pub(crate) fn end_ns(&self) -> u64 {
        self.intervals.keys().next_back().copied().unwrap_or(0)
    }

    pub(crate) fn axis(&self) -> ChartAxis {
        ChartAxis { at_ns: self.intervals.keys().copied().collect() }
    }

    /// Heat maps and percentiles of each class, then rates.
    pub(crate) fn charts(&self, interval_ns: u64, span_ns: u64) -> Vec<Value> {
        let axis = self.axis();
        let timed: Vec<&Class> = self.classes.iter().filter(|class| class.name != ROUND).collect();
        let mut charts = Vec::new();
        if timed.is_empty() {
            charts.push(absent("latency", "Latency of operations", NO_LOAD));
        }
        for class in &timed {
            let id = format!("heat.{}", class.name);
            if !class.heat.is_empty() {
                charts.push(class.heat.chart(&id, &format!("Latency of {}", class.name), interval_ns, span_ns));
            }
            charts.push(self.percentiles(&axis, class));
        }
        charts.push(self.rates(&axis));
        charts.push(self.throughput(&axis, &timed));
        charts
    }

    fn percentiles(&self, axis: &ChartAxis, class: &Class) -> Value {
        type Of = fn(&Point) -> Option<u64>;
        let of: [(&str, Of); 4] = [
            ("p50", |point| point.p50_ns),
            ("p99", |point| point.p99_ns),
            ("max", |point| point.max_ns),
            ("oldest stuck", |point| point.oldest_ns),
        ];
        let line = |(name, of): (&str, Of)| {
            let values = self.values(class, |point, _| of(point).map(|ns| ns as f64));
            values.iter().any(Option::is_some).then(|| axis.line(name, &values, Join::Largest))
        };
        let id = format!("percentiles.{}", class.name);
        let title = format!("Percentiles of {}", class.name);
        logarithmic(lines(&id, &title, ChartUnit::Ns, "intervals", of.into_iter().filter_map(line).collect(), NO_LOAD))
    }

    /// Rounds, if any, and operations by class.
    fn rates(&self, axis: &ChartAxis) -> Value {
        let line = |class: &Class| {
            let values = self.values(class, |point, seconds| Some(point.count as f64 / seconds));
            let name = if class.name == ROUND { "work (rounds)" } else { &class.name };
            axis.line(name, &values, Join::Mean)
        };
        lines("work", "Work rate", ChartUnit::PerS, "intervals", self.classes.iter().map(line).collect(), NO_LOAD)
    }

    fn throughput(&self, axis: &ChartAxis, timed: &[&Class]) -> Value {
        let moving = timed.iter().filter(|class| class.points.values().any(|point| point.bytes > 0));
        let line = |class: &&Class| {
            let values = self.values(class, |point, seconds| Some(point.bytes as f64 / seconds));
            axis.line(&class.name, &values, Join::Mean)
        };
        let title = "Load throughput";
        lines("throughput", title, ChartUnit::BytesPerS, "intervals", moving.map(line).collect(), NO_LOAD)
    }

    /// A value for each interval; none where the class did not occur.
    fn values(&self, class: &Class, of: impl Fn(&Point, f64) -> Option<f64>) -> Vec<Option<f64>> {
        let value = |(end_ns, start_ns): (&u64, &u64)| {
            let seconds = end_ns.saturating_sub(*start_ns) as f64 / 1e9;
            class.points.get(end_ns).filter(|_| seconds > 0.0).and_then(|point| of(point, seconds))
        };
        self.intervals.iter().map(value).collect()
    }
}

/// The latency that this share of an interval's operations did not exceed.
fn quantile(record: &IntervalRecord, quantile: f64) -> Option<u64> {
    let all: u64 = record.buckets.iter().map(|bucket| bucket.count).sum();
    let wanted = (all as f64 * quantile).ceil().max(1.0) as u64;
    let mut seen = 0;
    let bucket = record.buckets.iter().find(|bucket| {
        seen += bucket.count;
        seen >= wanted
    })?;
    let high_ns = range_of(bucket.index).1;
    Some(record.max_ns.map_or(high_ns, |max_ns| high_ns.min(max_ns)))
}
