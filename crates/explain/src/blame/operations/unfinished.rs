//! Waits for storage that had not ended with the recording: their requests are unknown, because only a completion says
//! what a request went through.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::stall::StallKind;
use model::system_call::traits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::operations::Operation as SlowOperation;

/// The disk that a wait without a request is for, as the tracer says it: of a poll, what it says of the same wait.
/// `None` where it does not.
pub(crate) fn traced_device(index: &RunIndex, disks: &Disks, row: &Row) -> Option<DeviceNumber> {
    let said = |row: &Row| disks.of_detail(index.names.detail(row.detail?));
    let is_same = |other: &Row| {
        let both_ns = other.end_ns.min(row.end_ns).saturating_sub(other.start_ns.max(row.start_ns));
        other.switched && both_ns >= (row.end_ns - row.start_ns) / 2
    };
    let around = || index.rows_between(row.tid, row.start_ns, row.end_ns).map(|(_, other)| other);
    said(row).or_else(|| around().filter(|other| !row.switched && is_same(other)).find_map(said))
}

/// The same, else the disk of the file. A poll has its path as the task sees it, which may have other mounts.
pub(crate) fn device(index: &RunIndex, disks: &Disks, row: &Row) -> Option<DeviceNumber> {
    let of_path = || disks.of_path(index.names.get(row.path?));
    traced_device(index, disks, row).or_else(of_path)
}

/// Whether a wait without a request is for a read.
pub(crate) fn reads(index: &RunIndex, row: &Row) -> bool {
    // So is a page fault outside of a call.
    row.call.is_none() || index.does(row, traits::READS_FILE | traits::READS_METADATA)
}

/// For each task with an unfinished operation, the moment after which rows are missing: a wait that lasts has no row.
pub(crate) fn silent(index: &RunIndex, operations: &[SlowOperation]) -> HashMap<u32, u64> {
    let mut silent = HashMap::new();
    for operation in operations.iter().filter(|operation| !operation.finished) {
        // The tracer recorded its last wait when the recording ended.
        let is_last = |row: &Row| row.unfinished || (row.kind == StallKind::Blocked && row.switched);
        if index.rows_of(operation.tid).any(|(_, row)| is_last(row) && row.end_ns >= operation.end_ns) {
            continue;
        }
        let traced = index.rows_of(operation.tid).filter(|(_, row)| row.kind != StallKind::Blocked);
        let last_ns = traced.map(|(_, row)| row.end_ns).max().unwrap_or(0).max(operation.start_ns);
        let from_ns: &mut u64 = silent.entry(operation.tid).or_default();
        *from_ns = last_ns.max(*from_ns);
    }
    silent
}
