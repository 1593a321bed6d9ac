//! What is mounted from which disk.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::detail::Detail;
use model::run::{Device, Mount, RunDescription};

/// Disks by name, and the file systems on each.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    mounts: HashMap<DeviceNumber, Vec<String>>,
    /// Disks by name; file systems without a disk number by the number of their mount.
    disks: HashMap<String, DeviceNumber>,
    /// Disks by identity, and by the source of what is mounted from them.
    aliases: HashMap<String, DeviceNumber>,
    names: HashMap<DeviceNumber, String>,
    /// Mount points with the disk of each.
    points: Vec<(String, DeviceNumber)>,
}

impl Disks {
    pub(crate) fn new(mounts: &[Mount], devices: &[Device]) -> Disks {
        let mut found = Disks::default();
        for disk in devices.iter().filter(|disk| !disk.name.is_empty()) {
            let Some(number) = DeviceNumber::parse(&disk.number) else { continue };
            found.disks.insert(disk.name.clone(), number);
            found.aliases.insert(disk.identity.clone(), number);
            found.names.insert(number, disk.name.clone());
        }
        for mount in mounts {
            // A mount's number may be that of a partition or, on btrfs, of no disk. The source names the disk.
            let source = mount.source.strip_prefix("/dev/").unwrap_or_default();
            let is_disk = |disk: &&Device| {
                !disk.name.is_empty() && (source.starts_with(&disk.name) || disk.is_mapped_as(&mount.source))
            };
            let disk = devices.iter().filter(is_disk).max_by_key(|disk| disk.name.len());
            let disk = disk.and_then(|disk| DeviceNumber::parse(&disk.number));
            let own = DeviceNumber::parse(&mount.device);
            if let (Some(disk), Some(own)) = (disk, own) {
                found.disks.insert(own.to_string(), disk);
            }
            let Some(number) = disk.or(own) else { continue };
            found.points.push((mount.point.clone(), number));
            // A partition, and btrfs, have a number of their own.
            if let Some(own) = own.filter(|_| mount.source.starts_with("/dev/")) {
                found.names.entry(own).or_insert_with(|| source.to_owned());
            }
            if !source.is_empty() {
                found.aliases.insert(source.to_owned(), number);
            }
            let words = format!("{} on {}", mount.fs_type, mount.point);
            let mounts = found.mounts.entry(number).or_default();
            if !mounts.contains(&words) {
                mounts.push(words);
            }
        }
        found
    }

    /// The disk of that name, number, identity, or of which that is a mounted partition.
    pub(crate) fn number(&self, name: &str) -> Option<DeviceNumber> {
        // The identity of a loop device is its file, which may be below /dev as well.
        let plain = name.strip_prefix("/dev/").unwrap_or(name);
        let known = |name: &str| self.disks.get(name).or_else(|| self.aliases.get(name)).copied();
        let found = known(name).or_else(|| known(plain));
        // Loop devices come and go while a run is recorded.
        found.or_else(|| DeviceNumber::parse(plain)).or_else(|| loop_of(plain))
    }

    /// The name of a disk; its number where it has none.
    pub(crate) fn name(&self, disk: DeviceNumber) -> String {
        self.names.get(&disk).cloned().unwrap_or_else(|| disk.to_string())
    }

    /// The names of all disks.
    pub(crate) fn names(&self) -> HashMap<DeviceNumber, String> {
        self.names.clone()
    }

    /// The disk of the file system that a file is on, or the disk itself that is the file.
    pub(crate) fn of_path(&self, path: &str) -> Option<DeviceNumber> {
        let is_below = |point: &str| match path.strip_prefix(point) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || point.ends_with('/'),
            None => false,
        };
        let above = self.points.iter().filter(|(point, _)| is_below(point));
        // Of two mounts on one point, the later hides the earlier.
        let found = above.max_by_key(|(point, _)| point.len());
        match path.strip_prefix("/dev/") {
            // A node of /dev is not on the file system that has the folder.
            Some(node) if found.is_none_or(|(point, _)| point.len() < "/dev/".len()) => self.number(node),
            _ => found.map(|(_, disk)| *disk),
        }
    }

    /// The file system of a disk with only one.
    pub(crate) fn file_system(&self, device: DeviceNumber) -> Option<String> {
        match self.mounts.get(&device).map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            _ => None,
        }
    }

    /// The disk that a detail is about: that of its device or, of a shrinker, of the name that the file system has for
    /// it.
    pub(crate) fn of_detail(&self, detail: &Detail) -> Option<DeviceNumber> {
        if let Detail::Shrinker { file_system: Some((_, name)), .. } = detail {
            return self.disks.get(name).copied().or_else(|| DeviceNumber::parse(name));
        }
        let number = detail.device()?;
        Some(self.disks.get(&number.to_string()).copied().unwrap_or(number))
    }
}

