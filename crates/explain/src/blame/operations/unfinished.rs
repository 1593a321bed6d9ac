//! Waits for storage that had not ended with the recording: their requests are unknown, because only a completion says what a request
//! went through.

use std::collections::{HashMap, HashSet};

use model::block::{DeviceNumber, Operation};
use model::stall::StallKind;
use model::system_call::traits;
use model::usage::Resource;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::disks::Disks;
use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::usage::Target;
use crate::blame::operations::Operation as SlowOperation;
use crate::hashing::FastMap;

/// Whose requests are compared: those of one direction, of a task or of its cgroup.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    tid: Option<u32>,
    cgroup: Option<Name>,
    reads: bool,
}

/// When the request that ended a wait completed, and whether a limit of its cgroup took most of the wait.
type Last = (u64, bool);

/// The polled waits that are probably for a throttled request. While the task waited, a limit delayed at least half of the requests of that
/// direction that the disk completed for its cgroup: pages that wait for their request wait for the same limit. Otherwise, so was the last
/// request that the same task waited for, or, where it waited for none, a task of its cgroup. Where none of them had a request that ended,
/// it is so if the file's disk never had anything to do, and a cgroup has a limit on it.
pub(crate) fn throttled(index: &RunIndex, disks: &Disks) -> Vec<u32> {
    let mut last: FastMap<Key, Last> = FastMap::default();
    for row in index.rows.iter().filter(|row| row.kind == StallKind::OffCpu) {
        let Some(request) = index.request(row) else { continue };
        let reads = request.kind.operation() == Operation::Read;
        let this = (request.completed_ns, index.find_main_cause(row) == Cause::IoThrottle);
        for key in keys(index, row, reads).into_iter().flatten() {
            let known = last.entry(key).or_default();
            *known = (*known).max(this);
        }
    }
    let held_back = held_back(index, disks);
    let is_throttled = |row: &Row| {
        if is_delayed(index, disks, row) {
            return true;
        }
        let of = keys(index, row, reads(index, row)).into_iter().flatten();
        let known = of.filter_map(|key| last.get(&key)).next();
        let is_held_back = || !held_back.is_empty() && held_back.contains(&place(index, disks, row));
        known.map_or_else(is_held_back, |&(_, throttled)| throttled)
    };
    let polled =
        index.rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::Blocked && row.request.get().is_none());
    polled.filter(|(row, _)| is_throttled(row)).map(|(_, at)| at).collect()
}

/// Whether a limit delayed what a disk did for the cgroup of a task while that waited for the disk.
fn is_delayed(index: &RunIndex, disks: &Disks, row: &Row) -> bool {
    let pid = index.tasks.process_of(row.tid, row.end_ns);
    let Some(device) = device(index, disks, row) else { return false };
    let Some(cgroup) = index.usage.cgroup_on(device, pid, row.end_ns) else { return false };
    let wanted = if reads(index, row) { Resource::DeviceRead } else { Resource::DeviceWrite };
    let used = index.usage.between(Target::Device(device), row.start_ns, row.end_ns).map(|(used, _)| used);
    let used = used.filter(|used| used.cgroup == Some(cgroup) && used.resource == wanted);
    let (all, throttled) = used.fold((0, 0), |sums, used| (sums.0 + used.count, sums.1 + used.throttled));
    throttled > 0 && throttled >= all / 2
}

/// The disk that a wait without a request is for, as the tracer says it: of a poll, what it says of the same wait. `None` where it does not.
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

/// A disk, and whether it is for reads.
type Place = (Option<DeviceNumber>, bool);

fn place(index: &RunIndex, disks: &Disks, row: &Row) -> Place {
    (device(index, disks, row), reads(index, row))
}

/// The disks that never had anything to do, and what of theirs is limited.
fn held_back(index: &RunIndex, disks: &Disks) -> HashSet<Place> {
    let limits = index.io_limits.keys().filter(|(identity, _)| index.idle_disks.contains(identity));
    let known = limits.map(|(identity, kind)| (disks.number(identity), kind.starts_with("read")));
    known.filter(|(disk, _)| disk.is_some()).collect()
}

/// The task first.
fn keys(index: &RunIndex, row: &Row, reads: bool) -> [Option<Key>; 2] {
    let cgroup = index.tasks.cgroup(row.tid, row.end_ns);
    let of_cgroup = cgroup.map(|cgroup| Key { tid: None, cgroup: Some(cgroup), reads });
    [Some(Key { tid: Some(row.tid), cgroup: None, reads }), of_cgroup]
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
        let is_last = |row: &Row| row.standing || (row.kind == StallKind::Blocked && row.switched);
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
