//! The fill: creates the files, or reuses existing ones.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use access::Directory;
use rustix::fs::{FileType, OFlags};

use crate::board::Board;
use crate::data::{
    DataDirectoryStatus, DirectoryLock, FILES_PER_DIRECTORY, FileId, FilePlace, FileSet, FillState, MARKER, Marker,
    name_within, remove_tree, status_of, status_of_open,
};
use crate::error::LoadError;
use crate::random_bytes::RandomBytes;
use crate::stamp::{self, BlockOwner};

const CHUNK_BYTES: u64 = 1 << 20;
const MAX_THREADS: u64 = 8;

/// The files that a plan works on.
pub(crate) struct DataSet<'a> {
    /// Recipe's name.
    pub recipe: &'a str,
    /// Seed of the files' contents; stamped files carry it.
    pub seed: u64,
    /// The run's ledger, where data is stamped.
    pub ledger: Option<&'a Path>,
    /// The data directories.
    pub data_directories: &'a [PathBuf],
    /// Sets of files in each of them.
    pub file_sets: &'a [FileSet],
    /// CPUs of the load.
    pub cpus: u64,
}

struct Fill<'a> {
    data: &'a DataSet<'a>,
    /// The sets that the fill creates, with their indexes.
    sets: Vec<(usize, FileSet)>,
    board: &'a Board,
    bytes: RandomBytes,
    /// Data directories that need a check of each file, with their indexes.
    directories: Vec<(usize, &'a Directory)>,
    next: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<LoadError>>,
}

/// Makes all files of the data. Directories that hold just these files already are left as they are.
///
/// The first error ends the fill; [`LoadError::Stopped`] if the board says so. The directories stay locked while the
/// result lives.
pub(crate) fn fill(data: &DataSet<'_>, board: &Board) -> Result<Vec<DirectoryLock>, LoadError> {
    let mut directories = Vec::new();
    let numbered = || data.file_sets.iter().cloned().enumerate().filter(|(_, set)| set.filled);
    let sets: Vec<FileSet> = numbered().map(|(_, set)| set).collect();
    let holds: Vec<DirectoryLock> =
        data.data_directories.iter().map(|path| lock_directory(data, path)).collect::<Result<_, _>>()?;
    for (number, directory) in holds.iter().map(DirectoryLock::directory).enumerate() {
        match prepare(data, directory, &sets)? {
            Prepared::Reused => board.add_reused_directory(),
            Prepared::ToFill => directories.push((number, directory)),
        }
    }
    let set_bytes: u64 = sets.iter().map(|set| set.files.saturating_mul(set.size_bytes)).fold(0, u64::saturating_add);
    board.set_fill_total(set_bytes.saturating_mul(directories.len() as u64));
    let bytes = RandomBytes::new(data.seed, CHUNK_BYTES);
    let (next, failed, failure) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
    let fill = Fill { data, sets: numbered().collect(), board, bytes, directories, next, failed, failure };
    fill.run()?;
    let complete = marker_of(data, FillState::Complete);
    fill.directories.iter().try_for_each(|(_, directory)| complete.write(directory))?;
    if fill.sets.iter().any(|(_, set)| set.stamped) {
        // A crash must not lose the files' names either.
        holds.iter().try_for_each(|hold| make_durable(hold.directory()))?;
    }
    Ok(holds)
}

fn marker_of(data: &DataSet<'_>, state: FillState) -> Marker {
    let ledger = data.ledger.map(Path::to_owned).filter(|_| data.file_sets.iter().any(|set| set.stamped));
    Marker::new(data.recipe, data.seed, state, data.file_sets).with_ledger(ledger)
}

fn make_durable(directory: &Directory) -> Result<(), LoadError> {
    let synced = rustix::fs::syncfs(directory).map_err(io::Error::from);
    synced.map_err(LoadError::data("sync the file system of", directory.path()))
}

/// Locks directories whose data is only read.
pub(crate) fn lock_all(data: &DataSet<'_>) -> Result<Vec<DirectoryLock>, LoadError> {
    data.data_directories.iter().map(|path| lock_directory(data, path)).collect()
}

