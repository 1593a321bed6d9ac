//! The cgroups that a use counts for, and the limits that hold for them.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::block::DeviceNumber;

use super::super::bounded_cache::BoundedCache;
use super::super::cpu_quota::CpuQuotas;
use crate::bytes::{below, read_text};
use crate::roots::Roots;

const CACHED: usize = 4096;
/// Limits may change: they are read again after this many looks.
const LOOKS: u32 = 10;
/// The files that hold a v1 cgroup's limits on devices, and whether on writes.
const THROTTLE_FILES: [(&str, bool, u64); 4] = [
    ("blkio.throttle.read_bps_device", false, 1),
    ("blkio.throttle.write_bps_device", true, 1),
    ("blkio.throttle.read_iops_device", false, IO_BYTES),
    ("blkio.throttle.write_iops_device", true, IO_BYTES),
];
/// A request counts as this many bytes, where limits on both are compared.
const IO_BYTES: u64 = 4096;
/// What is above is no limit (v1 has one of 2^63 bytes by default).
const UNLIMITED: u64 = 1 << 60;

/// A cgroup, and the cgroup at or above it with the tightest limit; paths below the hierarchy's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LimitedCgroup {
    pub(super) cgroup: Option<String>,
    pub(super) limit: Option<String>,
}

/// A device, and whether it is written to or read from; `None`: neither, such as a flush.
pub(super) type Direction = (DeviceNumber, Option<bool>);

/// What was looked up lately.
pub(super) struct Cgroups {
    proc: PathBuf,
    root: PathBuf,
    looks: u32,
    devices: BoundedCache<(u64, Direction), LimitedCgroup>,
    /// By path.
    memory: BoundedCache<String, LimitedCgroup>,
    cpu: CpuQuotas,
    /// Paths by number, as far as they were needed.
    numbers: HashMap<u64, String>,
}

impl Cgroups {
    pub(super) fn new(roots: &Roots) -> Cgroups {
        Cgroups {
            proc: roots.proc.clone(),
            root: roots.cgroup.clone(),
            looks: 0,
            devices: BoundedCache::new(CACHED),
            memory: BoundedCache::new(CACHED),
            cpu: CpuQuotas::new(roots.proc.clone(), &roots.cgroup),
            numbers: HashMap::new(),
        }
    }

    /// Call this once a look.
    pub(super) fn age(&mut self) {
        self.looks += 1;
        // A process is often put into its cgroup just after it began.
        self.cpu.forget();
        if self.looks.is_multiple_of(LOOKS) {
            self.devices.clear();
            self.numbers.clear();
            self.memory.clear();
        }
    }

    /// The I/O controller's cgroup of that number, in which that thread probably is, and its limit in that direction.
    pub(super) fn of_device(&mut self, number: u64, device: Direction, tid: u32) -> LimitedCgroup {
        if let Some(place) = self.devices.get(&(number, device)) {
            return place.clone();
        }
        let own = self.folder(tid, "blkio").filter(|folder| folder.has_number(number));
        // A worker submitted the request, or the task is gone.
        let Some(folder) = own.or_else(|| self.numbered(number)) else { return LimitedCgroup::default() };
        let place = folder.place(|path| folder.limit_on(path, device).map(|bytes| bytes as f64));
        self.devices.insert((number, device), place.clone());
        place
    }

    /// The same of requests that a limit delayed: it may have been set since limits were last read.
    pub(super) fn of_throttled(&mut self, number: u64, device: Direction, tid: u32) -> LimitedCgroup {
        let place = self.of_device(number, device, tid);
        if place.limit.is_some() {
            return place;
        }
        self.devices.clear();
        self.of_device(number, device, tid)
    }

    /// The memory controller's cgroup of a process, which may have moved since the last look.
    pub(super) fn of_memory(&mut self, pid: u32) -> LimitedCgroup {
        let Some(folder) = self.folder(pid, "memory") else { return LimitedCgroup::default() };
        if let Some(place) = self.memory.get(&folder.path) {
            return place.clone();
        }
        let place = folder.place(memory_room);
        self.memory.insert(folder.path, place.clone());
        place
    }

    /// The CPU controller's cgroup of a process.
    pub(super) fn of_cpu(&mut self, pid: u32) -> LimitedCgroup {
        let place = self.cpu.place_of(pid);
        place.map(|(cgroup, limit)| LimitedCgroup { cgroup: Some(cgroup), limit }).unwrap_or_default()
    }

    /// The I/O controller's cgroup of that number, wherever it is. All of them are read, and not again for each that is
    /// unknown.
    fn numbered(&mut self, number: u64) -> Option<Folder> {
        let v1 = self.root.join("blkio");
        let (root, v2) = if v1.is_dir() { (v1, false) } else { (self.root.clone(), true) };
        if number != 0 && self.numbers.is_empty() {
            self.numbers = numbers(&root);
        }
        let path = self.numbers.get(&number)?.clone();
        Some(Folder { root, path, v2 })
    }

