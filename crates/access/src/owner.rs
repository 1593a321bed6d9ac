//! Users whose files this process may write to, or remove.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Write permission of every user.
const OTHERS_WRITE: u32 = 0o002;
/// In a directory with this bit, users cannot replace names of others.
const STICKY: u32 = 0o1000;

/// The user who called `sudo`, who may run any command as root.
pub fn caller() -> Option<u32> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

/// Whether a user is root, this process's own, or the caller of `sudo`.
pub fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw() || Some(uid) == caller()
}

/// Why another user could change what is in a directory, or `None`.
pub fn changeable(directory: &Metadata) -> Option<String> {
    let (uid, mode) = (directory.uid(), directory.mode());
    if !is_trusted(uid) {
        return Some(format!("belongs to user {uid}"));
    }
    (mode & OTHERS_WRITE != 0).then(|| format!("can be written to by every user (mode {:04o})", mode & 0o7777))
}

/// Why another user could replace what is *named* in a directory by a link, or `None`: with the sticky bit, names of
/// others stay.
pub fn replaceable(directory: &Metadata) -> Option<String> {
    let kept = directory.mode() & STICKY != 0 && is_trusted(directory.uid());
    changeable(directory).filter(|_| !kept)
}

/// The owner of what this process makes in a directory. A file server may show root as another user (`root_squash`).
pub fn seen_in(directory: &Path) -> Option<u32> {
    let path = directory.join(format!(".stallscope-owner-{}", std::process::id()));
    // Exclusively, and asked of the open file: nobody can put another in its place.
    let made = File::create_new(&path).ok()?;
    let uid = made.metadata().ok().map(|metadata| metadata.uid());
    let _ = std::fs::remove_file(&path);
    uid
}
