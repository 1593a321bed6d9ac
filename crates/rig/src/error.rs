//! What can go wrong while building or removing, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use model::quantity::Bytes;

/// A rig, register or throw-away file system that could not be had.
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
    /// A memory box of that size makes no sense.
    #[error("--memory {}: {why}", Bytes(*.bytes))]
    MemoryLimit {
        /// What was asked for.
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
    /// The kernel or the mounts offer no controller for the limit.
    #[error("{flag} needs the {controller} controller: {why}; {remedy}")]
    NoController {
        /// `--memory`, `--disk-bps`, ...
        flag: &'static str,
        /// `memory`, `io`.
        controller: &'static str,
        /// What was looked for and not found.
        why: String,
        /// Which mount or kernel option.
        remedy: String,
    },
    /// The cgroup tree may not be changed by this user.
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
    /// Somebody else already slows the device.
    #[error("{device} already has the rule '{rule}' in {file}, which is not ours; remove it, or leave the limit out")]
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
    #[error("{tool} is not installed; install the package that holds it ({package} on Debian)")]
    MissingTool {
        /// Program name.
        tool: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// Making file systems is for root.
    #[error("a throw-away file system needs root (loop device and mount); run as root, or give a directory")]
    NotRoot,
    /// Not enough room for a file system image.
    #[error("{path} has {} free and {} are needed; give another directory or a smaller size", Bytes(*.free), Bytes(*.needed))]
    NoSpace {
        /// Where it should have gone.
        path: PathBuf,
        /// Free bytes.
        free: u64,
        /// Needed bytes.
        needed: u64,
    },
    /// A setting of the kernel cannot be changed, or not be put back.
    #[error("{file} cannot be set to '{value}': {why}")]
    Setting {
        /// The file.
        file: PathBuf,
        /// What it was to become.
        value: String,
        /// Why not, and what to do.
        why: String,
    },
    /// Some other failure of the system.
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
    /// A failure of the system, told with what was being done.
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
