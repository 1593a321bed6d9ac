//! An open directory.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::walk;

/// A directory that stays what it is, whatever happens to its path.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
}

const OPENED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Directory {
    /// Opens a directory that is not a link itself.
    pub fn open(path: &Path) -> io::Result<Directory> {
        Ok(Directory { descriptor: rustix::fs::open(path, OPENED, Mode::empty())?, path: path.to_owned() })
    }

    /// The path by which it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Owner, mode, device.
    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.descriptor.try_clone()?).metadata()
    }

    /// Opens a file beneath.
    pub fn file(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        Ok(walk::open(self.descriptor.as_fd(), &c_name(name)?, flags)?.into())
    }

    /// The text of a regular file beneath. A pipe is not waited for, and is an error like any other special file.
    pub fn text_of(&self, name: &Path) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = self.file(name, flags)?;
        match file.metadata()?.is_file() {
            true => io::read_to_string(file),
            false => Err(io::Error::other("not a regular file")),
        }
    }

    /// Opens a directory beneath.
    pub fn directory(&self, name: &Path) -> io::Result<Directory> {
        let descriptor = walk::open(self.descriptor.as_fd(), &c_name(name)?, OPENED)?;
        Ok(Directory { descriptor, path: self.path.join(name) })
    }

    /// Makes a directory beneath, unless one is there.
    pub fn make_directory(&self, name: &Path) -> io::Result<()> {
        let (parent, name) = self.parent_of(name)?;
        match rustix::fs::mkdirat(parent.as_fd(), &name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes the directories that a path beneath goes through.
    pub fn make_parents(&self, name: &Path) -> io::Result<()> {
        let mut parents: Vec<&Path> = name.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        parents.reverse();
        parents.iter().try_for_each(|parent| self.make_directory(parent))
    }

    /// Opens a file beneath to write to, and makes the directories on the way if they are missing.
    pub fn create(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let open = || self.file(name, flags | OFlags::CREATE);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_parents(name)?;
                open()
            }
            opened => opened,
        }
    }

    /// What is at a path beneath, a link too.
    pub fn status(&self, name: &Path) -> io::Result<Stat> {
        let (parent, name) = self.parent_of(name)?;
        Ok(rustix::fs::statat(parent.as_fd(), &name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Removes a file, or a link, beneath.
    pub fn remove_file(&self, name: &Path) -> io::Result<()> {
        let (parent, name) = self.parent_of(name)?;
        Ok(rustix::fs::unlinkat(parent.as_fd(), &name, AtFlags::empty())?)
    }

    /// Removes an empty directory beneath.
    pub fn remove_directory(&self, name: &Path) -> io::Result<()> {
        let (parent, name) = self.parent_of(name)?;
        Ok(rustix::fs::unlinkat(parent.as_fd(), &name, AtFlags::REMOVEDIR)?)
    }

    /// Renames beneath; replaces a file, also one that is a link.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((old, from), (new, to)) = (self.parent_of(from)?, self.parent_of(to)?);
        Ok(rustix::fs::renameat(old.as_fd(), &from, new.as_fd(), &to)?)
    }

    /// The names in it, and what they are.
    pub fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let status = rustix::fs::statat(&self.descriptor, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(status.st_mode)
                }
                kind => kind,
            };
            found.push((OsString::from_vec(name.to_vec()), kind));
        }
        Ok(found)
    }

    /// The open parent of a path beneath, and the last component.
    fn parent_of(&self, name: &Path) -> io::Result<(Parent<'_>, CString)> {
        let last = name.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let last = CString::new(last.as_bytes())?;
        match name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY;
                Ok((Parent::Opened(walk::open(self.descriptor.as_fd(), &c_name(parent)?, flags)?), last))
            }
            None => Ok((Parent::Top(self.descriptor.as_fd()), last)),
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

enum Parent<'a> {
    Top(BorrowedFd<'a>),
    Opened(OwnedFd),
}

impl Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Top(descriptor) => *descriptor,
            Parent::Opened(descriptor) => descriptor.as_fd(),
        }
    }
}

fn c_name(name: &Path) -> io::Result<CString> {
    let name: &OsStr = name.as_os_str();
    Ok(CString::new(name.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::Directory;
    use crate::walk;

    /// A directory `d` with links to a directory and a file beside it.
    fn scene() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("d/set")).unwrap();
        fs::create_dir(path("victims")).unwrap();
        fs::write(path("victims/file"), "kept").unwrap();
        fs::write(path("d/set/own"), "").unwrap();
        symlink(path("victims"), path("d/link")).unwrap();
        symlink(path("victims/file"), path("d/set/link")).unwrap();
        folder
    }

    #[test]
    fn no_link_beneath_is_followed_by_any_call() {
        let folder = scene();
        let directory = Directory::open(&folder.path().join("d")).unwrap();
        let write = OFlags::WRONLY | OFlags::TRUNC;
        for name in ["link/file", "set/link", "link/new", "../victims/file"] {
            let name = Path::new(name);
            assert!(directory.file(name, write).is_err(), "{name:?}");
            assert!(directory.create(name, write).is_err(), "{name:?}");
        }
        assert!(directory.remove_file("link/file".as_ref()).is_err());
        assert!(directory.rename("set/own".as_ref(), "link/file".as_ref()).is_err());
        assert!(directory.make_directory("link/new".as_ref()).is_err());
        assert!(directory.directory("link".as_ref()).is_err());
        directory.rename("set/own".as_ref(), "set/link".as_ref()).unwrap();
        directory.remove_file("link".as_ref()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("victims/file")).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path().join("victims")).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_stays_the_same_when_its_path_is_replaced() {
        let folder = scene();
        let path = folder.path().join("d");
        let directory = Directory::open(&path).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        symlink(folder.path().join("victims"), &path).unwrap();
        directory.create("new/file".as_ref(), OFlags::WRONLY).unwrap();
        assert!(folder.path().join("moved/new/file").exists() && Directory::open(&path).is_err());
    }

    #[test]
    fn a_kernel_without_openat2_follows_no_link_either() {
        let folder = scene();
        let directory = Directory::open(&folder.path().join("d")).unwrap();
        let open = |path, flags| walk::by_component(directory.as_fd(), path, flags);
        for path in [c"link/file", c"set/link", c"set/../link/file"] {
            assert!(open(path, OFlags::WRONLY | OFlags::TRUNC).is_err(), "{path:?}");
        }
        assert_eq!(open(c"set/none", OFlags::RDONLY).err(), Some(Errno::NOENT));
        assert!(open(c"set//own", OFlags::WRONLY).is_ok());
        assert!(open(c"set/new", OFlags::WRONLY | OFlags::CREATE).is_ok());
        assert_eq!(fs::read_to_string(folder.path().join("victims/file")).unwrap(), "kept");
    }

    /// A pipe would block its reader.
    #[test]
    fn a_pipe_in_place_of_a_text_is_an_error_at_once() {
        let folder = scene();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("d/pipe")).status();
        assert!(made.unwrap().success());
        let directory = Directory::open(&folder.path().join("d")).unwrap();
        assert!(directory.text_of("pipe".as_ref()).is_err());
    }
}
