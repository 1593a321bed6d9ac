//! Block devices by an identity that survives renaming.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use model::run::{Device, Mapper};

use crate::bytes::{number, shown, shown_path, words};
use crate::file::{TextFile, read_trimmed};
use crate::roots::Roots;
use crate::sys;

/// Block devices and partitions in use, in the kernel's order. Unused ones, of no size, are left out.
pub fn devices(roots: &Roots) -> Vec<Device> {
    let mut known = Devices::new(roots.clone());
    let table = std::fs::read(roots.proc.join("diskstats")).unwrap_or_default();
    for line in table.split(|byte| *byte == b'\n') {
        let mut words = words(line);
        if let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next()) {
            known.identify(&shown(major), &shown(minor), &shown(name));
        }
    }
    known.known.iter().filter(|device| device.used).map(|device| describe(roots, device)).collect()
}

fn describe(roots: &Roots, known: &KnownDevice) -> Device {
    let folder = class_folder(roots, &known.name);
    // A partition has the queue of its disk, one folder up.
    let queue = [folder.join("queue"), folder.join("../queue")].into_iter().find(|path| path.is_dir());
    let setting = |name: &str| queue.as_ref().and_then(|queue| read_trimmed(&queue.join(name)));
    Device {
        number: known.number.clone(),
        name: known.name.clone(),
        identity: known.identity.clone(),
        model: model(&folder),
        size_bytes: size_bytes(&folder),
        rotational: setting("rotational").map(|flag| flag == "1"),
        scheduler: setting("scheduler").map(|list| chosen(&list).to_owned()),
        queue_depth: setting("nr_requests").and_then(|text| text.parse().ok()),
        strict_limit: strict_limit(&folder),
        mapper: mapper(&folder, &known.number),
    }
}

fn mapper(folder: &Path, number: &str) -> Option<Mapper> {
    let is_mapped = folder.join("dm").is_dir();
    if !is_mapped && !folder.join("md").is_dir() {
        return None;
    }
    // A fake sysfs has devices that this machine's device mapper does not know.
    let target = || number.split_once(':').filter(|_| folder.starts_with("/sys")).and_then(target_of);
    let kind = if is_mapped { target() } else { read_trimmed(&folder.join("md/level")) };
    let entries = std::fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let mut below: Vec<String> = entries.map(|entry| shown_path(entry.file_name()).replace('!', "/")).collect();
    below.sort_unstable();
    Some(Mapper { kind, name: read_trimmed(&folder.join("dm/name")), below })
}

fn target_of((major, minor): (&str, &str)) -> Option<String> {
    sys::mapper_target(major.parse().ok()?, minor.parse().ok()?)
}

/// A partition has the share of its disk.
fn strict_limit(folder: &Path) -> Option<bool> {
    let found = ["bdi", "../bdi"].into_iter().find_map(|bdi| read_trimmed(&folder.join(bdi).join("strict_limit")))?;
    Some(found == "1")
}

