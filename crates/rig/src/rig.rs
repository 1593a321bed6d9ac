//! The memory cgroup and the slow device of one load.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::quantity::Bytes;
use model::run::Limits;

use crate::cgroup::{limit_memory_v1, limit_memory_v2, make_v1, make_v2};
use crate::throttle::{place_v1, place_v2};
use crate::{BlockDevice, Entry, Hierarchies, Hierarchy, Register, Removed, RigError, devices_under};

/// Smallest memory limit. With less, the load process is killed when it starts.
pub const SMALLEST_MEMORY_LIMIT_BYTES: u64 = 16 << 20;

/// The requested limits.
#[derive(Debug, Clone, Default)]
pub struct RigRequest {
    /// `--memory`.
    pub memory_bytes: Option<u64>,
    /// `--disk-bps`: bytes per second, reads and writes each.
    pub disk_bytes_per_s: Option<u64>,
    /// `--disk-iops`: operations per second, reads and writes each.
    pub disk_operations_per_s: Option<u64>,
    /// Directories under test; their devices are slowed.
    pub directories: Vec<PathBuf>,
}

impl RigRequest {
    fn disk_flag(&self) -> Option<&'static str> {
        let bps = self.disk_bytes_per_s.map(|_| "--disk-bps");
        bps.or(self.disk_operations_per_s.map(|_| "--disk-iops"))
    }
}

/// The limits in effect. Dropping it removes them as [`Rig::remove`] does, but without a report.
#[derive(Debug)]
pub struct Rig {
    /// Files that the load process writes its process id into before it starts; see [`crate::exec_in_cgroup`].
    pub cgroup_procs: Vec<PathBuf>,
    /// What was applied.
    pub limits: Limits,
    /// Cgroup v1 directory with the load's memory counters.
    pub memory_v1: Option<PathBuf>,
    /// Cgroup v1 directory with the load's block I/O counters. If a device is slowed, it is the root group.
    pub blkio_v1: Option<PathBuf>,
    /// Cgroup v2 directory of the load.
    pub unified: Option<PathBuf>,
    /// Devices that were slowed.
    pub slowed: Vec<BlockDevice>,
    /// Remarks on the limits, one sentence each.
    pub notes: Vec<String>,
    register: Register,
    entries: Vec<Entry>,
}

impl Rig {
    /// Sets up the limits. An error leaves nothing behind.
    pub fn build(request: &RigRequest, register: &Register) -> Result<Rig, RigError> {
        check(request, register)?;
        let mut rig = Rig {
            cgroup_procs: Vec::new(),
            limits: Limits {
                memory_bytes: request.memory_bytes,
                disk_bytes_per_s: request.disk_bytes_per_s,
                disk_operations_per_s: request.disk_operations_per_s,
                ..Limits::default()
            },
            memory_v1: None,
            blkio_v1: None,
            unified: None,
            slowed: Vec::new(),
            notes: Vec::new(),
            register: register.clone(),
            entries: Vec::new(),
        };
        if request.memory_bytes.is_none() && request.disk_flag().is_none() {
            return Ok(rig);
        }
        rig.slowed = devices(request, register)?;
        rig.make_cgroups(request, &Hierarchies::detect(register.roots())?)?;
        Ok(rig)
    }

    /// Removes everything, and kills what still runs in the cgroup. Returns what was removed and what was left.
    pub fn remove(self) -> Vec<Removed> {
        self.remove_within(Duration::MAX)
    }

    /// The same, but waits at most `patience` for the tasks in the cgroup to die.
    pub fn remove_within(mut self, patience: Duration) -> Vec<Removed> {
        self.register.undo_all_within(std::mem::take(&mut self.entries), patience)
    }

    fn make_cgroups(&mut self, request: &RigRequest, found: &Hierarchies) -> Result<(), RigError> {
        let mut v2_controllers = Vec::new();
        match (request.memory_bytes, &found.memory) {
            (Some(bytes), Some(memory)) => self.limit_memory(bytes, memory)?,
            (Some(_), None) => v2_controllers.push("memory"),
            (None, _) => {}
        }
        if let Some(flag) = request.disk_flag() {
            match found.blkio.as_ref().filter(|blkio| {
                blkio.mount.join("blkio.throttle.read_bps_device").exists()
                    || blkio.own.join("blkio.throttle.read_bps_device").exists()
            }) {
                Some(blkio) => self.slow_v1(flag, blkio)?,
                None => v2_controllers.push("io"),
            }
        }
        if v2_controllers.is_empty() { Ok(()) } else { self.make_v2_cgroup(request, found, v2_controllers) }
    }

    fn limit_memory(&mut self, bytes: u64, memory: &Hierarchy) -> Result<(), RigError> {
        let path = make_v1("--memory", memory, &self.register, &mut self.entries)?;
        limit_memory_v1(&path, bytes)?;
        self.cgroup_procs.push(path.join("cgroup.procs"));
        self.limits.cgroup_version = Some(1);
        self.limits.cgroup = Some(memory.name_of(&path));
        self.memory_v1 = Some(path);
        Ok(())
    }

