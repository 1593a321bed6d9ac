//! Removing a directory that proves itself ours.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use access::Directory;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock};

use super::existing::existing;
use crate::Roots;
use crate::child::{find_tool, run};
use crate::effect;
use crate::outcome::Outcome;

/// Enough for millions of files; the next run removes the rest.
const DEADLINE: Duration = Duration::from_secs(120);

/// Another program holds the directory (flock): a load of ours that uses it.
pub(super) struct InUse;

/// A killed load's threads hold the directory until the last of them has exited, which on a slowed disk is a moment
/// after its main thread.
const DYING: Duration = Duration::from_secs(2);

/// Locks the directory against other programs while it is removed. `None` if it cannot be opened; its removal reports
/// that.
pub(super) fn hold(path: &Path, patience: Duration) -> Result<Option<File>, InUse> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(directory) = rustix::fs::open(path, flags, Mode::empty()) else { return Ok(None) };
    let until = Instant::now() + patience.min(DYING);
    while flock(&directory, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        if Instant::now() >= until {
            return Err(InUse);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // On a file system without locks no user holds one either.
    Ok(Some(File::from(directory)))
}

pub(super) fn remove(path: &Path, marker: &str, roots: &Roots, patience: Duration) -> Outcome {
    let Some(metadata) = existing(path)? else { return Ok(None) };
    if !metadata.is_dir() {
        return Err("it is no longer a directory".into());
    }
    // The mount table instead of stat: a stuck file system would not answer.
    let mounts = roots.mounts().map_err(|error| error.to_string())?;
    if let Some(mount) = mounts.iter().find(|mount| mount.point.starts_with(path)) {
        return Err(format!("{} is still mounted at {}", mount.source, mount.point.display()));
    }
    // By its descriptor from here on: the user who owns its parent could put another directory in its place.
    let directory = Directory::open(path).map_err(|error| error.to_string())?;
    let is_file = |name: &str| {
        let status = directory.status(Path::new(name));
        status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile)
    };
    if !is_file(marker) {
        // Empty: the program was killed before it wrote the marker, or could not write it.
        let unfinished = format!("{marker}.new");
        let is_alone = || directory.entries().is_ok_and(|entries| entries.len() == 1);
        if is_file(&unfinished) && is_alone() {
            effect::other(|| directory.remove_file(Path::new(&unfinished))).map_err(|error| error.to_string())?;
        }
        return match effect::remove_directory(path) {
            Ok(()) => Ok(Some("removed")),
            Err(_) => Err(format!("it holds other files and no {marker}, so it may not be ours")),
        };
    }
    // The marker goes last, so an interrupted removal can be resumed.
    empty_but(&directory, marker, patience.min(DEADLINE))?;
    effect::other(|| directory.remove_file(Path::new(marker)))
        .and_then(|()| effect::remove_directory(path))
        .map(|()| Some("removed"))
        .map_err(|error| error.to_string())
}

/// Empties it by a tool with a deadline: a frozen or failing file system would block us for ever.
fn empty_but(directory: &Directory, marker: &str, deadline: Duration) -> Result<(), String> {
    let find = find_tool("find").ok_or("'find' is not installed")?;
    let mut command = Command::new(find);
    // The child enters the open directory before it executes the tool, which closes the descriptor.
    command.current_dir(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()));
    command.args([".", "-xdev", "-mindepth", "1", "!", "-name", marker, "-delete"]);
    let empty = || run(&mut command, deadline).map_err(std::io::Error::other);
    effect::other(empty).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::remove;
    use crate::Roots;

    /// Its disk failed while the marker was written.
    #[test]
    fn a_directory_with_an_unfinished_marker_alone_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".stallscope.new"), "").unwrap();
        fs::write(path.join("other"), "").unwrap();
        let remove = || remove(&path, ".stallscope", &Roots::default(), Duration::ZERO);
        assert!(remove().is_err() && path.join(".stallscope.new").exists());
        fs::remove_file(path.join("other")).unwrap();
        assert_eq!(remove(), Ok(Some("removed")));
        assert!(!path.exists());
    }
}
