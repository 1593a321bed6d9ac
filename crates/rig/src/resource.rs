//! The kinds of resources that are made and must be removed.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Name of the file that proves a directory to be ours. It holds the [`crate::Owner`] as JSON.
pub const MARKER: &str = ".stallscope-made-this";

/// Prefix of the name of every cgroup and directory that we make.
pub(crate) const PREFIX: &str = "stallscope-";

/// A resource made outside the run directory, with what is needed to prove that it is ours and to remove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "thing", rename_all = "snake_case")]
pub enum Resource {
    /// A cgroup with its tasks. Proof: its name's prefix.
    Cgroup {
        /// Its directory.
        #[serde(with = "access::path")]
        path: PathBuf,
    },
    /// A rule in a `blkio.throttle.*_device` file. Proof: it still has our value.
    ThrottleRule {
        /// The file.
        #[serde(with = "access::path")]
        file: PathBuf,
        /// `major:minor`.
        device: String,
        /// Our value.
        value: u64,
    },
    /// Controllers enabled in a cgroup v2 `cgroup.subtree_control`; disabled when no cgroup of ours needs them.
    Controllers {
        /// The file.
        #[serde(with = "access::path")]
        file: PathBuf,
        /// `memory`, `io`.
        names: Vec<String>,
    },
    /// A mount. Proof: source and type are ours.
    Mount {
        /// Where.
        #[serde(with = "access::path")]
        point: PathBuf,
        /// What.
        source: String,
        /// `xfs`, `tracefs`, ...
        fs_type: String,
    },
    /// The loop device of a backing file. Proof: the file, since the device's number is not known before it is made.
    LoopDevice {
        /// Backing file, canonical.
        #[serde(with = "access::path")]
        backing: PathBuf,
    },
    /// A kernel setting that was changed, with its earlier value. Proof: it still has our value.
    Setting {
        /// The file, in /proc/sys or /sys.
        #[serde(with = "access::path")]
        file: PathBuf,
        /// The device (`7:0`) whose line it is, in a file with a line for each device.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        /// Our value.
        ours: String,
        /// The file that restores the earlier state: a different one if the kernel keeps one state in two files.
        #[serde(with = "access::path")]
        restore_file: PathBuf,
        /// The value to write there.
        restore: String,
    },
    /// A kernel setting that the kernel changes along with another. No proof: it is what it was, or its value was a
    /// consequence.
    Companion {
        /// The file.
        #[serde(with = "access::path")]
        file: PathBuf,
        /// The earlier value.
        restore: String,
    },
    /// A change made by a command of the user. No proof: the command that reverts it must also succeed where nothing
    /// was changed.
    Command {
        /// Reverts it; run by `sh`.
        revert: String,
    },
    /// A directory with its contents. Proof: our marker file, or that it is empty.
    Directory {
        /// The directory.
        #[serde(with = "access::path")]
        path: PathBuf,
        /// Name of the marker file in it: [`MARKER`], or the load's own.
        marker: String,
    },
}

impl Resource {
    /// Whether several programs may share it, each with an entry in its register.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Resource::Mount { fs_type, .. } if fs_type == "debugfs" || fs_type == "tracefs")
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Cgroup { path } => write!(f, "cgroup {}", path.display()),
            Resource::ThrottleRule { file, device, value } => {
                write!(f, "rule '{device} {value}' in {}", file.display())
            }
            Resource::Controllers { file, names } => {
                write!(f, "controllers {} in {}", names.join(", "), file.display())
            }
            Resource::Mount { point, source, .. } => write!(f, "mount of {source} at {}", point.display()),
            Resource::LoopDevice { backing } => write!(f, "loop device of {}", backing.display()),
            Resource::Setting { file, device: None, ours, .. } => write!(f, "setting {ours} of {}", file.display()),
            Resource::Setting { file, device: Some(device), ours, .. } => {
                write!(f, "setting '{device} {ours}' of {}", file.display())
            }
            Resource::Companion { file, restore } => write!(f, "setting {restore} of {}", file.display()),
            Resource::Command { revert } => write!(f, "the change that `{revert}` reverts"),
            Resource::Directory { path, .. } => write!(f, "directory {}", path.display()),
        }
    }
}
