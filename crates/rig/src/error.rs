//! What can go wrong while building or removing, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use model::quantity::Bytes;

/// A rig, register or temporary file system that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// The register's directory or file cannot be used.
    #[error("the register {path} cannot be used: {why}; {remedy}")]
    Register {
        /// Directory or file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A memory limit of this size is useless.
    #[error("--memory {}: {why}", Bytes(*.bytes))]
    MemoryLimit {
        /// The limit that was given.
        bytes: u64,
        /// Why not.
        why: String,
    },
    /// A limit of zero.
    #[error("{flag} 0 would stop all I/O for ever; give at least 1, or leave {flag} out")]
    ZeroLimit {
        /// The flag.
        flag: &'static str,
    },
    /// Neither the kernel nor the mounts offer a controller for the limit.
    #[error("{flag} needs the {controller} controller: {why}; {remedy}")]
    NoController {
        /// `--memory`, `--disk-bps`, ...
        flag: &'static str,
        /// `memory`, `io`.
        controller: &'static str,
        /// What was not found.
        why: String,
        /// Which mount or kernel option.
        remedy: String,
    },
    /// This user may not change the cgroup tree.
    #[error("{flag}: no permission to change {path}; run as root, or without {flag}")]
    Denied {
        /// The flag that needs it.
        flag: &'static str,
        /// File or directory.
        path: PathBuf,
    },
    /// The directory is not on a block device.
    #[error("{directory} is on {fs_type}, which has no block device to slow; give a directory on a disk")]
    NoBlockDevice {
        /// The directory under test.
        directory: PathBuf,
        /// Its file system type.
        fs_type: String,
    },
    /// Another program already throttles the device.
    #[error(
        "{device} already has the rule '{rule}' in {file}, set by another program; remove it, or leave the limit out"
    )]
    ForeignRule {
        /// `major:minor`.
        device: String,
        /// Its line.
        rule: String,
        /// The file that holds it.
        file: PathBuf,
    },
    /// A tool failed.
    #[error("{command} failed: {why}")]
    Tool {
        /// As run.
        command: String,
        /// Its message.
        why: String,
    },
    /// A tool is not installed.
    #[error("{tool} is not installed; install its package ({package} on Debian)")]
    MissingTool {
        /// Program name.
        tool: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// Making a file system needs root.
    #[error("a temporary file system needs root (loop device and mount); run as root, or give a directory")]
    NotRoot,
    /// Not enough space for a file system image.
    #[error("{path} has {} free and {} are needed; give another directory or a smaller \
             size", Bytes(*.free), Bytes(*.needed))]
    NoSpace {
        /// The directory of the image.
        path: PathBuf,
        /// Free bytes.
        free: u64,
        /// Needed bytes.
        needed: u64,
    },
    /// A kernel setting cannot be changed, or cannot be restored.
    #[error("{file} cannot be set to '{value}': {why}")]
    Setting {
        /// The file.
        file: PathBuf,
        /// The new value.
        value: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// Another system error.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `read`, `make`, `write 8388608 to`, ...
        action: String,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl RigError {
    /// A system error, with the failed action.
    pub(crate) fn io(action: impl Into<String>, path: &Path) -> impl FnOnce(io::Error) -> RigError {
        let (action, path) = (action.into(), path.to_owned());
        move |source| RigError::Io { action, path, source }
    }

    /// A failure to change the cgroup tree: no permission has its own remedy.
    pub(crate) fn cgroup(flag: &'static str, action: String, path: &Path) -> impl FnOnce(io::Error) -> RigError {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => RigError::Denied { flag, path },
            _ => RigError::Io { action, path, source },
        }
    }
}
