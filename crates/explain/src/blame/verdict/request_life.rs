//! A request as its victims see it.

use model::stall::RequestRecord;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::request;
use crate::blame::verdict::explanation::RequestLife;
use crate::blame::verdict::failures;

/// A request for display.
pub(crate) fn lifecycle(index: &RunIndex, record: &RequestRecord) -> RequestLife {
    RequestLife {
        device: record.device,
        device_name: index.disk_name(record.device),
        sector: record.sector,
        bytes: record.bytes,
        kind: record.kind,
        task: record.submitter().map(|tid| index.tasks.thread(tid, record.completed_ns, &index.names)),
        queue_ns: request::queue_ns(record),
        device_ns: request::device_ns(record),
        throttled: record.throttled,
        failed: failures::of(record),
        in_flight: index.requests.in_flight(record),
        overtaken_by: index.requests.overtaken_by(record),
        in_flight_of: None,
        overtakers: None,
        began_ns: record.began_ns(),
        completed_ns: record.completed_ns,
    }
}