    /// The cgroup of a thread in the hierarchy of a controller, v1 or v2.
    fn folder(&self, tid: u32, controller: &str) -> Option<Folder> {
        let text = read_text(self.proc.join(format!("{tid}/cgroup"))).ok()?;
        let path = |wanted: &str| {
            text.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                let (controllers, path) = (fields.next()?, fields.next()?);
                controllers.split(',').any(|name| name == wanted).then(|| path.to_owned())
            })
        };
        let v1 = path(controller).map(|path| Folder { root: self.root.join(controller), path, v2: false });
        v1.or_else(|| path("").map(|path| Folder { root: self.root.clone(), path, v2: true }))
    }
}

/// The cgroups of a hierarchy, by number: the first ones, those near the root.
fn numbers(root: &Path) -> HashMap<u64, String> {
    let mut numbers = HashMap::new();
    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(path) = folders.pop_front().filter(|_| numbers.len() < CACHED) {
        let Ok(folder) = fs::metadata(root.join(&path)) else { continue };
        numbers.insert(folder.ino(), format!("/{}", path.display()));
        // Each folder within has a link to it, `..`. Some file systems do not count: 1.
        if folder.nlink() == 2 {
            continue;
        }
        let Ok(entries) = fs::read_dir(root.join(&path)) else { continue };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(entries.flatten().filter(is_folder).map(|entry| path.join(entry.file_name())));
    }
    numbers
}

/// A cgroup's folder.
struct Folder {
    root: PathBuf,
    path: String,
    v2: bool,
}

impl Folder {
    fn at(&self, path: &str) -> PathBuf {
        below(&self.root, path)
    }

    /// The number is that of the folder's inode.
    fn has_number(&self, number: u64) -> bool {
        number == 0 || fs::metadata(self.at(&self.path)).is_ok_and(|folder| folder.ino() == number)
    }

    /// With the limit of the lowest value, and the lowest cgroup among equals.
    fn place(&self, limit_of: impl Fn(&Path) -> Option<f64>) -> LimitedCgroup {
        let limits = self.levels().filter_map(|path| Some((limit_of(&self.at(path))?, path)));
        let tightest = limits.min_by(|a, b| a.0.total_cmp(&b.0));
        LimitedCgroup { cgroup: Some(self.path.clone()), limit: tightest.map(|limit| limit.1.to_owned()) }
    }

    /// The cgroup and those above it.
    fn levels(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.path.as_str()), |path| {
            let above = path.rsplit_once('/')?.0;
            (*path != "/").then_some(if above.is_empty() { "/" } else { above })
        })
    }

    /// The tightest limit of a cgroup on a device, in bytes a second. In v1 it does not hold for the cgroups below.
    fn limit_on(&self, folder: &Path, (device, writes): Direction) -> Option<u64> {
        if self.v2 {
            return read_text(folder.join("io.max")).ok().and_then(|text| io_max(&text, (device, writes)));
        }
        if folder != self.at(&self.path) {
            return None;
        }
        let files = THROTTLE_FILES.iter().filter(|file| writes.is_none_or(|writes| file.1 == writes));
        let limits = files.filter_map(|(file, _, factor)| {
            let text = read_text(folder.join(file)).ok()?;
            let line = line_of(&text, device)?;
            line.trim().parse::<u64>().ok().map(|limit| limit.saturating_mul(*factor))
        });
        limits.min()
    }
}

/// What follows a device's number in its line.
fn line_of(text: &str, device: DeviceNumber) -> Option<&str> {
    let number = device.to_string().replace(',', ":");
    text.lines().find_map(|line| line.split_once(' ').filter(|(first, _)| *first == number)).map(|line| line.1)
}

/// `8:0 rbps=1048576 wbps=max riops=max wiops=100`.
pub(super) fn io_max(text: &str, (device, writes): Direction) -> Option<u64> {
    let limits = line_of(text, device)?.split_whitespace().filter_map(|word| {
        let (name, limit) = word.split_once('=')?;
        if writes.is_some_and(|writes| name.starts_with('w') != writes) {
            return None;
        }
        let limit: u64 = limit.parse().ok()?;
        Some(if name.ends_with("iops") { limit.saturating_mul(IO_BYTES) } else { limit })
    });
    limits.min()
}

/// The part of a cgroup's memory limit that is still free. In v2 also of `memory.high`, above which its tasks reclaim
/// and are throttled. It is not the lowest limit that a task reaches: that of a cgroup above may be full of others'
/// memory.
fn memory_room(folder: &Path) -> Option<f64> {
    let read = |file: &str| read_text(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let limits = ["memory.max", "memory.high", "memory.limit_in_bytes"].into_iter().filter_map(read);
    let limit = limits.filter(|limit| *limit < UNLIMITED).min()?;
    let used = read("memory.current").or_else(|| read("memory.usage_in_bytes")).unwrap_or(0);
    Some(limit.saturating_sub(used) as f64 / limit.max(1) as f64)
}
