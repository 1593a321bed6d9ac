//! Where the kernel's file systems are mounted. Tests pass a folder instead.

use std::path::{Path, PathBuf};

/// Mount points that every reader starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs.
    pub proc: PathBuf,
    /// sysfs.
    pub sys: PathBuf,
    /// The folder that holds the cgroup hierarchies, or the v2 hierarchy itself.
    pub cgroup: PathBuf,
    /// debugfs.
    pub debug: PathBuf,
    /// tracefs.
    pub tracing: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots::below(Path::new("/"))
    }
}

impl Roots {
    /// The usual mount points below a folder.
    pub fn below(root: &Path) -> Roots {
        Roots {
            proc: root.join("proc"),
            sys: root.join("sys"),
            cgroup: root.join("sys/fs/cgroup"),
            debug: root.join("sys/kernel/debug"),
            tracing: root.join("sys/kernel/tracing"),
        }
    }

    /// The mounted tracefs: at its usual place, or, on older systems, below debugfs.
    pub(crate) fn mounted_tracing(&self) -> Option<PathBuf> {
        [self.tracing.clone(), self.debug.join("tracing")].into_iter().find(|path| path.join("events").is_dir())
    }
}
