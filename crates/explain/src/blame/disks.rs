//! What is mounted from which disk.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::run::{Device, Mount};

/// Disks by name, and the file systems on each.
#[derive(Debug, Default)]
pub(super) struct Disks {
    mounts: HashMap<DeviceNumber, Vec<String>>,
    /// Disks by name; file systems without a disk number by the number of their mount.
    disks: HashMap<String, DeviceNumber>,
}

impl Disks {
    pub(super) fn new(mounts: &[Mount], devices: &[Device]) -> Disks {
        let mut found = Disks::default();
        for disk in devices.iter().filter(|disk| !disk.name.is_empty()) {
            found.disks.extend(device(&disk.number).map(|number| (disk.name.clone(), number)));
        }
        for mount in mounts {
            // A mount's number may be that of a partition or, on btrfs, of no disk. The source names the disk.
            let source = mount.source.strip_prefix("/dev/").unwrap_or_default();
            let is_disk = |disk: &&Device| !disk.name.is_empty() && source.starts_with(&disk.name);
            let disk = devices.iter().filter(is_disk).max_by_key(|disk| disk.name.len());
            let disk = disk.and_then(|disk| device(&disk.number));
            let own = device(&mount.device);
            if let (Some(disk), Some(own)) = (disk, own) {
                found.disks.insert(own.to_string(), disk);
            }
            let Some(number) = disk.or(own) else { continue };
            let words = format!("{} on {}", mount.fs_type, mount.point);
            let mounts = found.mounts.entry(number).or_default();
            if !mounts.contains(&words) {
                mounts.push(words);
            }
        }
        found
    }

    /// The file system of a disk with only one.
    pub(super) fn file_system(&self, device: DeviceNumber) -> Option<String> {
        match self.mounts.get(&device).map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            _ => None,
        }
    }

    /// The disk in a detail such as `super_cache_scan of xfs on loop0`, `dirty 1 MiB, on 7:0 ...`, `inode 131 on 0,39`.
    pub(super) fn device_in(&self, words: &str) -> Option<DeviceNumber> {
        let mut words = words.split([' ', ':', ',']).skip_while(|word| *word != "on").skip(1);
        let (first, second) = (words.next()?, words.next());
        if let Some(disk) = self.disks.get(first) {
            return Some(*disk);
        }
        let number = device(&format!("{first},{}", second?))?;
        Some(self.disks.get(&number.to_string()).copied().unwrap_or(number))
    }
}

/// `7,0` or `7:0` as a device number.
fn device(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once([',', ':'])?;
    Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::run::{Device, Mount};

    use super::Disks;

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
    fn disksare_found_in_words_and_file_systems_on_disks() {
        let devices = [disk("loop1", "7:1"), disk("loop10", "7:10"), disk("sda", "8:0"), disk("vda", "254:0")];
        let mounts = [
            mount("/b", "/dev/loop10", "btrfs", "0:39"),
            mount("/x", "/dev/loop1", "xfs", "7:1"),
            mount("/", "/dev/sda1", "ext4", "8:1"),
            mount("/home", "/dev/sda2", "ext4", "8:2"),
            mount("/proc", "proc", "proc", "0:20"),
        ];
        let disks = Disks::new(&mounts, &devices);
        for (words, device, file_system) in [
            ("super_cache_scan of xfs on loop1", Some((7, 1)), Some("xfs on /x")),
            ("inode 131 on 0,39", Some((7, 10)), Some("btrfs on /b")),
            ("dirty 1.0 MiB of 2.0 MiB, on 254:0 0.5 MiB of 1.0 MiB", Some((254, 0)), None),
            ("on 8,2: locked 4 ms", Some((8, 0)), None),
            ("rwsem read", None, None),
            ("on nothing", None, None),
            ("32 pages reclaimed", None, None),
        ] {
            let found = disks.device_in(words);
            assert_eq!(found, device.map(|(major, minor)| DeviceNumber::new(major, minor)), "in {words}");
            assert_eq!(found.and_then(|disk| disks.file_system(disk)).as_deref(), file_system, "in {words}");
        }
    }
}
