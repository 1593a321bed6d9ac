//! Who may read what is recorded: a directory has the mode that was asked for, and what is made in it has the same
//! access.
//!
//! So one decision, at the directory, holds for all that is ever written there, by any part of the program and later
//! ones. The umask does not matter.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Read and write permission.
const OF_FILES: u32 = 0o666;
const OTHERS_WRITE: u32 = 0o002;
/// What is made in such a directory gets its group.
const SETGID: u32 = 0o2000;
/// A directory of directories: names in it can be used by those who know them.
const TRAVERSED: u32 = 0o011;

/// The access to a directory, and to what is made in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// Permissions of the directory; files get the same without execution.
    pub mode: u32,
    /// Its group, if it is not that of the process.
    pub group: Option<u32>,
}

impl Sharing {
    /// The owner's alone.
    pub const PRIVATE: Sharing = Sharing { mode: 0o700, group: None };

    /// Makes a directory with this access, or gives it to one that exists. Returns whether it is new.
    pub fn make_directory(self, path: &Path) -> io::Result<bool> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
            Sharing { mode: self.mode | TRAVERSED, ..self }.make_directory(parent)?;
        }
        let is_new = match DirBuilder::new().mode(Sharing::PRIVATE.mode).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            made => made.map(|()| true)?,
        };
        match self.give_to(path) {
            Err(error) if is_new => {
                let _ = std::fs::remove_dir(path);
                Err(error)
            }
            // Of another owner, who has decided.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.group.is_none() => Ok(is_new),
            given => given.map(|()| is_new),
        }
    }

    fn give_to(self, path: &Path) -> io::Result<()> {
        let directory =
            File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
        let inherited = match self.group {
            Some(group) => {
                fchown(&directory, None, Some(group))?;
                SETGID
            }
            None => 0,
        };
        directory.set_permissions(Permissions::from_mode(self.mode | inherited))
    }
}

/// Makes a directory in one of our own, with its access.
pub fn make_directory_in(path: &Path) -> io::Result<()> {
    let mode = mode_of_parent(path);
    DirBuilder::new().mode(mode & 0o777).create(path)?;
    // The umask may have taken a part, and keeps it where nothing else is asked for.
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The same with those on the way.
pub fn make_directories_in(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), make_directories_in)?;
    match make_directory_in(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Makes a file in a directory of our own, with its access.
pub fn create_new(path: &Path) -> io::Result<File> {
    open_in(path, OpenOptions::new().create_new(true))
}

/// The same of one that may exist, which keeps its access and is emptied.
pub fn create(path: &Path) -> io::Result<File> {
    open_in(path, OpenOptions::new().create(true).truncate(true))
}

/// The same of one that keeps its contents.
pub fn open_or_create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match open_in(path, options.clone().create_new(true)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.read(true).open(path),
        opened => opened,
    }
}

fn open_in(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let mode = mode_of_parent(path) & OF_FILES;
    let private = Sharing::PRIVATE.mode & OF_FILES;
    let existed = mode != private && path.exists();
    let file = options.read(true).write(true).mode(private).open(path)?;
    if mode != private && !existed {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(file)
}

/// The mode of the directory that a path is in, if that is our own; else a private one.
fn mode_of_parent(path: &Path) -> u32 {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let own = |uid: u32| uid == rustix::process::geteuid().as_raw();
    match parent.metadata() {
        Ok(parent) if own(parent.uid()) && parent.mode() & OTHERS_WRITE == 0 => parent.mode() & 0o7777,
        _ => Sharing::PRIVATE.mode,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    use super::{Sharing, create_new, make_directories_in, make_directory_in};

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_made_in_a_directory_has_its_access() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [(0o700, 0o600, 0o711), (0o750, 0o640, 0o751), (0o755, 0o644, 0o755)];
        for (of_directory, of_files, above) in cases {
            let top = folder.path().join(format!("{of_directory:o}"));
            let path = top.join("run");
            assert!(Sharing { mode: of_directory, group: None }.make_directory(&path).unwrap());
            assert_eq!((mode(&top), mode(&path)), (above, of_directory));
            create_new(&path.join("file")).unwrap();
            make_directory_in(&path.join("in")).unwrap();
            make_directories_in(&path.join("a/b")).unwrap();
            make_directories_in(&path.join("a/b")).unwrap();
            create_new(&path.join("a/b/file")).unwrap();
            assert_eq!([mode(&path.join("file")), mode(&path.join("a/b/file"))], [of_files; 2], "{of_directory:o}");
            assert_eq!([mode(&path.join("in")), mode(&path.join("a/b"))], [of_directory; 2], "{of_directory:o}");
        }
    }

    #[test]
    fn a_directory_that_all_can_write_to_makes_no_file_readable() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        create_new(&folder.path().join("file")).unwrap();
        assert_eq!(mode(&folder.path().join("file")), 0o600);
    }

    #[test]
    fn an_existing_directory_gets_the_access() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!Sharing::PRIVATE.make_directory(folder.path()).unwrap());
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn the_group_is_inherited() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: root alone can give a directory to any group");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        Sharing { mode: 0o750, group: Some(4242) }.make_directory(&path).unwrap();
        create_new(&path.join("file")).unwrap();
        make_directory_in(&path.join("in")).unwrap();
        create_new(&path.join("in/file")).unwrap();
        for (name, expected) in [("", 0o2750), ("file", 0o640), ("in", 0o2750), ("in/file", 0o640)] {
            let metadata = path.join(name).metadata().unwrap();
            assert_eq!((metadata.gid(), metadata.mode() & 0o7777), (4242, expected), "{name}");
        }
    }
}
