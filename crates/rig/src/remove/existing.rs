//! Whether a resource is still there. Only the kernel's answer that it is not is one: after any other error it stays
//! registered.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// The metadata of a path; `None`: nothing is there.
pub(super) fn existing(path: &Path) -> Result<Option<Metadata>, String> {
    if_there(fs::symlink_metadata(path)).map_err(|error| error.to_string())
}

/// The text of a file of the kernel; `None`: what it belongs to is gone.
pub(super) fn text(path: &Path) -> Result<Option<String>, String> {
    if_there(fs::read(path))
        .map(|found| found.map(|bytes| model::name::text(&bytes)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    let gone = [rustix::io::Errno::NOENT, rustix::io::Errno::NODEV, rustix::io::Errno::NXIO];
    match result {
        Ok(there) => Ok(Some(there)),
        Err(error) if gone.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{cgroup, directory, throttle};
    use crate::Roots;

    /// A path that the kernel cannot follow stands for one on a disk with errors.
    #[test]
    fn what_cannot_be_looked_at_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink(&circle, &circle).unwrap();
        let (inside, roots, now) = (circle.join("stallscope-1"), Roots::default(), Duration::ZERO);
        let gone = folder.path().join("stallscope-1");
        assert_eq!(directory::remove(&gone, "marker", &roots, now), Ok(None));
        assert_eq!(cgroup::remove(&gone, now), Ok(None));
        assert_eq!(throttle::lift(&gone, "8:0", 1), Ok(None));
        assert!(directory::remove(&inside, "marker", &roots, now).is_err());
        assert!(cgroup::remove(&inside, now).is_err());
        assert!(throttle::lift(&inside, "8:0", 1).is_err());
    }
}
