//! The cgroups of a scenario, in either version.
//!
//! A limit of a device is for all who use it. In version 1 the root group takes it; in version 2 it cannot, so that
//! each scenario has a cgroup of its own, with its processes in cgroups below. Threads of the kernel are limited only
//! for what they write for these.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rig::{Entry, Hierarchies, Register, Resource};

pub enum Cgroups {
    Version1 {
        blkio: PathBuf,
        memory: PathBuf,
    },
    /// The scenario's own cgroup.
    Version2(PathBuf),
}

/// What a cgroup is limited to.
#[derive(Debug, Clone, Copy)]
pub enum Limit<'a> {
    /// In bytes.
    Memory(u64),
    /// Of CPU time, as in `cpu.shares`: 1024 by default.
    Weight(u64),
    /// CPU time in each 100 ms, in µs.
    Quota(u64),
    /// Memory beyond which its tasks are slowed (version 2).
    High(u64),
    /// Bytes a second that it writes to that device (version 2).
    Writes(&'a str, u64),
    /// Of what `io.cost` shares out: 100 by default (version 2).
    IoWeight(u64),
}

/// Below the scenario's cgroup of version 2, whose processes are in it unless they go elsewhere.
const PROCESSES: &str = "all";
const PERIOD_US: u64 = 100_000;

/// Whether limits are those of version 2: a machine may have both, and its controllers in version 1.
pub fn is_version_2() -> bool {
    let found = detect();
    found.blkio.is_none() && found.unified.is_some()
}

fn detect() -> Hierarchies {
    Hierarchies::detect(&rig::Roots::default()).expect("the cgroups can be read")
}

fn name() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    format!("stallscope-{}-truth-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

impl Cgroups {
    /// With what must be removed.
    pub fn new(register: &Register) -> (Cgroups, Vec<Entry>) {
        let found = detect();
        if let (Some(blkio), Some(memory)) = (found.blkio, found.memory) {
            return (Cgroups::Version1 { blkio: blkio.mount, memory: memory.mount }, Vec::new());
        }
        let root = found.unified.expect("a machine with cgroups").mount;
        let own = root.join(name());
        let entry = register.enter(Resource::Cgroup { path: own.clone() }).unwrap();
        fs::create_dir(&own).unwrap();
        fs::write(own.join("cgroup.subtree_control"), "+cpu +memory +io").unwrap();
        fs::create_dir(own.join(PROCESSES)).unwrap();
        (Cgroups::Version2(own), vec![entry])
    }

    /// A step of an actor's script that takes it to its cgroup.
    pub fn join(&self) -> String {
        match self {
            Cgroups::Version1 { .. } => String::new(),
            Cgroups::Version2(own) => format!("join {}\n", own.join(PROCESSES).join("cgroup.procs").display()),
        }
    }

    /// The path of another cgroup, which is to have that controller.
    pub fn another(&self, controller: &str) -> PathBuf {
        match self {
            Cgroups::Version1 { memory, .. } if controller == "memory" => memory.join(name()),
            Cgroups::Version1 { .. } => Path::new("/sys/fs/cgroup").join(controller).join(name()),
            Cgroups::Version2(own) => own.join(name()),
        }
    }

    /// The path of a cgroup for which the scenario's limits do not hold (version 2).
    pub fn outside(&self) -> PathBuf {
        let Cgroups::Version2(own) = self else { panic!("a scenario of version 2") };
        own.with_file_name(name())
    }

    /// Limits a device for the scenario: `read_bps`, `write_bps`, `read_iops` or `write_iops`. What must be undone
    /// before the device is unmounted; limits of version 2 end with the cgroup.
    pub fn slow(&self, device: &str, what: &str, value: u64, register: &Register) -> Option<Entry> {
        match self {
            Cgroups::Version1 { blkio, .. } => {
                let file = blkio.join(format!("blkio.throttle.{what}_device"));
                let rule = Resource::ThrottleRule { file: file.clone(), device: device.to_owned(), value };
                let entry = register.enter(rule).unwrap();
                fs::write(&file, format!("{device} {value}")).unwrap();
                Some(entry)
            }
            Cgroups::Version2(own) => {
                let (direction, unit) = what.split_once('_').expect("read_bps, ...");
                fs::write(own.join("io.max"), format!("{device} {}{unit}={value}", &direction[..1])).unwrap();
                None
            }
        }
    }

    /// Ends the limits of version 2 for a device.
    pub fn lift(&self, device: &str) {
        if let Cgroups::Version2(own) = self {
            let _ = fs::write(own.join("io.max"), format!("{device} rbps=max wbps=max riops=max wiops=max"));
        }
    }

    /// Limits one of them.
    pub fn limit(&self, cgroup: &Path, limit: Limit<'_>) {
        let is_1 = matches!(self, Cgroups::Version1 { .. });
        let settings = match limit {
            Limit::Memory(bytes) => {
                vec![(if is_1 { "memory.limit_in_bytes" } else { "memory.max" }, bytes.to_string())]
            }
            Limit::Weight(shares) if is_1 => vec![("cpu.shares", shares.to_string())],
            Limit::Weight(shares) => vec![("cpu.weight", (shares * 100 / 1024).clamp(1, 10_000).to_string())],
            Limit::Quota(us) if is_1 => {
                vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", us.to_string())]
            }
            Limit::High(bytes) => vec![("memory.high", bytes.to_string())],
            Limit::Writes(device, bps) => vec![("io.max", format!("{device} wbps={bps}"))],
            Limit::IoWeight(weight) => vec![("io.weight", weight.to_string())],
            Limit::Quota(us) => vec![("cpu.max", format!("{us} {PERIOD_US}"))],
        };
        for (file, value) in settings {
            fs::write(cgroup.join(file), value).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

/// The file that limits a cgroup's memory.
pub fn memory_limit(cgroup: &Path) -> PathBuf {
    cgroup.join(if is_version_2() { "memory.max" } else { "memory.limit_in_bytes" })
}
