//! The kinds of thing that are made and must be taken away again.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Name of the file that proves a directory to be ours. It holds its maker's [`crate::Owner`] as JSON.
pub const MARKER: &str = ".stallscope-made-this";

/// First part of the name of every cgroup and directory that is made.
pub(crate) const PREFIX: &str = "stallscope-";

/// Something made outside the run directory, with all that is needed to prove it ours and to remove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "thing", rename_all = "snake_case")]
pub enum Thing {
    /// A cgroup, with whatever runs in it. Proof: its name's prefix.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A rule in a `blkio.throttle.*_device` file. Proof: it still has the value we gave it.
    ThrottleRule {
        /// The file.
        file: PathBuf,
        /// `major:minor`.
        device: String,
        /// Our value.
        value: u64,
    },
    /// Controllers enabled in a cgroup v2 `cgroup.subtree_control`; disabled when no box of ours needs them any more.
    Controllers {
        /// The file.
        file: PathBuf,
        /// `memory`, `io`.
        names: Vec<String>,
    },
    /// A mount. Proof: source and type are those we mounted.
    Mount {
        /// Where.
        point: PathBuf,
        /// What.
        source: String,
        /// `xfs`, `tracefs`, ...
        fs_type: String,
    },
    /// The loop device of a backing file. Its number is not known before it is made: the file is the proof.
    LoopDevice {
        /// Backing file, canonical.
        backing: PathBuf,
    },
    /// A setting of the kernel that was changed, and what it goes back to. Proof: it still has our value.
    Setting {
        /// The file, in /proc/sys or /sys.
        file: PathBuf,
        /// Our value.
        ours: String,
        /// The file that brings the earlier state back: another one where the kernel keeps one state in two files.
        restore_file: PathBuf,
        /// What is written there.
        restore: String,
    },
    /// A directory with all that is in it. Proof: our marker file, or that it is empty.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Name of the marker file in it: [`MARKER`], or the load's own.
        marker: String,
    },
}

impl Thing {
    /// Whether several programs may use the one thing, and each has it in its register.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Thing::Mount { fs_type, .. } if fs_type == "debugfs" || fs_type == "tracefs")
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::Cgroup { path } => write!(f, "cgroup {}", path.display()),
            Thing::ThrottleRule { file, device, value } => {
                write!(f, "rule '{device} {value}' in {}", file.display())
            }
            Thing::Controllers { file, names } => write!(f, "controllers {} in {}", names.join(", "), file.display()),
            Thing::Mount { point, source, .. } => write!(f, "mount of {source} at {}", point.display()),
            Thing::LoopDevice { backing } => write!(f, "loop device of {}", backing.display()),
            Thing::Setting { file, ours, .. } => write!(f, "setting {ours} of {}", file.display()),
            Thing::Directory { path, .. } => write!(f, "directory {}", path.display()),
        }
    }
}
