//! A few figures over time, in as many steps as fit on a line.

use model::operation::IntervalRecord;

use super::findings::TimelineRow;
use super::pressure;
use crate::distribution::Distribution;
use crate::series::{Series, SeriesSet};

/// Steps of a timeline.
const STEPS: usize = 60;

/// 99th percentile and maximum of each class in each interval.
#[derive(Debug, Default)]
pub(super) struct LatencyTimeline {
    classes: Vec<(String, Vec<Interval>)>,
}

#[derive(Debug)]
struct Interval {
    end_ns: u64,
    p99_ns: Option<u64>,
}

impl LatencyTimeline {
    pub(super) fn add(&mut self, record: &IntervalRecord) {
        let mut latencies = Distribution::default();
        latencies.add(record);
        // An operation that is still stuck is the truth about an interval in which nothing finished.
        let p99_ns = latencies.quantile_ns(0.99).max(record.oldest_running_ns);
        let interval = Interval { end_ns: record.end_ns, p99_ns };
        match self.classes.iter_mut().find(|(class, _)| *class == record.class) {
            Some((_, intervals)) => intervals.push(interval),
            None => self.classes.push((record.class.clone(), vec![interval])),
        }
    }

    pub(super) fn rows(&self, series: &SeriesSet, window: (u64, u64)) -> Vec<TimelineRow> {
        let latency = |(class, intervals): &(String, Vec<Interval>)| {
            let mut values = vec![None; steps(intervals.len())];
            for interval in intervals {
                let at = step_of(window, interval.end_ns.saturating_sub(1), values.len());
                let value = interval.p99_ns.map(|ns| ns as f64 / 1e6);
                values[at] = f64_max(values[at], value);
            }
            TimelineRow { name: format!("{class} p99, ms"), values }
        };
        let mut rows: Vec<TimelineRow> = self.classes.iter().map(latency).collect();
        let whole = |name, prefix| counter_row(window, series, name, &series.prefixed(prefix).collect::<Vec<_>>(), 1.0);
        rows.extend(whole("memcg reclaims, /s".to_owned(), pressure::BOX_RECLAIMS));
        rows.extend(whole("allocation stalls, /s".to_owned(), pressure::ALLOCATION_STALLS));
        rows.extend(busiest_devices(series, window));
        rows
    }
}

fn steps(available: usize) -> usize {
    available.clamp(1, STEPS)
}

fn step_of((from, to): (u64, u64), at: u64, steps: usize) -> usize {
    let position = u128::from(at.saturating_sub(from)) * steps as u128 / u128::from(to - from);
    (position as usize).min(steps - 1)
}

fn f64_max(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, other) => one.or(other),
    }
}

/// Bytes read and written over time, of the few devices that moved most. Devices are not summed up: a loop device and
/// the disk below it move the same bytes.
fn busiest_devices(series: &SeriesSet, window: (u64, u64)) -> Vec<TimelineRow> {
    const DEVICES: usize = 2;
    let (Some(first), Some(last)) = (series.sample_at(window.0), series.sample_at(window.1)) else { return Vec::new() };
    let directions = [("reads", pressure::READ_SECTORS), ("writes", pressure::WRITTEN_SECTORS)];
    let counter = |instance: &str, name| series.named(name).find(|counter| counter.descriptor.instance == instance);
    let mut devices: Vec<(u64, &str)> = series
        .named(pressure::READ_SECTORS)
        .map(|reads| reads.descriptor.instance.as_str())
        .map(|instance| {
            let moved = directions.iter().filter_map(|(_, name)| counter(instance, name)?.growth(first, last));
            (moved.sum(), instance)
        })
        .collect();
    devices.sort_by_key(|&(moved, _)| std::cmp::Reverse(moved));
    let mut rows = Vec::new();
    for (_, instance) in devices.into_iter().take(DEVICES) {
        for (direction, name) in directions {
            let counters: Vec<&Series> = counter(instance, name).into_iter().collect();
            let label = format!("{instance} {direction}, MiB/s");
            rows.extend(counter_row(window, series, label, &counters, 512.0 / 1048576.0));
        }
    }
    rows
}

/// Rate of the sum of counters in each step; `None` where there is no such counter or it never moved, so that the eye
/// is not drawn to a flat line.
fn counter_row(
    window: (u64, u64),
    series: &SeriesSet,
    name: String,
    counters: &[&Series],
    factor: f64,
) -> Option<TimelineRow> {
    let (from, to) = window;
    let inside = series.headers().iter().filter(|header| (from..=to).contains(&header.at.monotonic_ns)).count();
    let steps = steps(inside.saturating_sub(1));
    let edge = |step: usize| from + ((to - from) as u128 * step as u128 / steps as u128) as u64;
    let rate = |step: usize| {
        let (first, last) = (series.sample_at(edge(step))?, series.sample_at(edge(step + 1))?);
        Some(series.rate_per_s(counters.iter().copied(), first, last)? * factor)
    };
    let values: Vec<Option<f64>> = (0..steps).map(rate).collect();
    values.iter().flatten().any(|&value| value > 0.0).then_some(TimelineRow { name, values })
}