    fn slow_v1(&mut self, flag: &'static str, blkio: &Hierarchy) -> Result<(), RigError> {
        // Only the root of a v1 hierarchy has this file.
        let group = if blkio.mount.join("release_agent").exists() {
            blkio.mount.clone()
        } else {
            self.notes.push(
                "the root blkio cgroup is not visible from this container, so only reads and direct writes are slowed, \
                 not the writeback of buffered writes"
                    .into(),
            );
            make_v1(flag, blkio, &self.register, &mut self.entries)?
        };
        place_v1(&group, &self.slowed, &self.limits, &self.register, &mut self.entries)?;
        self.cgroup_procs.push(group.join("cgroup.procs"));
        self.limits.cgroup_version.get_or_insert(1);
        self.limits.cgroup.get_or_insert_with(|| blkio.name_of(&group));
        self.blkio_v1 = Some(group);
        Ok(())
    }

    fn make_v2_cgroup(
        &mut self,
        request: &RigRequest,
        found: &Hierarchies,
        needed: Vec<&'static str>,
    ) -> Result<(), RigError> {
        let (slow, limits_memory) = (needed.contains(&"io"), needed.contains(&"memory"));
        let flag = if limits_memory { "--memory" } else { request.disk_flag().unwrap_or("--disk-bps") };
        let unified = v2_with(found, flag, &needed)?;
        let mut controllers = needed;
        // The writeback of a page is charged to the cgroup that the memory controller charges the page to.
        if slow && !limits_memory {
            match available(unified).iter().any(|name| name == "memory") {
                true => controllers.push("memory"),
                false => self.notes.push("without the memory controller in cgroup v2, writeback is not slowed".into()),
            }
        }
        let path = make_v2(flag, unified, &controllers, &self.register, &mut self.entries)?;
        if let Some(bytes) = request.memory_bytes.filter(|_| limits_memory) {
            limit_memory_v2(&path, bytes)?;
        }
        if slow {
            place_v2(&path, &self.slowed, &self.limits)?;
        }
        self.cgroup_procs.push(path.join("cgroup.procs"));
        self.limits.cgroup_version.get_or_insert(2);
        self.limits.cgroup.get_or_insert_with(|| unified.name_of(&path));
        self.unified = Some(path);
        Ok(())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.register.undo_all(std::mem::take(&mut self.entries));
    }
}

fn available(unified: &Hierarchy) -> Vec<String> {
    let text = fs::read_to_string(unified.mount.join("cgroup.controllers")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The v2 hierarchy, if it has the controllers.
fn v2_with<'a>(found: &'a Hierarchies, flag: &'static str, needed: &[&'static str]) -> Result<&'a Hierarchy, RigError> {
    let missing = |controller, why: String, remedy: &str| {
        Err(RigError::NoController { flag, controller, why, remedy: remedy.to_owned() })
    };
    let config = |controller: &&str| if *controller == "memory" { "CONFIG_MEMCG" } else { "CONFIG_BLK_DEV_THROTTLING" };
    let Some(unified) = &found.unified else {
        let why = "no cgroup file system with it is mounted".to_owned();
        return missing(needed[0], why, "mount one: mount -t cgroup2 none /sys/fs/cgroup");
    };
    let available = available(unified);
    match needed.iter().find(|name| !available.iter().any(|word| word == *name)) {
        None => Ok(unified),
        Some(controller) => {
            let why = format!(
                "no cgroup v1 mount has it and {}/cgroup.controllers does not list it",
                unified.mount.display()
            );
            let remedy = format!("it needs a kernel with {} and no cgroup_disable={controller}", config(controller));
            missing(controller, why, &remedy)
        }
    }
}

/// Refuses useless limits before anything is made.
fn check(request: &RigRequest, register: &Register) -> Result<(), RigError> {
    for (flag, value) in [("--disk-bps", request.disk_bytes_per_s), ("--disk-iops", request.disk_operations_per_s)] {
        if value == Some(0) {
            return Err(RigError::ZeroLimit { flag });
        }
    }
    let Some(bytes) = request.memory_bytes else { return Ok(()) };
    let refused = |why| Err(RigError::MemoryLimit { bytes, why });
    if bytes < SMALLEST_MEMORY_LIMIT_BYTES {
        return refused(format!("the load needs at least {} to start", Bytes(SMALLEST_MEMORY_LIMIT_BYTES)));
    }
    match total_memory(&register.roots().text("/proc/meminfo")?) {
        Some(total) if bytes > total => refused(format!("this machine has {}, so it would be no limit", Bytes(total))),
        _ => Ok(()),
    }
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn devices(request: &RigRequest, register: &Register) -> Result<Vec<BlockDevice>, RigError> {
    let mut devices = Vec::new();
    if request.disk_flag().is_some() {
        for directory in &request.directories {
            devices.extend(devices_under(nearest(directory), register.roots())?);
        }
    }
    devices.sort();
    devices.dedup();
    Ok(devices)
}

/// A directory under test may not exist yet; it will be on the device of its nearest existing ancestor.
fn nearest(directory: &Path) -> &Path {
    directory.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
