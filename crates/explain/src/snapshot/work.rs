//! Work: by class of operation with a load, otherwise by device.

use std::collections::BTreeMap;

use model::block::{DeviceNumber, Operation};
use model::operation::{IntervalRecord, ROUND};
use model::run::RunDescription;
use model::stall::RequestIntervalRecord;

use super::devices::quantile_ns;
use super::history::{History, Steps};
use super::window::Window;
use statistics::Distribution;

/// Operations of one class, or requests of one device, in the window. `None`: none finished.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Class, or device and direction: `write`, `sda reads`.
    pub name: String,
    /// Finished per second.
    pub per_s: Option<f64>,
    /// Bytes moved per second.
    pub bytes_per_s: Option<f64>,
    /// Operations that failed.
    pub errors: u64,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum, if known exactly.
    pub max_ns: Option<u64>,
    /// Operations stuck at the window's end.
    pub stuck: u64,
    /// Age of the oldest operation running at the window's end.
    pub oldest_running_ns: Option<u64>,
    /// Finished per second, in equal steps of a history that ends with the window.
    pub history: Vec<Option<f64>>,
}

/// Collects intervals.
#[derive(Debug)]
pub(super) struct WorkBuilder {
    window: Window,
    /// Start of the run.
    started_ns: u64,
    /// Names of devices by number.
    devices: Vec<(String, String)>,
    classes: Vec<Class>,
    requests: BTreeMap<(DeviceNumber, &'static str), Requests>,
}

#[derive(Debug)]
struct Class {
    name: String,
    steps: Steps,
    inside: Distribution,
    span_ns: u64,
    /// The last finished interval.
    last: Option<IntervalRecord>,
}

#[derive(Debug)]
struct Requests {
    steps: Steps,
    count: f64,
    bytes: f64,
    times: BTreeMap<u32, u64>,
}

impl WorkBuilder {
    pub(super) fn new(run: &RunDescription, window: Window) -> WorkBuilder {
        let devices = run.devices.iter().map(|device| (device.number.replace(':', ","), device.name.clone()));
        WorkBuilder {
            window,
            started_ns: run.started.monotonic_ns,
            devices: devices.collect(),
            classes: Vec::new(),
            requests: BTreeMap::new(),
        }
    }

    pub(super) fn interval(&mut self, record: &IntervalRecord) {
        let Window { from_ns, to_ns } = self.window;
        if record.end_ns > to_ns {
            return;
        }
        let at = self.classes.iter().position(|class| class.name == record.class).unwrap_or_else(|| {
            let steps = Steps::new(History::of(self.window));
            let (name, inside) = (record.class.clone(), Distribution::default());
            self.classes.push(Class { name, steps, inside, span_ns: 0, last: None });
            self.classes.len() - 1
        });
        let class = &mut self.classes[at];
        class.steps.add(record.start_ns, record.end_ns, record.count as f64);
        if record.end_ns > from_ns {
            class.inside.add(record);
            class.span_ns += record.end_ns.saturating_sub(record.start_ns);
        }
        if class.last.as_ref().is_none_or(|last| last.end_ns <= record.end_ns) {
            class.last = Some(record.clone());
        }
    }

    pub(super) fn requests(&mut self, record: &RequestIntervalRecord) {
        let Window { from_ns, to_ns } = self.window;
        if record.end_ns > to_ns {
            return;
        }
        let direction = match record.kind.operation() {
            Operation::Read => "reads",
            Operation::Write => "writes",
            Operation::Discard => "discards",
            Operation::None => "flushes",
        };
        let new =
            || Requests { steps: Steps::new(History::of(self.window)), count: 0.0, bytes: 0.0, times: BTreeMap::new() };
        let requests = self.requests.entry((record.device, direction)).or_insert_with(new);
        requests.steps.add(record.start_ns, record.end_ns, record.count as f64);
        if record.end_ns > from_ns {
            // An interval may start long before the window, as the first of a recording does: its part inside counts.
            let from_ns = from_ns.max(self.started_ns);
            let inside_ns = record.end_ns.saturating_sub(record.start_ns.max(from_ns)) as f64;
            let part = inside_ns / record.end_ns.saturating_sub(record.start_ns).max(1) as f64;
            requests.count += record.count as f64 * part;
            requests.bytes += record.bytes as f64 * part;
            for bucket in &record.device_time {
                *requests.times.entry(bucket.index).or_default() += bucket.count;
            }
        }
    }

    /// Operations of a load that finished in the window; those that consist of others are not counted again.
    pub(super) fn finished(&self, run: &RunDescription) -> u64 {
        let is_counted = |class: &&Class| class.name != ROUND && !run.is_whole(&class.name);
        self.classes.iter().filter(is_counted).map(|class| class.inside.count()).sum()
    }

    /// `first`: the disks that come first.
    pub(super) fn finish(self, first: &[DeviceNumber]) -> Vec<Work> {
        let WorkBuilder { window, started_ns, devices, classes, requests } = self;
        if !classes.is_empty() {
            return classes.into_iter().map(|class| class.finish(window)).collect();
        }
        let name = |number: &DeviceNumber| {
            let number = number.to_string();
            devices.iter().find(|(device, _)| *device == number).map_or(number, |(_, name)| name.clone())
        };
        let work = |((device, direction), requests): (&(DeviceNumber, &str), &Requests)| {
            let recorded = Window { from_ns: window.from_ns.max(started_ns).min(window.to_ns), ..window };
            requests.finish(format!("{} {direction}", name(device)), recorded)
        };
        let mut requests: Vec<_> = requests.iter().collect();
        requests.sort_by_key(|((device, _), _)| !first.contains(device));
        requests.into_iter().map(work).collect()
    }
}

impl Class {
    fn finish(mut self, window: Window) -> Work {
        let last = self.last.take().filter(|last| last.end_ns.saturating_add(stale_ns(last)) > window.to_ns);
        if self.span_ns == 0
            && let Some(last) = &last
        {
            // The window is shorter than the report interval: the last report still holds.
            self.inside.add(last);
            self.span_ns = last.end_ns.saturating_sub(last.start_ns);
        }
        let per_s = |count: u64| (self.span_ns > 0).then(|| count as f64 * 1e9 / self.span_ns as f64);
        Work {
            per_s: per_s(self.inside.count()),
            bytes_per_s: per_s(self.inside.bytes()),
            errors: self.inside.errors(),
            p50_ns: self.inside.quantile_ns(0.5),
            p99_ns: self.inside.quantile_ns(0.99),
            max_ns: self.inside.max_ns(),
            stuck: last.as_ref().map_or(0, |last| last.stuck),
            oldest_running_ns: last.and_then(|last| last.oldest_running_ns),
            history: self.steps.rates(),
            name: self.name,
        }
    }
}

/// How long a report holds after its end, until the next is due.
fn stale_ns(last: &IntervalRecord) -> u64 {
    last.end_ns.saturating_sub(last.start_ns).saturating_mul(2)
}

impl Requests {
    fn finish(&self, name: String, window: Window) -> Work {
        // Intervals without requests have no record: the whole window counts.
        let per_s = |amount: f64| (window.ns() > 0).then(|| amount * 1e9 / window.ns() as f64);
        Work {
            name,
            per_s: per_s(self.count),
            bytes_per_s: per_s(self.bytes),
            errors: 0,
            p50_ns: quantile_ns(&self.times, 0.5),
            p99_ns: quantile_ns(&self.times, 0.99),
            max_ns: None,
            stuck: 0,
            oldest_running_ns: None,
            history: self.steps.rates(),
        }
    }
}
