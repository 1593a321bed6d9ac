//! Facts of the machine that a plan depends on. Read once; planning is pure.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::data::{self, DataDirectoryStatus};
use crate::error::LoadError;
use crate::value::DimensionedValue;

/// Writing to this file drops the kernel's caches.
pub(crate) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Names of the facts that formulas can use.
pub(crate) const NAMES: [&str; 4] = ["cpus", "memory", "free_space", "directories"];

/// The machine, as far as a plan depends on it.
#[derive(Debug, Clone)]
pub struct MachineFacts {
    /// CPUs that the load may run on.
    pub cpus: u64,
    /// Limit of the memory cgroup, or all memory.
    pub memory_bytes: u64,
    /// Whether `memory_bytes` is the limit of a memory cgroup.
    pub in_memory_cgroup: bool,
    /// Threads that may still be started, as far as known.
    pub thread_limit: Option<u64>,
    /// Whether the load may drop the machine's caches.
    pub may_drop_caches: bool,
    /// The directories given by the user, in their order.
    pub directories: Vec<DirectoryFacts>,
}

/// One directory given by the user.
#[derive(Debug, Clone)]
pub struct DirectoryFacts {
    /// As an absolute path.
    pub path: PathBuf,
    /// Its file system, as `st_dev`.
    pub file_system: u64,
    /// Free space for this user.
    pub free_bytes: u64,
    /// What exists at the path of the data directory.
    pub standing: DataDirectoryStatus,
    /// Why it is not writable; `None`: it is writable.
    pub unwritable: Option<String>,
}

impl MachineFacts {
    /// Reads the facts of the machine and the directories. `recipe` is the recipe's name, which data directories carry.
    pub fn gather(recipe: &str, directories: &[PathBuf], memory_limit: Option<u64>) -> Result<MachineFacts, LoadError> {
        let affinity = rustix::thread::sched_getaffinity(None).map(|set| u64::from(set.count()));
        Ok(MachineFacts {
            cpus: affinity.unwrap_or(1).max(1),
            memory_bytes: memory_limit.or_else(total_memory_bytes).unwrap_or(1 << 30),
            in_memory_cgroup: memory_limit.is_some(),
            thread_limit: thread_limit(Path::new("/")),
            may_drop_caches: access(DROP_CACHES, Access::WRITE_OK).is_ok(),
            directories: directories.iter().map(|path| directory(recipe, path)).collect::<Result<_, _>>()?,
        })
    }

    /// The minimum share of a directory: the free space of its file system, plus what kept data there already
    /// occupies, divided among the directories on that file system.
    pub(crate) fn free_space_bytes(&self) -> u64 {
        let share = |directory: &DirectoryFacts| {
            let together = self.directories.iter().filter(|other| other.file_system == directory.file_system);
            let (count, kept) = together.fold((0, 0), |(count, kept), other| (count + 1, kept + other.kept_bytes()));
            (directory.free_bytes + kept) / count
        };
        self.directories.iter().map(share).min().unwrap_or(0)
    }

    /// The value of a fact.
    pub(crate) fn value(&self, name: &str) -> Option<DimensionedValue> {
        Some(match name {
            "cpus" => DimensionedValue::plain(self.cpus as f64),
            "memory" => DimensionedValue::bytes(self.memory_bytes as f64),
            "free_space" => DimensionedValue::bytes(self.free_space_bytes() as f64),
            "directories" => DimensionedValue::plain(self.directories.len() as f64),
            _ => return None,
        })
    }
}

impl DirectoryFacts {
    /// Space that kept data of this recipe occupies.
    pub fn kept_bytes(&self) -> u64 {
        match &self.standing {
            DataDirectoryStatus::Ours(marker) => marker.bytes(),
            DataDirectoryStatus::Absent | DataDirectoryStatus::InUse | DataDirectoryStatus::Foreign(_) => 0,
        }
    }
}

fn directory(recipe: &str, path: &Path) -> Result<DirectoryFacts, LoadError> {
    let unusable = |source: io::Error| LoadError::Directory { path: path.to_owned(), source };
    let path = fs::canonicalize(path).map_err(unusable)?;
    let metadata = fs::metadata(&path).map_err(unusable)?;
    if !metadata.is_dir() {
        return Err(unusable(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let space = rustix::fs::statvfs(&path).map_err(|error| unusable(error.into()))?;
    Ok(DirectoryFacts {
        file_system: metadata.dev(),
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        standing: data::data_directory_status(recipe, &path),
        unwritable: access(&path, Access::WRITE_OK | Access::EXEC_OK).err().map(|error| error.to_string()),
        path,
    })
}

fn total_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The lowest limit on threads: of the kernel, the user and the pids controller.
fn thread_limit(root: &Path) -> Option<u64> {
    let number = |path: &Path| fs::read_to_string(root.join(path)).ok()?.trim().parse::<u64>().ok();
    let user = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    let user = if rustix::process::geteuid().is_root() { None } else { user };
    let group = fs::read(root.join("proc/self/cgroup")).ok().and_then(|text| {
        let of_pids = |line: &[u8]| {
            let mut fields = line.splitn(3, |byte| *byte == b':').skip(1);
            (fields.next()? == b"pids").then(|| fields.next().map(<[u8]>::to_vec))?
        };
        let path = text.split(|byte| *byte == b'\n').find_map(of_pids)?;
        let path = Path::new(OsStr::from_bytes(path.trim_ascii_start().strip_prefix(b"/")?)).join("pids.max");
        number(Path::new("sys/fs/cgroup/pids").join(path).as_path())
    });
    ["proc/sys/kernel/threads-max", "proc/sys/kernel/pid_max"]
        .map(|path| number(Path::new(path)))
        .into_iter()
        .chain([user, group])
        .flatten()
        .min()
}
