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
                    let key =
                        keys.entry((row, segment.cause)).or_insert_with(|| key(known, places, row, segment.cause));
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

fn key(known: &Known, places: &Places, row: u32, cause: Cause) -> Key {
    if cause == Cause::CpuWait {
        // Of all that had the CPU meanwhile the last one is known, and of short waits nobody.
        let (row, tid) = (known.row(row), known.row(row).behind_tid);
        let process = tid.map(|tid| known.tasks.process(tid, row.end_ns, &known.names));
        let cgroup = tid.and_then(|tid| known.tasks.cgroup(tid, row.end_ns));
        return Key { process, cgroup, device: None, cause };
    }
    let end = end(known, row, cause);
    let last = known.row(end.row);
    // Who works for its own memory is its own culprit.
    let own = matches!(cause, Cause::DirectReclaim | Cause::Shrinker | Cause::Compaction | Cause::ReclaimThrottle);
    let tid = if own { Some(known.row(row).tid) } else { end.tid };
    let process = tid.map(|tid| known.tasks.process(tid, end.at_ns, &known.names));
    let in_detail = || places.device_in(known.names.get(last.detail?));
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
pub(super) struct Places {
    mounts: HashMap<DeviceNumber, Vec<String>>,
    /// Disks by name, and file systems without a disk number of their own by theirs.
    disks: HashMap<String, DeviceNumber>,
}

impl Places {
    pub(super) fn new(mounts: &[Mount], devices: &[Device]) -> Places {
        let mut places = Places::default();
        for disk in devices.iter().filter(|disk| !disk.name.is_empty()) {
            places.disks.extend(device(&disk.number).map(|number| (disk.name.clone(), number)));
        }
        for mount in mounts {
            // A mount's own number may be that of a partition or, with btrfs, of no disk at all; the source names it.
            let source = mount.source.strip_prefix("/dev/").unwrap_or_default();
            let is_disk = |disk: &&Device| !disk.name.is_empty() && source.starts_with(&disk.name);
            let disk = devices.iter().filter(is_disk).max_by_key(|disk| disk.name.len());
            let disk = disk.and_then(|disk| device(&disk.number));
            let own = device(&mount.device);
            if let (Some(disk), Some(own)) = (disk, own) {
                places.disks.insert(own.to_string(), disk);
            }
            let Some(number) = disk.or(own) else { continue };
            let words = format!("{} on {}", mount.fs_type, mount.point);
            let there = places.mounts.entry(number).or_default();
            if !there.contains(&words) {
                there.push(words);
            }
        }
        places
    }

    /// The file system of a disk that has only one.
    pub(super) fn file_system(&self, device: DeviceNumber) -> Option<String> {
        match self.mounts.get(&device).map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            _ => None,
        }
    }

    /// The disk in words such as `super_cache_scan of xfs on loop0`, `dirty 1 MiB, on 7:0 ...`, `inode 131 on 0,39`.
    fn device_in(&self, words: &str) -> Option<DeviceNumber> {
        let mut words = words.split([' ', ':', ',']).skip_while(|word| *word != "on").skip(1);
        let (first, second) = (words.next()?, words.next());
        if let Some(disk) = self.disks.get(first) {
            return Some(*disk);
        }
        let number = device(&format!("{first},{}", second?))?;
        Some(self.disks.get(&number.to_string()).copied().unwrap_or(number))
    }
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::run::{Device, Mount};

    use super::Places;

    fn disk(name: &str, number: &str) -> Device {
        Device {
            number: number.into(),
            name: name.into(),
            identity: name.into(),
            size_bytes: 0,
            rotational: None,
            scheduler: None,
            queue_depth: None,
        }
    }

    fn mount(point: &str, source: &str, fs_type: &str, device: &str) -> Mount {
        Mount {
            point: point.into(),
            source: source.into(),
            fs_type: fs_type.into(),
            options: String::new(),
            device: device.into(),
        }
    }

    #[test]
    fn disks_are_found_in_words_and_file_systems_on_disks() {
        let devices = [disk("loop1", "7:1"), disk("loop10", "7:10"), disk("sda", "8:0"), disk("vda", "254:0")];
        let mounts = [
            mount("/b", "/dev/loop10", "btrfs", "0:39"),
            mount("/x", "/dev/loop1", "xfs", "7:1"),
            mount("/", "/dev/sda1", "ext4", "8:1"),
            mount("/home", "/dev/sda2", "ext4", "8:2"),
            mount("/proc", "proc", "proc", "0:20"),
        ];
        let places = Places::new(&mounts, &devices);
        for (words, device, file_system) in [
            ("super_cache_scan of xfs on loop1", Some((7, 1)), Some("xfs on /x")),
            ("inode 131 on 0,39", Some((7, 10)), Some("btrfs on /b")),
            ("dirty 1.0 MiB of 2.0 MiB, on 254:0 0.5 MiB of 1.0 MiB", Some((254, 0)), None),
            ("on 8,2: locked 4 ms", Some((8, 0)), None),
            ("rwsem read", None, None),
            ("on nothing", None, None),
            ("32 pages reclaimed", None, None),
        ] {
            let found = places.device_in(words);
            assert_eq!(found, device.map(|(major, minor)| DeviceNumber::new(major, minor)), "in {words}");
            assert_eq!(found.and_then(|disk| places.file_system(disk)).as_deref(), file_system, "in {words}");
        }
    }
}
