//! Waits for storage that polls saw: of their requests nothing is known.

use std::collections::HashSet;

use model::block::{DeviceNumber, Operation};
use model::stall::StallKind;
use model::usage::Resource;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::intent::Intent;
use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::storage::usage::Target;
use crate::blame::operations::unfinished::{device, reads};
use crate::blame::rule::{Example, Rule};
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

pub(crate) const RULE: Rule = Rule {
    id: "polled-wait-is-held",
    concludes: "A wait for storage that had not ended waits for a limit of its cgroup.",
    from: "While it waited, a limit delayed at least half of the requests of its direction that the disk completed for \
           its cgroup; or the file's disk \
           never had anything to do, and a cgroup has a limit on it; otherwise the last request that the same task \
           waited for, or a task of its cgroup, was held.",
    because: "Only a completion says what a request went through. Requests of one cgroup, disk and direction pass the \
              same limit, in their order.",
    unless: "The disk itself hangs for this one request alone.",
    example: Example {
        timeline: "
            task    7 |n                | cgroup=/a
            task    8 |n                | cgroup=/a
            blocked 7 |      ===========| call=write stack=folio_wait_bit_common,filemap_read
            off     8 |sss              | call=write stack=iomap_dio_rw request=1
            request 1 |  QIDC           | device=8,0 kind=W throttled",
        causes: "io_throttle 11",
        chain: "/7: io_throttle 11",
    },
};

pub(crate) fn find(index: &RunIndex, disks: &Disks) -> Vec<(u32, Intent)> {
    let is_poll = |row: &&Row| row.kind == StallKind::Blocked && row.request.get().is_none();
    let polled: Vec<&Row> = index.rows.iter().filter(is_poll).collect();
    if polled.is_empty() {
        return Vec::new();
    }
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
        // A disk that never had anything to do completed none of the requests that others waited for.
        let is_held_back = || !held_back.is_empty() && held_back.contains(&place(index, disks, row));
        if is_delayed(index, disks, row) || is_held_back() {
            return true;
        }
        let of = keys(index, row, reads(index, row)).into_iter().flatten();
        let known = of.filter_map(|key| last.get(&key)).next();
        known.is_some_and(|&(_, throttled)| throttled)
    };
    let held = polled.into_iter().filter(|row| is_throttled(row));
    held.map(|row| (row.at, Intent { for_limit: true, ..*index.intent(row) })).collect()
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
