//! What the kernel knows of a program: its processes, its cgroups, its rules.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rig::{Hierarchies, Roots};

/// Cgroups made by the program of that process id.
pub fn cgroups_of(pid: u32) -> Vec<PathBuf> {
    let found = Hierarchies::detect(&Roots::default()).unwrap();
    let mut cgroups = Vec::new();
    for hierarchy in [found.memory, found.blkio, found.unified].into_iter().flatten() {
        for parent in [&hierarchy.own, &hierarchy.mount] {
            let children = fs::read_dir(parent).unwrap().flatten().map(|entry| entry.path());
            let prefix = format!("stallscope-{pid}-");
            cgroups.extend(children.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&prefix)));
        }
    }
    cgroups
}

/// Whether the root blkio cgroup slows the device (`major:minor`). Where the device is slowed through cgroup v2, the
/// rule lives and dies with the program's own cgroup.
pub fn is_slowed(device: &str) -> bool {
    let Some(blkio) = Hierarchies::detect(&Roots::default()).unwrap().blkio else { return false };
    let rules = fs::read_to_string(blkio.mount.join("blkio.throttle.write_bps_device")).unwrap_or_default();
    rules.lines().any(|rule| rule.split(' ').next() == Some(device))
}

/// Processes whose parent is that one.
pub fn children_of(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&child| parent_of(child) == Some(pid)).collect()
}

/// Waits until a process is gone; `false` where it stays.
pub fn is_gone(pid: u32) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if fields(pid).is_none_or(|fields| fields[0] == "Z") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn parent_of(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// The fields of `/proc/PID/stat` after the command's name: state, parent, ...
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