/// Whether a run has a disk of that name, number or identity, or a mounted partition of that name.
pub fn knows_device(run: &RunDescription, name: &str) -> bool {
    Disks::new(&run.mounts, &run.devices).number(name).is_some()
}

/// The block devices whose requests go on to a file.
pub(crate) const LOOP_MAJOR: u32 = 7;
/// That of disks of the network (NBD).
pub(crate) const NETWORK_MAJOR: u32 = 43;

/// The loop device that a workqueue serves.
pub(crate) fn loop_of(work: &str) -> Option<DeviceNumber> {
    Some(DeviceNumber::new(LOOP_MAJOR, work.strip_prefix("loop")?.parse().ok()?))
}

/// The disk of the network (NBD) whose answers a workqueue receives (Linux 4.12 to 7.3: `knbd0-recv`, later
/// `nbd0-recv`).
pub(crate) fn network_disk_of(work: &str) -> Option<&str> {
    let disk = work.strip_suffix("-recv")?;
    Some(disk.strip_prefix('k').unwrap_or(disk)).filter(|disk| disk.starts_with("nbd"))
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::detail::Detail;
    use model::run::{Device, Mount};

    use super::Disks;

    fn disk(name: &str, number: &str) -> Device {
        Device { number: number.into(), name: name.into(), identity: name.into(), ..Device::default() }
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
        let disks = Disks::new(&mounts, &devices);
        let shrinker = |disk: &str| Detail::Shrinker {
            function: "super_cache_scan".into(),
            file_system: Some(("xfs".into(), disk.into())),
        };
        for (detail, device, file_system) in [
            (shrinker("loop1"), Some((7, 1)), Some("xfs on /x")),
            (Detail::Inode { inode: 131, device: DeviceNumber::new(0, 39) }, Some((7, 10)), Some("btrfs on /b")),
            (Detail::Device(DeviceNumber::new(254, 0)), Some((254, 0)), None),
            (Detail::Device(DeviceNumber::new(8, 2)), Some((8, 0)), None),
            (Detail::LockFlags(2), None, None),
            (shrinker("nothing"), None, None),
            (Detail::PagesReclaimed(32), None, None),
        ] {
            let found = disks.of_detail(&detail);
            assert_eq!(found, device.map(|(major, minor)| DeviceNumber::new(major, minor)), "of {detail}");
            assert_eq!(found.and_then(|disk| disks.file_system(disk)).as_deref(), file_system, "of {detail}");
        }
    }

    #[test]
    fn a_node_of_dev_is_the_disk_and_not_a_file_of_the_root() {
        let devices = [disk("loop1", "7:1"), disk("vda", "254:0")];
        let mounts = [mount("/", "/dev/vda", "ext4", "254:0"), mount("/dev/shm", "tmpfs", "tmpfs", "0:22")];
        let disks = Disks::new(&mounts, &devices);
        for (path, number) in [
            ("/dev/vda", Some((254, 0))),
            ("/dev/loop1", Some((7, 1))),
            ("/dev/loop9", Some((7, 9))),
            ("/dev/null", None),
            ("/dev/shm/file", Some((0, 22))),
            ("/develop/file", Some((254, 0))),
        ] {
            assert_eq!(disks.of_path(path), number.map(|(major, minor)| DeviceNumber::new(major, minor)), "{path}");
        }
        let image = Device { identity: "/dev/shm/image".into(), ..disk("loop1", "7:1") };
        assert_eq!(Disks::new(&mounts, &[image]).number("/dev/shm/image"), Some(DeviceNumber::new(7, 1)));
    }
}
