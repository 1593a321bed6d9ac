//! debugfs and tracefs, which hold counters and are not always mounted.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::child::find_tool;
use crate::{Entry, Register, Removed, Resource, RigError};

const PLACES: [(&str, &str); 2] = [("debugfs", "/sys/kernel/debug"), ("tracefs", "/sys/kernel/tracing")];
const DEADLINE: Duration = Duration::from_secs(5);

/// The mounts made for a run. Dropping it unmounts them.
#[derive(Debug)]
pub struct KernelFiles {
    register: Register,
    entries: Vec<Entry>,
}

impl KernelFiles {
    /// Mounts what is missing, if allowed. Samplers that miss their files report it.
    pub fn mount(register: &Register) -> KernelFiles {
        let mut files = KernelFiles { register: register.clone(), entries: Vec::new() };
        if rustix::process::geteuid().is_root() {
            for (fs_type, point) in PLACES {
                // The sampler that misses the files reports it, with the remedy.
                let _ = files.mount_one(fs_type, point);
            }
        }
        files
    }

    /// Unmounts, unless another run uses the files. Returns what was removed and what was left.
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
        let resource = Resource::Mount { point: place, source: SOURCE.to_owned(), fs_type: fs_type.to_owned() };
        if there.is_some() {
            // Mounted by another run, which may end first: the last run that needs it unmounts it.
            self.entries.push(self.register.enter(resource)?);
            return Ok(());
        }
        let Some(tool) = find_tool("mount") else { return Ok(()) };
        self.entries.push(self.register.enter(resource)?);
        self.register
            .run(Command::new(tool).args(["-t", fs_type, "-o", "nosuid,nodev,noexec", SOURCE, point]), DEADLINE)?;
        Ok(())
    }
}

/// The source shown in /proc/mounts, which marks our mounts.
const SOURCE: &str = "stallscope";

impl Drop for KernelFiles {
    fn drop(&mut self) {
        self.register.undo_all_shared(std::mem::take(&mut self.entries));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::{KernelFiles, PLACES, SOURCE};
    use crate::tests::{is_root, register};
    use crate::{MountEntry, Roots};

    fn mounted() -> Vec<MountEntry> {
        let is_place = |mount: &MountEntry| PLACES.iter().any(|(_, point)| mount.point == Path::new(point));
        Roots::default().mounts().unwrap().into_iter().filter(is_place).collect()
    }

    /// The other half of the test below, in a separate mount namespace, where no other program mounts the same files.
    #[test]
    fn mounter() {
        let Ok(folder) = std::env::var("RIG_TEST_NAMESPACE") else { return };
        for mount in mounted().iter().rev() {
            assert!(Command::new("umount").arg("--lazy").arg(&mount.point).status().unwrap().success());
        }
        let (register, _) = register(Path::new(&folder));
        let files = KernelFiles::mount(&register);
        let sources: Vec<_> = mounted().into_iter().map(|mount| mount.source).collect();
        let places = PLACES.iter().filter(|(_, point)| Path::new(point).is_dir()).count();
        assert_eq!(sources, vec![SOURCE; places]);
        let left: Vec<_> = files.remove().into_iter().filter(|removed| !removed.complete).collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(mounted().is_empty(), "{:?}", mounted());
    }

    #[test]
    fn missing_mounts_are_made_and_unmounted_afterwards() {
        if !is_root("mounting debugfs and tracefs") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut apart = Command::new("unshare");
        apart.args(["--mount", "--propagation", "private"]).arg(std::env::current_exe().unwrap());
        apart.args(["--exact", "kernel_files::tests::mounter", "--nocapture"]);
        let output = apart.env("RIG_TEST_NAMESPACE", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
}
