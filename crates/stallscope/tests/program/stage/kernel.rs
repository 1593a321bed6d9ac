//! A program's processes, cgroups and throttling rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rig::{Hierarchies, Roots};

/// Cgroups made by the program of that process id.
pub fn cgroups_of(pid: u32) -> BTreeSet<PathBuf> {
    let found = Hierarchies::detect(&Roots::default()).unwrap();
    let hierarchies = [found.memory, found.blkio, found.unified].into_iter().flatten();
    // For a program in the root cgroup both parents are the same.
    hierarchies
        .flat_map(|hierarchy| made_below(&[hierarchy.own, hierarchy.mount], &format!("stallscope-{pid}-")))
        .collect()
}

/// Whether the device (`major:minor`) is slowed: by the root blkio cgroup or, where there is none, by a cgroup v2 of
/// the program's own.
pub fn is_slowed(device: &str) -> bool {
    let found = Hierarchies::detect(&Roots::default()).unwrap();
    let files: Vec<PathBuf> = match (found.blkio, found.unified) {
        (Some(blkio), _) => vec![blkio.mount.join("blkio.throttle.write_bps_device")],
        (None, Some(unified)) => {
            let groups = made_below(&[unified.own, unified.mount], "stallscope-");
            groups.into_iter().map(|group| group.join("io.max")).collect()
        }
        (None, None) => Vec::new(),
    };
    let rules = files.into_iter().filter_map(|file| fs::read_to_string(file).ok());
    rules.flat_map(|rules| rules.lines().map(str::to_owned).collect::<Vec<_>>()).any(|rule| {
        let mut words = rule.split(' ');
        words.next() == Some(device)
    })
}

fn made_below(parents: &[PathBuf], prefix: &str) -> BTreeSet<PathBuf> {
    let children = parents.iter().flat_map(|parent| fs::read_dir(parent).unwrap().flatten());
    children.filter(|child| child.file_name().to_string_lossy().starts_with(prefix)).map(|child| child.path()).collect()
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
    while began.elapsed() < Duration::from_secs(60) {
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
