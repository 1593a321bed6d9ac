//! The directory of a flight recorder: the ring and the kept runs, with a marker, for one recorder at a time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::marker::MARKER;
use crate::recording::output_file::refuse_stored;
use crate::recording::own_path::{belongs_to_another, refuse_replaceable};
use crate::recording::sharing::{SharingArgs, make_directory};
use crate::ui::failure::Failure;

/// The slices that are being written.
const RING: &str = "ring";
/// Name prefix of the ring of a recorder that did not end cleanly.
const LEFT: &str = "ring-left-";
/// Name prefix of an unfinished run.
const UNFINISHED: &str = "unfinished-";

/// The directory, held by this process.
#[derive(Debug)]
pub struct FlightDirectory {
    directory: PathBuf,
    is_new: bool,
    lock: File,
}

impl FlightDirectory {
    /// Takes a directory: a flight recorder's, an empty one, or one that does not exist yet.
    pub fn take(directory: &Path, sharing: &SharingArgs) -> Result<FlightDirectory, Failure> {
        let failed = |what: &'static str| {
            move |error: io::Error| {
                Failure::path(&error, format_args!("{}: cannot {what}: {error}", directory.display()))
            }
        };
        refuse_replaceable(directory)?;
        refuse_stored(directory)?;
        let is_taken = directory.join(MARKER).exists() && !sharing.is_given();
        let is_new = !is_taken && is_empty_or_ours(directory) && make_directory(directory, sharing.sharing()?)?;
        let marker = directory.join(MARKER);
        if [directory, &marker].into_iter().any(belongs_to_another) {
            let problem = "belongs to another user, who could replace what is written there; choose another with --out";
            return Err(Failure::usage(format_args!("{}: {problem}", directory.display())));
        }
        let is_empty = fs::read_dir(directory).map_err(failed("list"))?.next().is_none();
        if !is_empty && !marker.exists() {
            let problem = "is neither empty nor a flight recorder's directory; choose another with --out";
            return Err(Failure::usage(format_args!("{}: {problem}", directory.display())));
        }
        let lock = access::open_or_create(&marker, File::options().write(true));
        let lock = lock.map_err(failed("write its marker"))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let pid = holder(&lock).map_or(String::new(), |pid| format!(" (process {pid})"));
            let remedy = "stop it, or choose another directory with --out";
            return Err(Failure::machine(format_args!(
                "{}: in use by another flight recorder{pid}; {remedy}",
                directory.display()
            )));
        }
        let taken = FlightDirectory { directory: directory.to_owned(), is_new, lock };
        match sign(&taken.lock).map_err(failed("write its marker")) {
            Ok(()) => Ok(taken),
            Err(failure) => {
                taken.abandon();
                Err(failure)
            }
        }
    }

    /// Removes a new directory in which no recording has begun.
    pub fn abandon(&self) {
        if self.is_new {
            let _ = remove(&self.directory.join(RING));
            let _ = fs::remove_file(self.directory.join(MARKER));
            let _ = fs::remove_dir(&self.directory);
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// An empty directory for the ring.
    pub fn fresh_ring(&self) -> Result<PathBuf, Failure> {
        let ring = self.directory.join(RING);
        let made = remove(&ring).and_then(|()| access::make_directory_in(&ring));
        made.map_err(|error| Failure::machine(format_args!("{}: cannot create: {error}", ring.display())))?;
        Ok(ring)
    }

    /// Removes the ring.
    pub fn remove_ring(&self) -> Result<(), Failure> {
        let ring = self.directory.join(RING);
        remove(&ring).map_err(|error| Failure::machine(format_args!("{}: cannot remove: {error}", ring.display())))
    }

    /// Moves the ring of a killed recorder aside, and removes its unfinished runs, which the ring still holds. Returns
    /// all rings moved aside, including those of earlier starts.
    pub fn left_rings(&self) -> Result<Vec<PathBuf>, Failure> {
        let failed = |path: &Path, error: io::Error| Failure::machine(format_args!("{}: {error}", path.display()));
        let ring = self.directory.join(RING);
        if ring.exists() {
            let unused = (1..).map(|number| self.directory.join(format!("{LEFT}{number}")));
            let left = unused.into_iter().find(|path| !path.exists()).expect("some number is unused");
            fs::rename(&ring, &left).map_err(|error| failed(&ring, error))?;
        }
        let mut rings = Vec::new();
        for name in self.names() {
            let path = self.directory.join(&name);
            if name.starts_with(UNFINISHED) {
                remove(&path).map_err(|error| failed(&path, error))?;
            } else if name.starts_with(LEFT) {
                rings.push(path);
            }
        }
        rings.sort();
        Ok(rings)
    }

    /// The directory in which a run of that name is put together.
    pub fn unfinished(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{UNFINISHED}{name}"))
    }

    /// Total size of the kept runs.
    pub fn kept_bytes(&self) -> u64 {
        let is_internal = |name: &str| name == MARKER || name == RING || name.starts_with(LEFT);
        let is_kept = |name: &String| !is_internal(name) && !name.starts_with(UNFINISHED);
        self.names().iter().filter(|name| is_kept(name)).map(|name| bytes_of(&self.directory.join(name))).sum()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Whether its access is ours to set: one with other files is refused as it is.
fn is_empty_or_ours(directory: &Path) -> bool {
    let is_empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    is_empty || directory.join(MARKER).exists()
}

/// Removes a directory if it exists.
pub fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// The slices in a ring's directory, oldest first.
pub fn slices_in(ring: &Path) -> Vec<PathBuf> {
    let mut slices: Vec<PathBuf> =
        fs::read_dir(ring).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    slices.sort();
    slices
}

/// Size of a directory's files.
pub fn bytes_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

fn holder(mut lock: &File) -> Option<u32> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn sign(mut lock: &File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.seek(SeekFrom::Start(0))?;
    writeln!(lock, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    use super::{FlightDirectory, slices_in};
    use crate::recording::sharing::SharingArgs;

    #[test]
    fn a_foreign_directory_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ring")).unwrap();
        let refused = FlightDirectory::take(folder.path(), &SharingArgs::default()).unwrap_err().to_string();
        assert!(refused.contains("neither empty nor a flight recorder's"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_recorder_at_a_time_and_the_next_finds_what_it_left() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flight");
        let flight = FlightDirectory::take(&directory, &SharingArgs::default()).unwrap();
        let busy = FlightDirectory::take(&directory, &SharingArgs::default()).unwrap_err().to_string();
        assert!(busy.contains(&format!("process {}", std::process::id())), "{busy}");
        assert_eq!(flight.left_rings().unwrap(), [""; 0].map(PathBuf::from));
        let ring = flight.fresh_ring().unwrap();
        for name in ["slice-000002", "slice-000001"] {
            fs::create_dir(ring.join(name)).unwrap();
        }
        fs::create_dir(flight.unfinished("x")).unwrap();
        drop(flight);

        // A process that another test forks holds the lock until it execs.
        let begin = Instant::now();
        let flight = loop {
            match FlightDirectory::take(&directory, &SharingArgs::default()) {
                Err(_) if begin.elapsed() < Duration::from_secs(60) => std::thread::sleep(Duration::from_millis(5)),
                flight => break flight.unwrap(),
            }
        };
        let left = flight.left_rings().unwrap().remove(0);
        assert_eq!(slices_in(&left), ["slice-000001", "slice-000002"].map(|name| left.join(name)));
        assert!(!flight.unfinished("x").exists() && !ring.exists());
        // Killed again before the first was kept.
        flight.fresh_ring().unwrap();
        assert_eq!(flight.left_rings().unwrap().len(), 2);
    }

    #[test]
    fn only_kept_runs_count_toward_the_size() {
        let folder = tempfile::tempdir().unwrap();
        let flight = FlightDirectory::take(folder.path(), &SharingArgs::default()).unwrap();
        for (name, bytes) in [("ring", 100), ("2026-11-21T0703-stall", 20), ("unfinished-x", 1000), ("kept-by-me", 3)] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), vec![0; bytes]).unwrap();
        }
        assert_eq!(flight.kept_bytes(), 23);
    }
}
