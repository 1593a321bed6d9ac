//! debugfs and tracefs, which hold counters and are not mounted everywhere.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::child::{find_tool, run};
use crate::{Entry, Register, Removed, RigError, Thing};

const PLACES: [(&str, &str); 2] = [("debugfs", "/sys/kernel/debug"), ("tracefs", "/sys/kernel/tracing")];
const DEADLINE: Duration = Duration::from_secs(5);

/// What was mounted for the time of a run. Dropping it unmounts it again.
#[derive(Debug)]
pub struct KernelFiles {
    register: Register,
    entries: Vec<Entry>,
}

impl KernelFiles {
    /// Mounts what is missing, as far as that is allowed. Whoever wanted it and does not find it says so.
    pub fn mount(register: &Register) -> KernelFiles {
        let mut files = KernelFiles { register: register.clone(), entries: Vec::new() };
        if rustix::process::geteuid().is_root() {
            for (fs_type, point) in PLACES {
                // A failure is told by the sampler that misses the files, with what to do about it.
                let _ = files.mount_one(fs_type, point);
            }
        }
        files
    }

    /// Unmounts, unless another run beside this one uses the files; tells what was left.
    pub fn remove(mut self) -> Vec<Removed> {
        self.register.undo_all_shared(std::mem::take(&mut self.entries))
    }

    fn mount_one(&mut self, fs_type: &str, point: &str) -> Result<(), RigError> {
        let mounted = self.register.roots().mounts()?;
        let place = PathBuf::from(point);
        let there = mounted.iter().rev().find(|mount| mount.point == place);
        if there.is_some_and(|mount| mount.source != SOURCE) || !place.is_dir() {
            return Ok(());
        }
        let thing = Thing::Mount { point: place, source: SOURCE.to_owned(), fs_type: fs_type.to_owned() };
        if there.is_some() {
            // Mounted by a run beside this one, which may end first: the last one to need it takes it away.
            self.entries.push(self.register.enter(thing)?);
            return Ok(());
        }
        let Some(tool) = find_tool("mount") else { return Ok(()) };
        self.entries.push(self.register.enter(thing)?);
        run(Command::new(tool).args(["-t", fs_type, "-o", "nosuid,nodev,noexec", SOURCE, point]), DEADLINE)?;
        Ok(())
    }
}

/// The name that says in /proc/mounts who mounted it.
const SOURCE: &str = "stallscope";

impl Drop for KernelFiles {
    fn drop(&mut self) {
        self.register.undo_all_shared(std::mem::take(&mut self.entries));
    }
}

#[cfg(test)]
mod tests {
    use super::KernelFiles;
    use crate::{Register, Roots};

    #[test]
    fn what_was_not_mounted_before_is_not_mounted_after() {
        let mounted = || Roots::default().mounts().unwrap().iter().map(|mount| mount.point.clone()).collect::<Vec<_>>();
        let folder = tempfile::tempdir().unwrap();
        let (register, _) = Register::open_in(&folder.path().join("register"), Roots::default()).unwrap();
        let before = mounted();
        let files = KernelFiles::mount(&register);
        assert!(files.remove().iter().all(|removed| removed.complete));
        assert_eq!(mounted(), before);
    }
}
