//! The root of the kernel's files, and the mounts.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use model::name;

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

    /// Contents of a file below the root, in which names may hold any byte.
    pub(crate) fn read(&self, absolute: &str) -> Result<Vec<u8>, RigError> {
        let path = self.path(absolute);
        fs::read(&path).map_err(RigError::io("read", &path))
    }

    /// The same as text.
    pub(crate) fn text(&self, absolute: &str) -> Result<String, RigError> {
        Ok(name::text(&self.read(absolute)?))
    }

    /// The mounts, in mount order: of two entries with the same mount point, the later hides the earlier.
    pub fn mounts(&self) -> Result<Vec<MountEntry>, RigError> {
        Ok(self.read("/proc/self/mountinfo")?.split(|byte| *byte == b'\n').filter_map(MountEntry::parse).collect())
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
    /// Parses a line; `None` if fields are missing. Paths are as they are, other names as text ([`model::name`]).
    pub fn parse(line: &[u8]) -> Option<MountEntry> {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, point) = (words.next()?, words.next()?, words.next()?);
        words.find(|word| *word == b"-")?;
        let (fs_type, source) = (words.next()?, words.next()?);
        let super_options = words.collect::<Vec<_>>().join(&b' ');
        let path = |written| PathBuf::from(OsString::from_vec(unescape(written)));
        Some(MountEntry {
            device: name::text(device),
            root: path(root),
            point: path(point),
            fs_type: name::text(fs_type),
            source: name::text(&unescape(source)),
            super_options: name::text(&super_options),
        })
    }
}

/// The mount of a canonical path: the last mount among those with the longest mount point.
pub(crate) fn mount_of<'a>(mounts: &'a [MountEntry], path: &Path) -> Option<&'a MountEntry> {
    mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.as_os_str().len())
}

/// Undoes the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(written: &[u8]) -> Vec<u8> {
    const ESCAPES: [(&[u8], u8); 5] =
        [(b"\\040", b' '), (b"\\011", b'\t'), (b"\\012", b'\n'), (b"\\134", b'\\'), (b"\\043", b'#')];
    let (mut bytes, mut rest) = (Vec::with_capacity(written.len()), written);
    while let Some((first, after)) = rest.split_first() {
        match ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape)) {
            Some((escape, plain)) => {
                bytes.push(*plain);
                rest = &rest[escape.len()..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
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
        let mounts: Vec<_> = TEXT.lines().map(str::as_bytes).filter_map(MountEntry::parse).collect();
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[0].source, "/dev/vda");
        assert_eq!(mounts[1].root, Path::new("/docker/1"));
        assert_eq!(mounts[1].super_options, "rw,memory");
        assert_eq!(mounts[2].point, Path::new("/mnt/my disk"));
        assert_eq!(MountEntry::parse(b"nonsense - x"), None);
    }

    #[test]
    fn a_mount_whose_name_is_not_utf8_is_read_as_it_is() {
        use std::os::unix::ffi::OsStrExt as _;
        let line = b"41 23 7:0 /\xfe /mnt/\xff\\040\\134040 rw - ext4 /dev/\xfd rw";
        let mount = MountEntry::parse(line).unwrap();
        assert_eq!(mount.point.as_os_str().as_bytes(), b"/mnt/\xff \\040");
        assert_eq!((mount.root.as_os_str().as_bytes(), mount.source.as_str()), (&b"/\xfe"[..], "/dev/\\xfd"));
    }

    #[test]
    fn a_path_is_on_the_longest_and_latest_mount() {
        let mounts: Vec<_> = TEXT.lines().map(str::as_bytes).filter_map(MountEntry::parse).collect();
        assert_eq!(mount_of(&mounts, Path::new("/mnt/my disk/a")).unwrap().fs_type, "xfs");
        assert_eq!(mount_of(&mounts, Path::new("/mnt/my diskette")).unwrap().fs_type, "ext4");
    }
}
