//! `requests`: individual block requests. There may be hundreds of thousands a second, so that a row costs neither an
//! allocation nor more bytes than it must: the moments of a request's life are small numbers before its end.

use arrow_array::ArrayRef;
use model::block::{DeviceNumber, Kind};
use model::stall::{KindCounts, RequestFailures, RequestParts, RequestRecord};

use super::cell::{Cell, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each request.
pub(crate) struct RequestTable;

impl Table for RequestTable {
    type Row = RequestRecord;
    const NAME: &'static str = "requests";
    const PRIORITY: Priority = Priority::Trace;

    columns! { RequestRecord;
        /// number within the run
        request: u32, "id";
        /// `major,minor`
        device: DeviceNumber, "text";
        /// first sector, of 512 bytes
        sector: u64, "sectors";
        /// completed
        bytes: u32, "bytes";
        /// operation, in the letters of blktrace's RWBS column: `R`, `WS`, `RAM`, `FWFS`
        kind: Kind, "text";
        /// thread that submitted it; 0: unknown
        tid: u32, "id";
        /// bios merged into it
        merges: u32, "count";
        /// its first bio entered the block layer this long before `completed_ns`: when its task went to sleep for lack
        /// of a request, else at the allocation
        queued_before_ns: Option<i64> = |row| before(row, row.queued_ns), "nanoseconds";
        /// it was allocated this long before `completed_ns`
        got_before_ns: Option<i64> = |row| before(row, row.got_ns), "nanoseconds";
        /// it was inserted into the I/O scheduler this long before `completed_ns`
        inserted_before_ns: Option<i64> = |row| before(row, row.inserted_ns), "nanoseconds";
        /// it was last issued to the device this long before `completed_ns`
        issued_before_ns: Option<i64> = |row| before(row, row.issued_ns), "nanoseconds";
        /// completion
        completed_ns: u64, "nanoseconds";
        /// status of the completion; null: success
        errno: Option<i32>, "errno";
        /// throttled by its cgroup before it was queued
        throttled: bool, "flag";
        /// other requests of the device in the queue or at the device when it came, by kind: `R445 RM22` is 445 of
        /// kind `R` and 22 of `RM`; empty: none, or unknown
        in_flight: KindCounts, "text";
        /// requests that came after it and completed before it, by kind
        overtaken_by: KindCounts, "text";
        /// since this long before `completed_ns` a flush was at the device that its data waited for
        preflush_before_ns: Later<i64> = |row| part(row, |parts| parts.preflush_ns), "nanoseconds";
        /// its data was transferred this long before `completed_ns`; after that it waited for a flush
        data_before_ns: Later<i64> = |row| part(row, |parts| parts.data_ns), "nanoseconds";
        /// since this long before `completed_ns` the flush after its data was at the device
        postflush_before_ns: Later<i64> = |row| part(row, |parts| parts.postflush_ns), "nanoseconds";
        /// request of the disk beneath a loop device, or of a path of multipath, whose completion completed it
        lower: Later<u32> = |row| row.parts.as_deref().and_then(|parts| parts.lower), "id";
        /// it was issued to the device for the first time this long before `completed_ns`, and then again, because it
        /// had failed there
        first_issued_before_ns: Later<i64> = |row| part(row, |parts| parts.failures.first_issued_ns), "nanoseconds";
        /// how often it was issued again after it had timed out or come back with an error; null: never
        retries: Later<u32> = |row| failure(row, |failures| failures.retries), "count";
        /// how often it timed out at the device; null: never
        timeouts: Later<u32> = |row| failure(row, |failures| failures.timeouts), "count";
        /// of its last failure at a SCSI disk: the device's state if it is offline << 16 | the host's code << 8 | the
        /// device's status (scsi/scsi_device.h, scsi_status.h)
        scsi_result: Later<u32> = |row| failure(row, |failures| failures.scsi_result), "code";
        /// its sense data: key << 16 | code << 8 | qualifier
        scsi_sense: Later<u32> = |row| failure(row, |failures| failures.scsi_sense), "code";
        read {
            queued_ns: moment(completed_ns, queued_before_ns),
            got_ns: moment(completed_ns, got_before_ns),
            inserted_ns: moment(completed_ns, inserted_before_ns),
            issued_ns: moment(completed_ns, issued_before_ns),
            parts: parts(RequestParts {
                preflush_ns: moment(completed_ns, preflush_before_ns),
                data_ns: moment(completed_ns, data_before_ns),
                postflush_ns: moment(completed_ns, postflush_before_ns),
                lower,
                failures: RequestFailures {
                    first_issued_ns: moment(completed_ns, first_issued_before_ns),
                    retries,
                    timeouts,
                    scsi_result,
                    scsi_sense,
                },
            }),
        }
    }

    fn span_ns(row: &RequestRecord) -> Option<(u64, u64)> {
        Some((row.completed_ns, row.completed_ns))
    }

    fn weight(row: &RequestRecord) -> usize {
        let counts = size_of_val(row.in_flight.as_slice()) + size_of_val(row.overtaken_by.as_slice());
        size_of::<RequestRecord>() + counts
    }
}

/// How long before a request's completion a moment was.
fn before(request: &RequestRecord, moment: Option<u64>) -> Option<i64> {
    Some(request.completed_ns.wrapping_sub(moment?) as i64)
}

/// The same of a moment of its parts.
fn part(request: &RequestRecord, of: impl Fn(&RequestParts) -> Option<u64>) -> Option<i64> {
    before(request, of(request.parts.as_deref()?))
}

/// What failed of a request.
fn failure(request: &RequestRecord, of: impl Fn(&RequestFailures) -> Option<u32>) -> Option<u32> {
    of(&request.parts.as_deref()?.failures)
}

/// Most requests have no parts.
fn parts(parts: RequestParts) -> Option<Box<RequestParts>> {
    (parts != RequestParts::default()).then(|| Box::new(parts))
}

/// The moment that was this long before the completion.
fn moment(completed_ns: u64, before_ns: Option<i64>) -> Option<u64> {
    Some(completed_ns.wrapping_sub(before_ns? as u64))
}
