//! Figures over time, in as many steps as fit on a line.

use model::operation::IntervalRecord;
use model::run::RunDescription;

use super::findings::TimelineRow;
use super::pressure;
use crate::series::{Series, SeriesSet};
use statistics::Distribution;

/// Maximum number of steps: a timeline fits on a line of text.
const MOST_STEPS: usize = 60;

/// 99th percentile and maximum of each class in each interval.
#[derive(Debug, Default)]
pub(super) struct LatencyTimeline {
    classes: Vec<(String, Vec<Interval>)>,
}

#[derive(Debug)]
struct Interval {
    start_ns: u64,
    end_ns: u64,
    p99_ns: Option<u64>,
}

impl LatencyTimeline {
    pub(super) fn add(&mut self, record: &IntervalRecord) {
        let mut latencies = Distribution::default();
        latencies.add(record);
        // In an interval without completions, the age of a stuck operation is the latency.
        let p99_ns = latencies.quantile_ns(0.99).max(record.oldest_running_ns);
        let interval = Interval { start_ns: record.start_ns, end_ns: record.end_ns, p99_ns };
        match self.classes.iter_mut().find(|(class, _)| *class == record.class) {
            Some((_, intervals)) => intervals.push(interval),
            None => self.classes.push((record.class.clone(), vec![interval])),
        }
    }

    /// All rows have the same steps and can be read one below the other.
    pub(super) fn rows(&self, series: &SeriesSet, run: &RunDescription, window: (u64, u64)) -> Vec<TimelineRow> {
        let samples = series.headers().iter().filter(|header| (window.0..=window.1).contains(&header.at.monotonic_ns));
        let intervals = self.classes.iter().map(|(_, intervals)| intervals.len()).max();
        let steps = Steps::of(window, samples.count().saturating_sub(1).max(intervals.unwrap_or(0)));
        let latency = |(class, intervals): &(String, Vec<Interval>)| {
            let worst = |step| {
                let (from, to) = steps.span(step);
                let within = intervals.iter().filter(|interval| interval.start_ns < to && interval.end_ns > from);
                within.filter_map(|interval| interval.p99_ns).max().map(|ns| ns as f64 / 1e6)
            };
            TimelineRow { name: format!("{class} p99, ms"), values: (0..steps.count).map(worst).collect() }
        };
        let mut rows: Vec<TimelineRow> = self.classes.iter().map(latency).collect();
        let whole = |name, prefix| {
            counter_row(steps, series, name, &series.prefixed(prefix).collect::<Vec<_>>(), 1.0).filter(moves)
        };
        rows.extend(whole("memcg reclaims, /s".to_owned(), pressure::MEMORY_CGROUP_RECLAIMS));
        rows.extend(whole("allocation stalls, /s".to_owned(), pressure::ALLOCATION_STALLS));
        rows.extend(devices(steps, series, run));
        rows
    }
}

/// Equal parts of a time.
#[derive(Debug, Clone, Copy)]
struct Steps {
    window: (u64, u64),
    count: usize,
}

impl Steps {
    fn of(window: (u64, u64), available: usize) -> Steps {
        Steps { window, count: available.clamp(1, MOST_STEPS) }
    }

    fn span(&self, step: usize) -> (u64, u64) {
        let (from, to) = self.window;
        let edge = |step: usize| from + (u128::from(to - from) * step as u128 / self.count as u128) as u64;
        (edge(step), edge(step + 1))
    }
}

