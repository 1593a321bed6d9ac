//! The list of block requests.

use explain::blame::Accounting;
use model::block::DeviceNumber;
use model::run::RunDescription;
use model::stall::{KindCounts, RequestRecord};
use serde_json::Value;

use crate::columns::{Ascending, document_columns};
use crate::number::{NameIndex, NameTable};

document_columns! {
    /// A block request in the list.
    ListedRequest {
        /// its first moment, since the run's start, µs; the differences
        begin_us: Ascending => "begin",
        /// inserted into the I/O scheduler, µs after `begin`; null: not seen
        inserted_us: Option<u64> => "inserted",
        /// issued to the device, µs after `begin`; null: not seen
        issued_us: Option<u64> => "issued",
        /// completed, µs after `begin`
        done_us: u64 => "done",
        /// completed bytes
        bytes: u64 => "bytes",
        /// first sector
        sector: u64 => "sector",
        /// 1: throttled by its cgroup before it was queued
        throttled: bool => "throttled",
        /// device: index in `names`
        device: NameIndex => "device",
        /// RWBS letters: index in `names`
        kind: NameIndex => "kind",
        /// submitter: index in `names`
        task: NameIndex => "task",
        /// requests in flight when it came, by kind: index in `names`
        in_flight: NameIndex => "before",
        /// requests that overtook it, by kind: index in `names`
        overtaken_by: NameIndex => "overtaken",
    }
}

/// Requests as columns, in order of their begins.
pub fn requests(mut requests: Vec<RequestRecord>, run: &RunDescription, accounting: Option<&Accounting>) -> Value {
    requests.sort_by_key(|request| (request.began_ns(), request.request));
    let mut names = NameTable::default();
    let listed: Vec<ListedRequest> =
        requests.iter().map(|request| listed(request, run, accounting, &mut names)).collect();
    let mut list = ListedRequest::columns(&listed.iter().collect::<Vec<_>>());
    list.insert("names".to_owned(), names.into_value());
    Value::Object(list)
}

fn listed(
    request: &RequestRecord,
    run: &RunDescription,
    accounting: Option<&Accounting>,
    names: &mut NameTable,
) -> ListedRequest {
    let began_ns = request.began_ns();
    let after_us = |ns: u64| ns.saturating_sub(began_ns) / 1_000;
    let task = match accounting {
        Some(accounting) => accounting.thread(request.tid, request.completed_ns).to_string(),
        None => format!("thread {}", request.tid),
    };
    ListedRequest {
        begin_us: Ascending(began_ns.saturating_sub(run.started.monotonic_ns) / 1_000),
        inserted_us: request.inserted_ns.map(after_us),
        issued_us: request.issued_ns.map(after_us),
        done_us: after_us(request.completed_ns),
        bytes: request.bytes.into(),
        sector: request.sector,
        throttled: request.throttled,
        device: names.index_of(&device_name(run, request.device)),
        kind: names.index_of(&request.kind.to_string()),
        task: names.index_of(&task),
        in_flight: names.index_of(&counts(&request.in_flight)),
        overtaken_by: names.index_of(&counts(&request.overtaken_by)),
    }
}

fn counts(counts: &KindCounts) -> String {
    let words: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    words.join(", ")
}

/// The device's name, or its number where the run does not describe it.
pub(crate) fn device_name(run: &RunDescription, number: DeviceNumber) -> String {
    let described = run.device(number).map(|device| device.name.clone());
    described.or_else(|| number.registered_name()).unwrap_or_else(|| number.to_string())
}
