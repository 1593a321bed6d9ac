//! The destination of an export: a temporary directory next to it, renamed once the export is complete.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::recording::output_file::refuse;
use crate::ui::failure::Failure;

/// The final name, and a temporary directory next to it. Dropping this removes the directory.
pub struct Destination {
    output: PathBuf,
    staging: PathBuf,
}

/// A file being written.
pub type OutputFile = BufWriter<File>;

impl Destination {
    /// Refuses an existing name, and creates the directory.
    pub fn new(output: &Path) -> Result<Destination, Failure> {
        refuse(output, &[])?;
        let wrong = |why: &str| Failure::usage(format_args!("{}: {why}", output.display()));
        let name = output.file_name().ok_or_else(|| wrong("is not a valid file name"))?;
        if output.symlink_metadata().is_ok() {
            return Err(wrong("already exists and is not overwritten; choose another name"));
        }
        let staging = output.with_file_name(format!(".{}.stallscope-{}", name.display(), std::process::id()));
        match DirBuilder::new().mode(0o700).create(&staging) {
            Ok(()) => Ok(Destination { output: output.to_owned(), staging }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(wrong("its directory does not exist")),
            Err(error) => Err(Failure::path(&error, format_args!("{}: cannot create: {error}", output.display()))),
        }
    }

    /// The single file of the export.
    pub fn file(&self) -> Result<OutputFile, Failure> {
        create(&self.complete_path()).map_err(|error| self.failed(error))
    }

    /// A file in the directory of the export.
    pub fn file_in(&self, name: &str) -> Result<OutputFile, Failure> {
        self.begin_in(name).map_err(|error| self.failed(error))
    }

    /// The same, with the system's error.
    pub fn begin_in(&self, name: &str) -> io::Result<OutputFile> {
        let folder = self.complete_path();
        access::make_directories_in(&folder)?;
        create(&folder.join(name))
    }

    /// Renames the export to its final name, unless that exists by now.
    pub fn publish(self) -> Result<(), Failure> {
        sync(&self.complete_path()).map_err(|error| self.failed(error))?;
        move_to(&self.complete_path(), &self.output).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                Failure::usage(format_args!("{}: was created by another process", self.output.display()))
            }
            _ => self.failed(error),
        })
    }

    /// A write error, reported for the export rather than its temporary directory.
    pub fn failed(&self, error: io::Error) -> Failure {
        Failure::machine(format_args!("{}: cannot write: {error}", self.output.display()))
    }

    fn complete_path(&self) -> PathBuf {
        self.staging.join("complete")
    }
}

fn create(path: &Path) -> io::Result<OutputFile> {
    Ok(BufWriter::with_capacity(1 << 18, access::create_new(path)?))
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.staging);
    }
}

/// A name that survives a crash has all of its contents.
fn sync(complete: &Path) -> io::Result<()> {
    if complete.is_dir() {
        fs::read_dir(complete)?.try_for_each(|entry| File::open(entry?.path())?.sync_all())?;
    }
    File::open(complete)?.sync_all()
}

/// Renames without replacing anything.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without that flag: a link fails if the name exists, and so does renaming a directory onto
        // anything but an empty one.
        Err(Errno::INVAL | Errno::NOSYS) if from.is_dir() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => fs::hard_link(from, to),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::Destination;

    #[test]
    fn the_name_appears_only_with_the_complete_export() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let destination = Destination::new(&output).unwrap();
        destination.file().unwrap().write_all(b"half").unwrap();
        assert!(!output.exists());
        drop(destination);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        let destination = Destination::new(&output).unwrap();
        destination.file().unwrap().write_all(b"whole").unwrap();
        destination.publish().unwrap();
        assert_eq!(std::fs::read(&output).unwrap(), b"whole");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn an_existing_name_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x");
        let destination = Destination::new(&output).unwrap();
        destination.file_in("a").unwrap().write_all(b"new").unwrap();
        std::fs::write(&output, b"old").unwrap();
        destination.publish().unwrap_err();
        assert!(Destination::new(&output).is_err());
        assert_eq!(std::fs::read(&output).unwrap(), b"old");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