/// The model as SCSI and NVMe disks report it, or the name of an MMC card. A partition takes its disk's.
fn model(folder: &Path) -> Option<String> {
    let real = folder.canonicalize().ok()?;
    let disk = if real.join("partition").is_file() { real.parent()? } else { &real };
    let found = ["device/model", "device/name"].into_iter().find_map(|source| read_trimmed(&disk.join(source)))?;
    // Vendors pad their fields with blanks.
    Some(found.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The entry in brackets: `mq-deadline` of `none [mq-deadline] kyber`.
fn chosen(list: &str) -> &str {
    list.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(list, |(chosen, _)| chosen)
}

/// sysfs has no slashes in names: the kernel writes `cciss/c0d0` as `cciss!c0d0`.
fn class_folder(roots: &Roots, name: &str) -> PathBuf {
    roots.sys.join("class/block").join(name.replace('/', "!"))
}

fn size_bytes(folder: &Path) -> u64 {
    read_trimmed(&folder.join("size")).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0).saturating_mul(512)
}

/// The best name for a device that does not depend on the order of discovery: its world-wide name, its serial number,
/// the file behind a loop device, the UUID of device-mapper and md; else the kernel's name. A partition takes its
/// disk's.
fn identity(folder: &Path, name: &str) -> String {
    if let Some(partition) = read_trimmed(&folder.join("partition"))
        && let Ok(real) = folder.canonicalize()
        && let Some(disk) = real.parent()
    {
        let disk_name = disk.file_name().map(shown_path).unwrap_or_default();
        return format!("{}-part{partition}", identity(disk, &disk_name));
    }
    const SOURCES: [&str; 7] =
        ["wwid", "device/wwid", "serial", "device/serial", "loop/backing_file", "dm/uuid", "md/uuid"];
    let found = SOURCES.into_iter().find_map(|source| read_trimmed(&folder.join(source)));
    // Vendors pad their fields with blanks.
    found.map_or_else(|| name.to_owned(), |text| text.split_whitespace().collect::<Vec<_>>().join("_"))
}

/// The devices seen during a recording.
pub(crate) struct Devices {
    roots: Roots,
    known: Vec<KnownDevice>,
    /// Which device holds an identity. Paths to one multipath disk share theirs.
    taken: HashMap<String, String>,
    next: usize,
    generation: u64,
}

/// A device.
pub(crate) struct KnownDevice {
    pub(crate) number: String,
    pub(crate) name: String,
    pub(crate) identity: String,
    /// It has a size: a disk, file or other device backs it.
    pub(crate) used: bool,
    fingerprint: Option<Fingerprint>,
}

/// Detects that a virtual device (loop, device-mapper, zram) has changed: by its size and, since Linux 5.15,
/// a number that grows with each change of medium. Real disks get a new line in diskstats instead.
struct Fingerprint(Vec<(TextFile, Vec<u8>)>);

impl Fingerprint {
    fn take(folder: &Path) -> Fingerprint {
        let there = ["size", "diskseq"].into_iter().map(|name| folder.join(name)).filter(|path| path.is_file());
        let mut fingerprint = Fingerprint(there.map(|path| (TextFile::new(path), Vec::new())).collect());
        fingerprint.has_changed();
        fingerprint
    }

    fn has_changed(&mut self) -> bool {
        let mut changed = false;
        for (file, last) in &mut self.0 {
            let now = file.read().unwrap_or_default();
            if now != last.as_slice() {
                last.clear();
                last.extend_from_slice(now);
                changed = true;
            }
        }
        changed
    }
}

impl Devices {
    pub(crate) fn new(roots: Roots) -> Devices {
        Devices { roots, known: Vec::new(), taken: HashMap::new(), next: 0, generation: 0 }
    }

    /// Reads a device's identity again.
    pub(crate) fn identify(&mut self, major: &str, minor: &str, name: &str) -> &KnownDevice {
        self.forget(name);
        self.generation += 1;
        let folder = class_folder(&self.roots, name);
        let used = size_bytes(&folder) > 0;
        let best = identity(&folder, name);
        let identity = match self.taken.get(&best) {
            Some(holder) if holder != name => format!("{best}@{name}"),
            _ => best,
        };
        if used {
            self.taken.insert(identity.clone(), name.to_owned());
        }
        let physical = folder.join("device").exists() || folder.join("partition").exists();
        let fingerprint = (!physical).then(|| Fingerprint::take(&folder));
        let number = format!("{major}:{minor}");
        self.known.push(KnownDevice { number, name: name.to_owned(), identity, used, fingerprint });
        &self.known[self.known.len() - 1]
    }

    /// Grows each time a device's identity is read again.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Drops a device that is gone or has changed.
    pub(crate) fn forget(&mut self, name: &str) {
        self.taken.retain(|_, holder| holder != name);
        self.known.retain(|known| known.name != name);
    }

    /// Whether the device of that name has changed.
    pub(crate) fn has_changed(&mut self, name: &[u8]) -> bool {
        let known = self.known.iter_mut().find(|known| known.name.as_bytes() == name);
        known.and_then(|known| known.fingerprint.as_mut()).is_some_and(Fingerprint::has_changed)
    }

    /// Checks one virtual device at each call, and returns its number and name if it has changed. This also detects
    /// changes of devices without I/O, at a cost that does not grow with the number of devices.
    pub(crate) fn next_changed(&mut self) -> Option<(String, String)> {
        let count = self.known.len();
        for _ in 0..count {
            self.next = (self.next + 1) % count;
            let known = &mut self.known[self.next];
            if let Some(fingerprint) = &mut known.fingerprint {
                return fingerprint.has_changed().then(|| (known.number.clone(), known.name.clone()));
            }
        }
        None
    }

    /// The device of a `major:minor`, looked up if it has not been seen.
    pub(crate) fn by_number(&mut self, number: &str) -> Option<&KnownDevice> {
        if let Some(at) = self.known.iter().position(|known| known.number == number) {
            return Some(&self.known[at]);
        }
        let (major, minor) = number.split_once(':')?;
        let folder = self.roots.sys.join("dev/block").join(number).canonicalize().ok()?;
        let name = folder.file_name()?.to_str()?.replace('!', "/");
        Some(self.identify(major, minor, &name))
    }

    /// The device of a kernel name, looked up if it has not been seen.
    pub(crate) fn by_name(&mut self, name: &str) -> Option<&KnownDevice> {
        if let Some(at) = self.known.iter().position(|known| known.name == name) {
            return Some(&self.known[at]);
        }
        let number = read_trimmed(&class_folder(&self.roots, name).join("dev"))?;
        let (major, minor) = number.split_once(':')?;
        number_pair(major, minor)?;
        Some(self.identify(major, minor, name))
    }

    /// The kernel name of an instance's device: the instance is its identity, in a cgroup's metrics behind the label
    /// and a colon.
    pub(crate) fn name_of(&self, instance: &str) -> Option<String> {
        self.taken.get(instance).or_else(|| self.taken.get(instance.split_once(':')?.1)).cloned()
    }

    /// The identity of a device by its kernel name; the name itself if unknown.
    pub(crate) fn identity_of(&mut self, name: &str) -> String {
        self.by_name(name).map_or_else(|| name.to_owned(), |known| known.identity.clone())
    }

    /// The identity of a device by its number; the number itself if unknown.
    pub(crate) fn identity_of_number(&mut self, number: &str) -> String {
        self.by_number(number).map_or_else(|| number.to_owned(), |known| known.identity.clone())
    }
}

fn number_pair(major: &str, minor: &str) -> Option<(i64, i64)> {
    Some((number(major.as_bytes())?, number(minor.as_bytes())?))
}

#[cfg(test)]
mod tests;
