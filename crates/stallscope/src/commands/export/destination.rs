//! Where an export comes to be: beside its final name, which it gets when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::ui::failure::Failure;

/// The final name, and a directory beside it for what is not finished. The directory goes away when this is dropped.
pub struct Destination {
    output: PathBuf,
    workshop: PathBuf,
}

/// A file that is being written.
pub type OutputFile = BufWriter<File>;

impl Destination {
    /// Refuses a name that is taken, and makes the directory.
    pub fn new(output: &Path) -> Result<Destination, Failure> {
        let wrong = |why: &str| Failure::usage(format_args!("{}: {why}", output.display()));
        let name = output.file_name().ok_or_else(|| wrong("is no name for a new file"))?;
        if output.symlink_metadata().is_ok() {
            return Err(wrong("is there already, and is not overwritten; give another name"));
        }
        let workshop = output.with_file_name(format!(".{}.stallscope-{}", name.display(), std::process::id()));
        match fs::create_dir(&workshop) {
            Ok(()) => Ok(Destination { output: output.to_owned(), workshop }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(wrong("its directory does not exist")),
            Err(error) => Err(Failure::machine(format_args!("{}: {error}", workshop.display()))),
        }
    }

    /// The only file of the export.
    pub fn file(&self) -> Result<OutputFile, Failure> {
        self.create(&self.whole())
    }

    /// A file in the directory that the export is.
    pub fn file_in(&self, name: &str) -> Result<OutputFile, Failure> {
        let folder = self.whole();
        fs::create_dir_all(&folder).map_err(|error| self.failed(error))?;
        self.create(&folder.join(name))
    }

    /// Gives the export its name, unless that was taken meanwhile.
    pub fn publish(self) -> Result<(), Failure> {
        move_to(&self.whole(), &self.output).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                Failure::usage(format_args!("{}: was made by somebody else meanwhile", self.output.display()))
            }
            _ => self.failed(error),
        })
    }

    /// An error of writing, told about the export itself: the place that it is written to is nobody's business.
    pub fn failed(&self, error: io::Error) -> Failure {
        Failure::machine(format_args!("{}: cannot be written: {error}", self.output.display()))
    }

    fn whole(&self) -> PathBuf {
        self.workshop.join("whole")
    }

    fn create(&self, path: &Path) -> Result<OutputFile, Failure> {
        let file = File::create_new(path).map_err(|error| self.failed(error))?;
        Ok(BufWriter::with_capacity(1 << 18, file))
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.workshop);
    }
}

/// Renames without ever replacing anything.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without that flag: a link is refused where the name is taken, and so is a rename of a directory
        // onto anything but an empty one.
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
    fn nothing_is_there_under_the_name_until_all_is_there() {
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
    fn a_name_that_is_taken_before_or_meanwhile_is_left_alone() {
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
