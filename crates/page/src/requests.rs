//! Block requests: the longest in a list, all as heat maps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use explain::blame::Accounting;
use model::block::DeviceNumber;
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, RequestRecord, request_bucket_floor_ns};
use serde_json::{Value, json};

use crate::chart::{Heat, absent};
use crate::longest::Longest;
use crate::request_list::{device_name, requests};

/// Devices whose requests get heat maps: those with the most requests.
const DEVICES: usize = 2;
const NO_TRACE: &str = "The run has no trace of block requests; record as root, without --no-trace.";

/// Collects requests.
#[derive(Debug)]
pub(crate) struct RequestCharts {
    started_ns: u64,
    longest: Longest,
    seen: u64,
    heats: BTreeMap<DeviceNumber, Heats>,
}

#[derive(Debug, Default)]
struct Heats {
    count: u64,
    queue: Heat,
    device: Heat,
}

impl RequestCharts {
    pub(crate) fn new(started_ns: u64, most: usize) -> RequestCharts {
        RequestCharts { started_ns, longest: Longest::new(most), seen: 0, heats: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, request: &RequestRecord) {
        self.seen += 1;
        if self.longest.would_keep(request.lived_ns()) {
            self.longest.push(request.clone());
        }
    }

    pub(crate) fn interval(&mut self, record: &RequestIntervalRecord) {
        let heats = self.heats.entry(record.device).or_default();
        let end_ns = record.end_ns.saturating_sub(self.started_ns);
        heats.count += record.count;
        for bucket in &record.queue {
            heats.queue.add(end_ns, request_bucket_floor_ns(bucket.index), bucket.count);
        }
        for bucket in &record.device_time {
            heats.device.add(end_ns, request_bucket_floor_ns(bucket.index), bucket.count);
        }
    }

    pub(crate) fn charts(&self, run: &RunDescription, span_ns: u64) -> Vec<Value> {
        let mut devices: Vec<(&DeviceNumber, &Heats)> = self.heats.iter().collect();
        let is_under_test = |number: DeviceNumber| run.device(number).is_some_and(|device| run.is_under_test(device));
        devices.sort_by_key(|(number, heats)| (!is_under_test(**number), Reverse(heats.count), **number));
        let under_test = devices.iter().filter(|(number, _)| is_under_test(**number)).count();
        let mut charts = Vec::new();
        for (at, (number, heats)) in devices.into_iter().take(DEVICES.max(under_test)).enumerate() {
            let name = device_name(run, *number);
            for (what, heat) in [("in the queue of", &heats.queue), ("at", &heats.device)] {
                if !heat.is_empty() {
                    let id = format!("requests.{at}.{}", if what == "at" { "device" } else { "queue" });
                    charts.push(heat.chart(&id, &format!("Requests {what} {name}"), run.sample_interval_ns, span_ns));
                }
            }
        }
        if charts.is_empty() {
            charts.push(absent("requests", "Latency of block requests", NO_TRACE));
        }
        charts
    }

    pub(crate) fn into_value(self, run: &RunDescription, accounting: Option<&Accounting>) -> Value {
        let mut value = requests(self.longest.into_rows(), run, accounting);
        value["seen"] = json!(self.seen);
        value
    }
}
