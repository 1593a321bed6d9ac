//! Root blockers: what the chains of waits of all operations lead to.

use std::collections::HashMap;

use model::block::DeviceNumber;

use super::cause::Cause;
use super::chain::{chain_row, end};
use super::disks::Disks;
use super::explanation::{Culprit, Who};
use super::names::Name;
use super::operations::Operation;
use super::run_index::RunIndex;
use super::timeline::{Segment, TaskTimeline};
use super::timelines::TaskTimelines;

/// Culprits kept: those with the most time.
const KEPT: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    process: Option<Who>,
    cgroup: Option<Name>,
    device: Option<DeviceNumber>,
    cause: Cause,
}

/// Sums the time that each root blocker cost all operations, which are ordered by task.
pub(super) fn culprits(
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    disks: &Disks,
) -> Vec<Culprit> {
    let mut costs = Costs { index, disks, times: HashMap::new(), keys: HashMap::new() };
    for operations in operations.chunk_by(|a, b| a.tid == b.tid) {
        costs.add_task(operations, &timelines.get(operations[0].tid));
    }
    let mut times: Vec<(Key, u64)> = costs.times.into_iter().collect();
    times.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    times.truncate(KEPT);
    times.into_iter().map(|(key, time_ns)| culprit(index, key, time_ns, disks)).collect()
}

/// Time by root blocker.
struct Costs<'a> {
    index: &'a RunIndex,
    disks: &'a Disks,
    times: HashMap<Key, u64>,
    /// The root blocker of each row and cause, found once.
    keys: HashMap<(u32, Cause), Key>,
}

impl Costs<'_> {
    /// Adds the waits of one task's operations. Time within several operations counts for each.
    fn add_task(&mut self, operations: &[Operation], timeline: &TaskTimeline) {
        let mut borders: Vec<(u64, i64)> =
            operations.iter().flat_map(|operation| [(operation.start_ns, 1), (operation.end_ns, -1)]).collect();
        borders.sort_unstable();
        let mut borders = borders.into_iter().peekable();
        let mut covered: i64 = 0;
        // Segments are cut at operations' borders when they are made, then joined again; cut them here once more.
        for segment in timeline.segments() {
            let mut from_ns = segment.start_ns;
            loop {
                while let Some((_, change)) = borders.next_if(|&(at_ns, _)| at_ns <= from_ns) {
                    covered += change;
                }
                let to_ns = borders.peek().map_or(segment.end_ns, |&(at_ns, _)| at_ns.min(segment.end_ns));
                if covered > 0 && segment.cause.is_wait() {
                    self.add(segment, (to_ns - from_ns) * covered.unsigned_abs());
                }
                from_ns = to_ns;
                if from_ns >= segment.end_ns {
                    break;
                }
            }
        }
    }

    fn add(&mut self, segment: &Segment, ns: u64) {
        let row = chain_row(self.index, segment).unwrap_or_default();
        let new_key = || key(self.index, self.disks, row, segment.cause);
        let key = self.keys.entry((row, segment.cause)).or_insert_with(new_key);
        match self.times.get_mut(key) {
            Some(time_ns) => *time_ns += ns,
            None => drop(self.times.insert(key.clone(), ns)),
        }
    }
}

fn key(index: &RunIndex, disks: &Disks, row: u32, cause: Cause) -> Key {
    if cause == Cause::CpuWait {
        // The last task that ran on the CPU before it is known; for short waits, none is.
        let (row, tid) = (index.row(row), index.row(row).behind_tid);
        let process = tid.map(|tid| index.tasks.process(tid, row.end_ns, &index.names));
        let cgroup = tid.and_then(|tid| index.tasks.cgroup(tid, row.end_ns));
        return Key { process, cgroup, device: None, cause };
    }
    let end = end(index, row, cause);
    let last = index.row(end.row);
    // A task that reclaims memory for itself is its own culprit.
    let own = matches!(cause, Cause::DirectReclaim | Cause::Shrinker | Cause::Compaction | Cause::ReclaimThrottle);
    let tid = if own { Some(index.row(row).tid) } else { end.tid };
    let process = tid.map(|tid| index.tasks.process(tid, end.at_ns, &index.names));
    let in_detail = || disks.device_in(index.names.get(last.detail?));
    Key {
        process,
        cgroup: tid.and_then(|tid| index.tasks.cgroup(tid, end.at_ns)),
        device: end.request.map(|request| request.device).or_else(in_detail),
        cause,
    }
}

fn culprit(index: &RunIndex, key: Key, time_ns: u64, disks: &Disks) -> Culprit {
    Culprit {
        task: key.process,
        cgroup: key.cgroup.map(|name| index.names.get(name).to_owned()),
        device: key.device,
        file_system: key.device.and_then(|device| disks.file_system(device)),
        cause: key.cause,
        time_ns,
    }
}
