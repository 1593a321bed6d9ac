//! Removing a cgroup with all its tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::existing::existing;
use crate::effect;
use crate::outcome::Outcome;
use crate::resource::PREFIX;

/// How long tasks may take to die. A task in uninterruptible sleep dies only when it wakes.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn remove(path: &Path, patience: Duration) -> Outcome {
    if existing(path)?.is_none() {
        return Ok(None);
    }
    if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) {
        return Err(format!("its name does not begin with {PREFIX}"));
    }
    let started = Instant::now();
    loop {
        let tree = deepest_first(path);
        let tasks: Vec<u32> = tree.iter().flat_map(|group| tasks_in(group)).collect();
        tasks.iter().for_each(|task| kill(*task));
        let errors: Vec<_> = tree.iter().filter_map(|group| effect::remove_directory(group).err()).collect();
        if existing(path)?.is_none() {
            return Ok(Some("removed"));
        }
        if started.elapsed() > patience.min(PATIENCE) {
            return Err(match tasks.as_slice() {
                [] => errors.last().map_or_else(String::new, |error| error.to_string()),
                tasks => format!("process {} does not die (it is probably stuck in the kernel)", list(tasks)),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn deepest_first(path: &Path) -> Vec<PathBuf> {
    let mut tree = Vec::new();
    for child in fs::read_dir(path).into_iter().flatten().flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            tree.extend(deepest_first(&child.path()));
        }
    }
    tree.push(path.to_owned());
    tree
}

fn tasks_in(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid != std::process::id()).collect()
}

fn kill(task: u32) {
    if let Some(pid) = i32::try_from(task).ok().and_then(Pid::from_raw) {
        // It may have died already.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn list(tasks: &[u32]) -> String {
    tasks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::remove;

    #[test]
    fn one_that_is_gone_is_no_problem_whatever_its_name_and_a_foreign_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("theirs");
        assert_eq!(remove(&theirs, Duration::ZERO), Ok(None));
        std::fs::create_dir(&theirs).unwrap();
        assert!(remove(&theirs, Duration::ZERO).is_err() && theirs.is_dir());
    }
}
