//! Block requests: the longest one by one, all as heat maps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use explain::blame::Accounting;
use model::block::DeviceNumber;
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, RequestRecord, request_bucket_floor_ns};
use serde_json::{Value, json};

use crate::chart::{Heat, absent};
use crate::longest::Longest;
use crate::number::{Names, deltas};

/// Devices whose requests get heat maps: those with the most.
const DEVICES: usize = 2;
const NO_TRACE: &str = "The run has no trace of block requests; record as root, without --no-trace.";

/// Collects requests.
#[derive(Debug)]
pub(crate) struct Requests {
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

impl Requests {
    pub(crate) fn new(started_ns: u64, most: usize) -> Requests {
        Requests { started_ns, longest: Longest::new(most), seen: 0, heats: BTreeMap::new() }
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
        devices.sort_by_key(|(number, heats)| (Reverse(heats.count), **number));
        let mut charts = Vec::new();
        for (at, (number, heats)) in devices.into_iter().take(DEVICES).enumerate() {
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

fn device_name(run: &RunDescription, number: DeviceNumber) -> String {
    let colon = format!("{}:{}", number.major(), number.minor());
    let known = run.devices.iter().find(|device| device.number == colon);
    known.map_or_else(|| number.to_string(), |device| device.name.clone())
}

/// Requests as columns, in order of their begins. Times are µs: since the run's start, then since the request's begin;
/// null where a moment was not seen.
pub fn requests(mut rows: Vec<RequestRecord>, run: &RunDescription, accounting: Option<&Accounting>) -> Value {
    rows.sort_by_key(|request| (request.began_ns(), request.request));
    let mut names = Names::default();
    let mut text = |name: &str| names.place(name);
    let since = |ns: u64| ns.saturating_sub(run.started.monotonic_ns) / 1_000;
    let task = |request: &RequestRecord| match accounting {
        Some(accounting) => accounting.who(request.tid, request.completed_ns).to_string(),
        None => format!("thread {}", request.tid),
    };
    let kinds = |counts: &model::stall::KindCounts| {
        let words: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        words.join(", ")
    };
    let of = |moment: fn(&RequestRecord) -> Option<u64>| -> Value {
        let after = |request: &RequestRecord| Some(moment(request)?.saturating_sub(request.began_ns()) / 1_000);
        rows.iter().map(after).map(|us| us.map_or(Value::Null, Value::from)).collect()
    };
    let mut word = |of: &dyn Fn(&RequestRecord) -> String| -> Value {
        rows.iter().map(|request| Value::from(text(&of(request)))).collect()
    };
    json!({
        "begin": deltas(rows.iter().map(|request| since(request.began_ns()))),
        "inserted": of(|request| request.inserted_ns),
        "issued": of(|request| request.issued_ns),
        "done": of(|request| Some(request.completed_ns)),
        "bytes": rows.iter().map(|request| request.bytes).collect::<Vec<_>>(),
        "sector": rows.iter().map(|request| request.sector).collect::<Vec<_>>(),
        "throttled": rows.iter().map(|request| u8::from(request.throttled)).collect::<Vec<_>>(),
        "device": word(&|request| device_name(run, request.device)),
        "kind": word(&|request| request.kind.to_string()),
        "task": word(&task),
        "before": word(&|request| kinds(&request.in_flight)),
        "overtaken": word(&|request| kinds(&request.overtaken_by)),
        "names": names.into_value(),
    })
}