/// Opens the data directories that another node made for this run, after checking that they are the ones seen here.
pub(crate) fn shared_data(data: &DataSet<'_>) -> Result<Vec<DirectoryLock>, LoadError> {
    let shared = |path: &PathBuf| {
        let not_shared = || LoadError::NotShared { path: path.clone() };
        let directory = Directory::open(path).map_err(|_| not_shared())?;
        match status_of_open(data.recipe, &directory) {
            DataDirectoryStatus::Ours(marker) if marker.seed == data.seed => Ok(DirectoryLock::shared(directory)),
            DataDirectoryStatus::Foreign(why) => Err(LoadError::Foreign { path: path.clone(), why }),
            _ => Err(not_shared()),
        }
    };
    data.data_directories.iter().map(shared).collect()
}

enum Prepared {
    Reused,
    ToFill,
}

/// Locks a directory and creates it if it is missing. Foreign data is not touched, not even locked.
fn lock_directory(data: &DataSet<'_>, directory: &Path) -> Result<DirectoryLock, LoadError> {
    match status_of(data.recipe, directory) {
        DataDirectoryStatus::Foreign(why) => return Err(LoadError::Foreign { path: directory.to_owned(), why }),
        DataDirectoryStatus::Absent => match fs::create_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(LoadError::data("create", directory)(error));
            }
            _ => {}
        },
        _ => {}
    }
    let hold = DirectoryLock::take(directory).map_err(LoadError::data("lock", directory))?;
    hold.ok_or_else(|| LoadError::InUse { path: directory.to_owned() })
}

/// Checks a locked directory, and prepares it if it needs filling.
fn prepare(data: &DataSet<'_>, directory: &Directory, sets: &[FileSet]) -> Result<Prepared, LoadError> {
    match status_of_open(data.recipe, directory) {
        DataDirectoryStatus::Foreign(why) => {
            return Err(LoadError::Foreign { path: directory.path().to_owned(), why });
        }
        // Stamps are valid for one run only.
        DataDirectoryStatus::Ours(_) if sets.iter().any(|set| set.stamped) => {}
        DataDirectoryStatus::Ours(marker)
            if !sets.is_empty() && marker.holds(sets) && all_sizes_right(directory, sets) =>
        {
            remove_surplus(directory, sets)?;
            return Ok(Prepared::Reused);
        }
        _ => {}
    }
    marker_of(data, FillState::Filling).write(directory)?;
    remove_surplus(directory, sets)?;
    Ok(Prepared::ToFill)
}

fn has_size(directory: &Directory, name: &Path, size_bytes: u64) -> bool {
    directory.status(name).is_ok_and(|status| {
        FileType::from_raw_mode(status.st_mode) == FileType::RegularFile && status.st_size as u64 == size_bytes
    })
}

fn all_sizes_right(directory: &Directory, sets: &[FileSet]) -> bool {
    let is_right = |set: &FileSet, file| has_size(directory, &name_within(set, file), set.size_bytes);
    sets.iter().all(|set| (0..set.files).all(|file| is_right(set, file)))
}

/// Removes sets and files that the plan does not have, and what is not of the type that it should be, such as a link.
fn remove_surplus(directory: &Directory, sets: &[FileSet]) -> Result<(), LoadError> {
    let file_system = rustix::fs::fstat(directory).map_err(io::Error::from);
    let file_system = file_system.map_err(LoadError::data("inspect", directory.path()))?.st_dev;
    for (name, kind) in entries(directory)? {
        match sets.iter().find(|set| name == *set.name).filter(|_| kind == FileType::Directory) {
            Some(set) => remove_surplus_files(&inside(directory, &name)?, set, file_system)?,
            None if name.to_str().is_some_and(|name| name.starts_with(MARKER)) => {}
            None => remove_tree(directory, &name, file_system)?,
        }
    }
    Ok(())
}

