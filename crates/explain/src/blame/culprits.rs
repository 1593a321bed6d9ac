//! Who stands at the ends of the chains of all operations.

use std::collections::HashMap;

use model::block::DeviceNumber;

use super::cause::Cause;
use super::chain::{chain_row, end};
use super::disks::Disks;
use super::explanation::{Culprit, Who};
use super::names::Name;
use super::operations::Operation;
use super::run_index::RunIndex;
use super::timelines::Timelines;

/// Culprits that are kept: those with the most time.
const KEPT: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    process: Option<Who>,
    cgroup: Option<Name>,
    device: Option<DeviceNumber>,
    cause: Cause,
}

/// Adds up what each culprit cost all operations.
pub(super) fn culprits(
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut Timelines<'_>,
    disks: &Disks,
) -> Vec<Culprit> {
    let mut times: HashMap<Key, u64> = HashMap::new();
    let mut keys: HashMap<(u32, Cause), Key> = HashMap::new();
    // Operations are ordered by task.
    for operations in operations.chunk_by(|a, b| a.tid == b.tid) {
        let mut borders: Vec<(u64, i64)> =
            operations.iter().flat_map(|one| [(one.start_ns, 1), (one.end_ns, -1)]).collect();
        borders.sort_unstable();
        let mut borders = borders.into_iter().peekable();
        let mut covered: i64 = 0;
        let timeline = timelines.get(operations[0].tid);
        // No operation begins or ends within a segment that a row changes at; joined ones are cut again here.
        for segment in timeline.segments() {
            let mut from_ns = segment.start_ns;
            loop {
                while let Some((_, change)) = borders.next_if(|&(at_ns, _)| at_ns <= from_ns) {
                    covered += change;
                }
                let to_ns = borders.peek().map_or(segment.end_ns, |&(at_ns, _)| at_ns.min(segment.end_ns));
                if covered > 0 && segment.cause.is_wait() {
                    let row = chain_row(index, segment).unwrap_or_default();
                    let key = keys.entry((row, segment.cause)).or_insert_with(|| key(index, disks, row, segment.cause));
                    let ns = (to_ns - from_ns) * covered.unsigned_abs();
                    match times.get_mut(key) {
                        Some(time_ns) => *time_ns += ns,
                        None => drop(times.insert(key.clone(), ns)),
                    }
                }
                from_ns = to_ns;
                if from_ns >= segment.end_ns {
                    break;
                }
            }
        }
    }
    let mut times: Vec<(Key, u64)> = times.into_iter().collect();
    times.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    times.truncate(KEPT);
    times.into_iter().map(|(key, time_ns)| culprit(index, key, time_ns, disks)).collect()
}

fn key(index: &RunIndex, disks: &Disks, row: u32, cause: Cause) -> Key {
    if cause == Cause::CpuWait {
        // Of all that had the CPU meanwhile the last one is known, and of short waits nobody.
        let (row, tid) = (index.row(row), index.row(row).behind_tid);
        let process = tid.map(|tid| index.tasks.process(tid, row.end_ns, &index.names));
        let cgroup = tid.and_then(|tid| index.tasks.cgroup(tid, row.end_ns));
        return Key { process, cgroup, device: None, cause };
    }
    let end = end(index, row, cause);
    let last = index.row(end.row);
    // Who works for its own memory is its own culprit.
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