/// Bytes read and written over time, for the devices under test, however little they moved, then for those that moved
/// most. Devices are not summed: a loop device and the disk below it move the same bytes.
fn devices(steps: Steps, series: &SeriesSet, run: &RunDescription) -> Vec<TimelineRow> {
    const DEVICES: usize = 2;
    let described = |identity: &str| run.devices.iter().find(|device| device.identity == identity);
    let is_under_test = |identity: &str| described(identity).is_some_and(|device| run.is_under_test(device));
    let (from, to) = steps.window;
    let (Some(first), Some(last)) = (series.sample_at(from), series.sample_at(to)) else { return Vec::new() };
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
    devices.sort_by_key(|&(moved, instance)| (!is_under_test(instance), std::cmp::Reverse(moved)));
    let under_test = devices.iter().filter(|(_, instance)| is_under_test(instance)).count();
    let mut rows = Vec::new();
    for (_, instance) in devices.into_iter().take(DEVICES.max(under_test)) {
        for (direction, name) in directions {
            let counters: Vec<&Series> = counter(instance, name).into_iter().collect();
            let kernel_name = counters.iter().find_map(|counter| counter.descriptor.device.as_deref());
            let name = described(instance).map(|device| device.name.as_str()).or(kernel_name).unwrap_or(instance);
            let label = format!("{name} {direction}, MiB/s");
            let row = counter_row(steps, series, label, &counters, 512.0 / 1048576.0);
            rows.extend(row.filter(|row| is_under_test(instance) || moves(row)));
        }
    }
    rows
}

fn moves(row: &TimelineRow) -> bool {
    row.values.iter().flatten().any(|&value| value > 0.0)
}

/// Rate of the sum of counters in each step; `None` without such a counter.
fn counter_row(
    steps: Steps,
    series: &SeriesSet,
    name: String,
    counters: &[&Series],
    factor: f64,
) -> Option<TimelineRow> {
    let rate = |step| {
        let (from, to) = steps.span(step);
        let (first, last) = (series.sample_at(from)?, series.sample_at(to)?);
        Some(series.rate_per_s(counters.iter().copied(), first, last)? * factor)
    };
    let values: Vec<Option<f64>> = (0..steps.count).map(rate).collect();
    values.iter().any(Option::is_some).then_some(TimelineRow { name, values })
}

#[cfg(test)]
mod tests {
    use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
    use model::run::{Device, Mount};
    use model::time::Moment;

    use super::*;

    const S: u64 = 1_000_000_000;

    /// The disk of the recorded command was left out where two others moved more.
    #[test]
    fn disks_under_test_are_always_drawn_and_come_first() {
        let disk = |name: &str, number: &str| Device {
            name: name.into(),
            number: number.into(),
            identity: format!("{name}-serial"),
            ..Device::default()
        };
        let mount = |point: &str, source: &str| Mount {
            point: point.into(),
            source: source.into(),
            fs_type: "ext4".into(),
            options: String::new(),
            device: "0:40".into(),
        };
        let run = RunDescription {
            devices: vec![disk("sda", "8:0"), disk("sdb", "8:16"), disk("sdc", "8:32"), disk("sdd", "8:48")],
            mounts: vec![mount("/", "/dev/sda1"), mount("/data", "/dev/sdb1")],
            under_test: vec!["/data/pg".into()],
            ..RunDescription::new("test", Moment::default())
        };
        let mut series = SeriesSet::default();
        let name = || pressure::READ_SECTORS.to_owned();
        let (unit, semantics) = (Unit::Sectors, Semantics::Counter);
        let moved = [("sda", 9000), ("sdb", 0), ("sdc", 7000), ("sdd", 100)];
        for (id, (disk, _)) in (0..).zip(moved) {
            let (id, instance) = (MetricId(id), format!("{disk}-serial"));
            series
                .describe(&[MetricDescriptor { id, name: name(), instance, unit, semantics, device: None }], |_| true);
        }
        for second in 0..3 {
            let at = Moment { monotonic_ns: u64::from(second) * S, wall_ns: 0 };
            series.sample(SampleHeader { sample: second, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
            let value = |moved: i64| Some(moved * i64::from(second));
            let changes = (0..).zip(moved).map(|(id, (_, moved))| MetricChange {
                sample: second,
                metric: MetricId(id),
                value: value(moved),
            });
            series.feed(&changes.collect::<Vec<_>>());
        }
        let rows = LatencyTimeline::default().rows(&series, &run, (0, 2 * S));
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["sdb reads, MiB/s", "sda reads, MiB/s"]);
    }
}
