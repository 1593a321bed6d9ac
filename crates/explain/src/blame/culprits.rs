//! Who stands at the ends of the chains of all operations.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::run::{Device, Mount};

use super::cause::Cause;
use super::chain::{chain_row, end};
use super::explanation::{Culprit, Who};
use super::known::Known;
use super::operations::Operation;
use super::rows::{Name, device};
use super::sweep::Timelines;

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
    known: &Known,
    operations: &[Operation],
    timelines: &mut Timelines<'_>,
    places: &Places,
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
                    let row = chain_row(known, segment).unwrap_or_default();
                    let key = keys.entry((row, segment.cause)).or_insert_with(|| key(known, row, segment.cause));
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
    times.into_iter().map(|(key, time_ns)| culprit(known, key, time_ns, places)).collect()
}

fn key(known: &Known, row: u32, cause: Cause) -> Key {
    let end = end(known, row, cause);
    let last = known.row(end.row);
    // Who works for its own memory is its own culprit; who waits for a CPU does not tell who had it.
    let own = matches!(cause, Cause::DirectReclaim | Cause::Shrinker | Cause::Compaction | Cause::ReclaimThrottle);
    let tid = if own { Some(known.row(row).tid) } else { end.tid };
    let process =
        tid.map(|tid| known.tasks.who(known.tasks.pid(tid, end.at_ns).unwrap_or(tid), end.at_ns, &known.names));
    let in_detail = || {
        let detail = known.names.get(last.detail?);
        detail.rsplit(' ').find_map(device)
    };
    Key {
        process,
        cgroup: tid.and_then(|tid| known.tasks.cgroup(tid, end.at_ns)),
        device: end.request.map(|request| request.device).or_else(in_detail),
        cause,
    }
}

fn culprit(known: &Known, key: Key, time_ns: u64, places: &Places) -> Culprit {
    Culprit {
        task: key.process,
        cgroup: key.cgroup.map(|name| known.names.get(name).to_owned()),
        device: key.device,
        file_system: key.device.and_then(|device| places.file_system(device)),
        cause: key.cause,
        time_ns,
    }
}

/// What is mounted from which disk.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<DeviceNumber, Vec<String>>);

impl Places {
    pub(super) fn new(mounts: &[Mount], devices: &[Device]) -> Places {
        let mut places: HashMap<DeviceNumber, Vec<String>> = HashMap::new();
        for mount in mounts {
            // A mount's own number may be that of a partition or, with btrfs, of no disk at all; the source names it.
            let source = mount.source.strip_prefix("/dev/").unwrap_or_default();
            let is_disk = |disk: &&Device| !disk.name.is_empty() && source.starts_with(&disk.name);
            let disk = devices.iter().filter(is_disk).max_by_key(|disk| disk.name.len());
            let numbers = [disk.and_then(|disk| device(&disk.number)), device(&mount.device)];
            let words = format!("{} on {}", mount.fs_type, mount.point);
            for number in numbers.into_iter().flatten() {
                let there = places.entry(number).or_default();
                if !there.contains(&words) {
                    there.push(words.clone());
                }
            }
        }
        Places(places)
    }

    /// The file system of a disk that has only one.
    pub(super) fn file_system(&self, device: DeviceNumber) -> Option<String> {
        match self.0.get(&device).map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            _ => None,
        }
    }
}
