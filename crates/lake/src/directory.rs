//! The directory of a lake: its marker, and how files get into it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use access::Sharing;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::contents::Contents;
use crate::error::LakeError;
use crate::files::{file_name, parquet_files, synced, write};
use crate::partition::Partition;
use crate::runs::runs_held;

/// Version of the lake's tables and directories. Readers and writers of another version refuse it.
pub const SCHEMA_VERSION: u32 = 1;

const MARKER: &str = "stallscope-lake.json";
/// Files that are not complete yet, or no longer of the lake: readers skip this name for its dot, and it is below no
/// table.
pub(crate) const STAGING: &str = ".staging";

/// A lake that this process alone writes to.
#[derive(Debug)]
pub struct Lake {
    pub(crate) directory: PathBuf,
    /// Holds the lock.
    _marker: File,
}

impl Lake {
    /// Opens a lake, or makes one of a new or empty directory. Waits for another writer.
    pub fn open_or_create(directory: &Path) -> Result<Lake, LakeError> {
        if !directory.is_dir() {
            Sharing::PRIVATE.make_directory(directory).map_err(LakeError::io(directory, "create"))?;
        }
        let marker = directory.join(MARKER);
        let mut entries = fs::read_dir(directory).map_err(LakeError::io(directory, "list"))?;
        if entries.next().is_some() && !marker.is_file() {
            return Err(LakeError::Foreign { path: directory.to_owned() });
        }
        let file = access::open_or_create(&marker, File::options().write(true));
        Lake::locked(directory, file.map_err(LakeError::io(&marker, "open"))?)
    }

    /// Opens a lake that exists. Waits for another writer.
    pub fn open(directory: &Path) -> Result<Lake, LakeError> {
        let marker = directory.join(MARKER);
        match File::options().read(true).write(true).open(&marker) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(LakeError::Missing { path: directory.to_owned() })
            }
            file => Lake::locked(directory, file.map_err(LakeError::io(&marker, "open"))?),
        }
    }

    /// Whether a directory is a lake.
    pub fn is_lake(directory: &Path) -> bool {
        directory.join(MARKER).symlink_metadata().is_ok_and(|metadata| metadata.is_file())
    }

    fn locked(directory: &Path, mut file: File) -> Result<Lake, LakeError> {
        let marker = directory.join(MARKER);
        while let Err(error) = flock(&file, FlockOperation::LockExclusive) {
            if error != rustix::io::Errno::INTR {
                return Err(LakeError::io(&marker, "lock")(error.into()));
            }
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(LakeError::io(&marker, "read"))?;
        // Empty: this process has just made it, or one that died before it wrote a line.
        if text.is_empty() {
            let signed =
                writeln!(file, "{}", json!({ "stallscope_lake": SCHEMA_VERSION })).and_then(|()| file.sync_all());
            let signed = signed.and_then(|()| synced(directory)).map_err(LakeError::io(&marker, "write"));
            // An empty marker is no lake's.
            signed.inspect_err(|_| drop(fs::remove_file(&marker)))?;
        } else {
            check(directory, &text)?;
        }
        let lake = Lake { directory: directory.to_owned(), _marker: file };
        lake.clear_staging()?;
        Ok(lake)
    }

    /// Whether a run is in the lake: it has a row in `runs`.
    pub fn has(&self, contents: &Contents) -> Result<bool, LakeError> {
        let folder = self.directory.join(contents.run.0.path());
        if folder.join(file_name(&contents.key.run)).is_file() {
            return Ok(true);
        }
        for file in parquet_files(&folder)? {
            if runs_held(&file)?.contains(&contents.key.run) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a run. Its files are written aside and renamed, its row in `runs` last: what a crash leaves before that
    /// belongs to no run of the lake, and is replaced when the run is added again.
    pub fn add(&self, contents: &Contents) -> Result<u64, LakeError> {
        let mut published = Vec::new();
        let added = self.add_to(contents, &mut published);
        if added.is_err() {
            // A full disk keeps no part of it.
            for path in published {
                let _ = fs::remove_file(&path);
                self.remove_empty(&path);
            }
            let _ = self.clear_staging();
        }
        added
    }

    /// Removes a lake that holds nothing: the first run could not be added.
    pub fn remove_if_empty(self) {
        let others = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        if others.into_iter().all(|entry| entry.file_name() == MARKER) {
            let _ = fs::remove_file(self.directory.join(MARKER));
            let _ = fs::remove_dir(&self.directory);
        }
    }

    /// Removes the empty directories above a file.
    fn remove_empty(&self, file: &Path) {
        let inside = |folder: &&Path| folder.starts_with(&self.directory) && **folder != self.directory;
        let above = file.ancestors().skip(1).take_while(inside);
        let _ = above.map_while(|folder| fs::remove_dir(folder).ok()).count();
    }

    fn add_to(&self, contents: &Contents, published: &mut Vec<PathBuf>) -> Result<u64, LakeError> {
        let staging = self.staging()?;
        let name = file_name(&contents.key.run);
        let mut bytes = 0;
        let all = contents.rows.iter().chain([&contents.run]).enumerate();
        let staged: Vec<(PathBuf, &Partition)> = all
            .map(|(number, (partition, rows))| {
                let path = staging.join(number.to_string());
                bytes += write(&path, rows).map_err(LakeError::io(&path, "write"))?;
                Ok((path, partition))
            })
            .collect::<Result<_, LakeError>>()?;
        for (path, partition) in staged {
            published.push(self.directory.join(partition.path()).join(&name));
            self.publish(&path, partition, &name)?;
        }
        self.clear_staging()?;
        Ok(bytes)
    }

    fn publish(&self, from: &Path, partition: &Partition, name: &str) -> Result<(), LakeError> {
        let folder = self.directory.join(partition.path());
        access::make_directories_in(&folder).map_err(LakeError::io(&folder, "create"))?;
        let renamed = fs::rename(from, folder.join(name)).and_then(|()| synced(&folder));
        renamed.map_err(LakeError::io(&folder, "write to"))?;
        // The directories of a first run of a day.
        let above = partition.path();
        for folder in above.ancestors().skip(1).map(|part| self.directory.join(part)) {
            synced(&folder).map_err(LakeError::io(&folder, "write to"))?;
        }
        Ok(())
    }

    /// An empty directory for what is not of the lake yet, or no longer.
    pub(crate) fn staging(&self) -> Result<PathBuf, LakeError> {
        let staging = self.directory.join(STAGING);
        access::make_directories_in(&staging).map_err(LakeError::io(&staging, "create"))?;
        Ok(staging)
    }

    pub(crate) fn clear_staging(&self) -> Result<(), LakeError> {
        let staging = self.directory.join(STAGING);
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LakeError::io(&staging, "remove")(error)),
            _ => Ok(()),
        }
    }
}

fn check(directory: &Path, text: &str) -> Result<(), LakeError> {
    let marker: Option<Value> = serde_json::from_str(text).ok();
    let version = marker.map(|marker| marker["stallscope_lake"].clone());
    if version.as_ref().and_then(Value::as_u64) == Some(SCHEMA_VERSION.into()) {
        return Ok(());
    }
    let found =
        version.filter(Value::is_u64).map_or_else(|| "unknown (no number)".to_owned(), |version| version.to_string());
    Err(LakeError::Version { path: directory.to_owned(), marker: MARKER, found, known: SCHEMA_VERSION })
}

#[cfg(test)]
mod tests;