fn remove_surplus_files(set_directory: &Directory, set: &FileSet, file_system: u64) -> Result<(), LoadError> {
    for (group_name, kind) in entries(set_directory)? {
        let group = group_name.to_str().and_then(|name| name.parse::<u64>().ok());
        let first = group.map(|group| group * FILES_PER_DIRECTORY).filter(|first| *first < set.files);
        let Some(first) = first.filter(|_| kind == FileType::Directory) else {
            remove_tree(set_directory, &group_name, file_system)?;
            continue;
        };
        let group = inside(set_directory, &group_name)?;
        for (name, kind) in entries(&group)? {
            let member = name.to_str().and_then(|name| name.parse::<u64>().ok());
            if kind != FileType::RegularFile || member.is_none_or(|member| first + member >= set.files) {
                remove_tree(&group, &name, file_system)?;
            }
        }
    }
    Ok(())
}

fn entries(directory: &Directory) -> Result<Vec<(OsString, FileType)>, LoadError> {
    directory.entries().map_err(LoadError::data("list", directory.path()))
}

fn inside(directory: &Directory, name: &OsStr) -> Result<Directory, LoadError> {
    directory.directory(Path::new(name)).map_err(LoadError::data("open", directory.path().join(name)))
}

impl Fill<'_> {
    fn run(&self) -> Result<(), LoadError> {
        let threads = (self.data.cpus * 2).clamp(1, MAX_THREADS);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // With fewer threads the fill is only slower.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
        match self.failure.lock().expect("no thread panics while it holds the lock").take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn work(&self) {
        let directories = self.directories.len() as u64;
        let per_directory: u64 = self.sets.iter().map(|(_, set)| set.files).sum();
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if directories == 0 || number >= per_directory * directories {
                return;
            }
            // Consecutive numbers are in different directories, so that all disks are busy.
            let directory = self.directories[(number % directories) as usize];
            if let Err(error) = self.file(directory, number / directories) {
                self.failed.store(true, Ordering::Relaxed);
                self.failure.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
            }
        }
    }

    /// Creates file `number` of a directory, counted over all sets.
    fn file(&self, (directory_index, directory): (usize, &Directory), mut number: u64) -> Result<(), LoadError> {
        for (set_index, set) in &self.sets {
            if number < set.files {
                let owner = BlockOwner { run: self.data.seed, file: FileId::new(directory_index, *set_index, number) };
                let place = FilePlace { directory, name: name_within(set, number) };
                return self.write(&place, set.size_bytes, set.stamped.then_some(owner));
            }
            number -= set.files;
        }
        Ok(())
    }

    fn write(&self, place: &FilePlace<'_>, size_bytes: u64, stamped_for: Option<BlockOwner>) -> Result<(), LoadError> {
        if stamped_for.is_none() && has_size(place.directory, &place.name, size_bytes) {
            self.board.take_from_fill_total(size_bytes);
            return Ok(());
        }
        let path = || place.directory.path().join(&place.name);
        // What is there may be a second name of another file.
        let _ = place.directory.remove_file(&place.name);
        let file = place.create(OFlags::WRONLY | OFlags::EXCL).map_err(LoadError::data("create", path()))?;
        let salt = size_bytes ^ self.next.load(Ordering::Relaxed).rotate_left(32);
        let mut stamped = vec![0; if stamped_for.is_some() { CHUNK_BYTES as usize } else { 0 }];
        let mut offset = 0;
        while offset < size_bytes {
            if self.board.is_stopping() || self.failed.load(Ordering::Relaxed) {
                return Err(LoadError::Stopped);
            }
            let length = CHUNK_BYTES.min(size_bytes - offset);
            let bytes = match stamped_for {
                Some(owner) => {
                    let whole = (length - length % stamp::UNIT_BYTES) as usize;
                    if whole > 0 {
                        stamp::put(&mut stamped[..whole], offset, owner, 0);
                    }
                    &stamped[..length as usize]
                }
                None => self.bytes.slice(salt.wrapping_add(offset), length as usize),
            };
            let placed = |error: io::Error| io::Error::new(error.kind(), format!("{error}, from byte {offset} on"));
            file.write_all_at(bytes, offset).map_err(placed).map_err(LoadError::data("write", path()))?;
            self.board.add_filled(length);
            offset += length;
        }
        file.sync_data().map_err(LoadError::data("sync", path()))
    }
}

#[cfg(test)]
mod tests;
