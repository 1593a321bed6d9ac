//! The root of the kernel's files, and the mounts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::RigError;

/// The folder that holds `proc` and `sys`: `/`, or a test's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    root: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots::at("/")
    }
}

impl Roots {
    /// The kernel's files below this folder. Mount points read there are relative to it as well.
    pub fn at(root: impl Into<PathBuf>) -> Roots {
        Roots { root: root.into() }
    }

    /// The real path of an absolute path.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Text of a file below the root.
    pub(crate) fn read(&self, absolute: &str) -> Result<String, RigError> {
        let path = self.path(absolute);
        fs::read_to_string(&path).map_err(RigError::io("read", &path))
    }

    /// The mounts, in mount order: of two entries with the same mount point, the later hides the earlier.
    pub fn mounts(&self) -> Result<Vec<MountEntry>, RigError> {
        Ok(self.read("/proc/self/mountinfo")?.lines().filter_map(MountEntry::parse).collect())
    }
}

/// One line of `/proc/self/mountinfo`; see proc_pid_mountinfo(5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// `major:minor` of the super block.
    pub device: String,
    /// The directory of the file system that is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// File system type.
    pub fs_type: String,
    /// What is mounted.
    pub source: String,
    /// Options of the super block; of cgroup v1, its controllers.
    pub super_options: String,
}

impl MountEntry {
    /// Parses a line; `None` if fields are missing.
    pub fn parse(line: &str) -> Option<MountEntry> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let (device, root, point) = (left.next()?, left.next()?, left.next()?);
        let mut right = right.splitn(3, ' ');
        Some(MountEntry {
            device: device.to_owned(),
            root: unescape(root).into(),
            point: unescape(point).into(),
            fs_type: right.next()?.to_owned(),
            source: unescape(right.next()?),
            super_options: right.next().unwrap_or_default().to_owned(),
        })
    }
}

/// The mount of a canonical path: the last mount among those with the longest mount point.
pub(crate) fn mount_of<'a>(mounts: &'a [MountEntry], path: &Path) -> Option<&'a MountEntry> {
    mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.as_os_str().len())
}

/// Undoes the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MountEntry, mount_of};

    const TEXT: &str = "23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        40 23 0:44 /@home /mnt/my\\040disk rw,nosuid - btrfs /dev/sdb1 rw,subvol=/@home\n\
        41 23 7:0 / /mnt/my\\040disk rw - xfs /dev/loop0 rw\n";

    #[test]
    fn lines_are_read_with_and_without_optional_fields() {
        let mounts: Vec<_> = TEXT.lines().filter_map(MountEntry::parse).collect();
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[0].source, "/dev/vda");
        assert_eq!(mounts[1].root, Path::new("/docker/1"));
        assert_eq!(mounts[1].super_options, "rw,memory");
        assert_eq!(mounts[2].point, Path::new("/mnt/my disk"));
        assert_eq!(MountEntry::parse("nonsense - x"), None);
    }

    #[test]
    fn a_path_is_on_the_longest_and_latest_mount() {
        let mounts: Vec<_> = TEXT.lines().filter_map(MountEntry::parse).collect();
        assert_eq!(mount_of(&mounts, Path::new("/mnt/my disk/a")).unwrap().fs_type, "xfs");
        assert_eq!(mount_of(&mounts, Path::new("/mnt/my diskette")).unwrap().fs_type, "ext4");
    }
}
