//! The marker file: identifies a data directory and lists its contents.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use access::{Directory, owner};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::file_set::FileSet;
use super::hold::DirectoryLock;
use crate::error::LoadError;

/// Name of the marker in a data directory.
pub const MARKER: &str = ".stallscope";

/// Name of a marker that is being written.
const TEMPORARY_MARKER: &str = ".stallscope.new";

const FORMAT: u32 = 1;

/// Contents of the marker file, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    format: u32,
    /// The recipe whose data this is.
    pub recipe: String,
    /// What the files were filled from.
    pub seed: u64,
    /// Whether the fill is complete.
    pub state: FillState,
    /// The file sets that are here, or being filled.
    pub file_sets: Vec<KeptSet>,
    /// The ledger of the run that wrote it, where its data is stamped.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "access::path::optional")]
    pub ledger: Option<PathBuf>,
}

/// Progress of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FillState {
    /// Started; files may be missing or too short.
    Filling,
    /// All files were written and synced.
    Complete,
}

/// A file set as the marker records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSet {
    /// Its name.
    pub name: String,
    /// Files in this directory.
    pub files: u64,
    /// Size of each.
    pub size_bytes: u64,
}

/// What exists at the path of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataDirectoryStatus {
    /// Nothing.
    Absent,
    /// A data directory of this recipe.
    Ours(Marker),
    /// A data directory in use by another run.
    InUse,
    /// Foreign data, and why it is considered foreign.
    Foreign(String),
}

impl Marker {
    /// A marker for data of `recipe`.
    pub fn new(recipe: &str, seed: u64, state: FillState, sets: &[FileSet]) -> Marker {
        let kept = |set: &FileSet| KeptSet { name: set.name.clone(), files: set.files, size_bytes: set.size_bytes };
        Marker {
            format: FORMAT,
            recipe: recipe.to_owned(),
            seed,
            state,
            file_sets: sets.iter().filter(|set| set.filled).map(kept).collect(),
            ledger: None,
        }
    }

    /// The same with the run's ledger.
    pub(crate) fn with_ledger(self, ledger: Option<PathBuf>) -> Marker {
        Marker { ledger, ..self }
    }

    /// Whether exactly these files are complete here. The seed does not matter: any random bytes serve.
    pub fn holds(&self, sets: &[FileSet]) -> bool {
        self.state == FillState::Complete && self.file_sets == Marker::new("", 0, FillState::Complete, sets).file_sets
    }

    /// Bytes of all files once complete.
    pub fn bytes(&self) -> u64 {
        self.file_sets.iter().map(|set| set.files.saturating_mul(set.size_bytes)).fold(0, u64::saturating_add)
    }

    /// Writes the marker into a data directory, replacing an older one atomically.
    pub(crate) fn write(&self, data_directory: &Directory) -> Result<(), LoadError> {
        let temporary = Path::new(TEMPORARY_MARKER);
        let write = || -> io::Result<()> {
            match data_directory.remove_file(temporary) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = data_directory.file(temporary, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()?;
            data_directory.rename(temporary, Path::new(MARKER))
        };
        write().map_err(LoadError::data("write the marker", data_directory.path().join(MARKER)))
    }
}

/// Name of the data directory within a given directory.
pub fn directory_name(recipe: &str) -> String {
    format!("stallscope-{recipe}")
}

/// The ledger of the run that wrote the data of a recipe in a directory.
pub fn ledger_of(recipe: &str, directory: &Path) -> Result<PathBuf, LoadError> {
    let path = directory.join(directory_name(recipe));
    let why = match status_of(recipe, &path) {
        DataDirectoryStatus::Ours(Marker { ledger: Some(ledger), .. }) => return Ok(ledger),
        DataDirectoryStatus::Ours(_) => "its data was written without --verify, so it cannot be verified".to_owned(),
        DataDirectoryStatus::Foreign(why) => why,
        DataDirectoryStatus::Absent | DataDirectoryStatus::InUse => {
            "no data to verify; was the run started with --keep?".to_owned()
        }
    };
    Err(LoadError::NoLedger { path, why })
}

/// Status of `directory/stallscope-RECIPE`.
pub fn data_directory_status(recipe: &str, directory: &Path) -> DataDirectoryStatus {
    let data_directory = directory.join(directory_name(recipe));
    match status_of(recipe, &data_directory) {
        DataDirectoryStatus::Ours(_) if matches!(DirectoryLock::take(&data_directory), Ok(None)) => {
            DataDirectoryStatus::InUse
        }
        data_directory_status => data_directory_status,
    }
}

/// Status of a data directory, without checking whether it is in use.
pub(crate) fn status_of(recipe: &str, data_directory: &Path) -> DataDirectoryStatus {
    match fs::symlink_metadata(data_directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return DataDirectoryStatus::Absent,
        Err(error) => return DataDirectoryStatus::Foreign(format!("cannot be inspected: {error}")),
        Ok(metadata) if metadata.is_symlink() => return DataDirectoryStatus::Foreign("is a symbolic link".to_owned()),
        Ok(metadata) if !metadata.is_dir() => return DataDirectoryStatus::Foreign("is not a directory".to_owned()),
        Ok(_) => {}
    }
    match Directory::open(data_directory) {
        Ok(directory) => status_of_open(recipe, &directory),
        Err(error) => DataDirectoryStatus::Foreign(format!("cannot be opened: {error}")),
    }
}

/// The same of an open directory.
pub(crate) fn status_of_open(recipe: &str, directory: &Directory) -> DataDirectoryStatus {
    match directory.metadata().map(|metadata| changeable(directory, &metadata)) {
        Ok(None) => {}
        Ok(Some(why)) => return DataDirectoryStatus::Foreign(format!("{why}, who could put links and pipes there")),
        Err(error) => return DataDirectoryStatus::Foreign(format!("cannot be inspected: {error}")),
    }
    if is_empty(directory) {
        return DataDirectoryStatus::Absent;
    }
    let text = match directory.text_of(Path::new(MARKER)) {
        Ok(text) => text,
        Err(error) => return DataDirectoryStatus::Foreign(format!("has no readable marker file {MARKER} ({error})")),
    };
    match serde_json::from_str::<Marker>(&text) {
        Ok(marker) if marker.format != FORMAT => DataDirectoryStatus::Foreign("was made by another version".to_owned()),
        Ok(marker) if marker.recipe != recipe => {
            DataDirectoryStatus::Foreign(format!("holds data of '{}'", marker.recipe))
        }
        Ok(marker) => DataDirectoryStatus::Ours(marker),
        Err(error) => DataDirectoryStatus::Foreign(format!("has a marker file {MARKER} that is invalid ({error})")),
    }
}

/// Which other user could change the directory. A file server may show root, or each user, as another one: then the
/// owner of what we make there is asked for.
fn changeable(directory: &Directory, metadata: &Metadata) -> Option<String> {
    owner::changeable(metadata).filter(|_| {
        let is_of_others = metadata.mode() & 0o002 != 0;
        is_of_others || directory.path().parent().and_then(owner::seen_in) != Some(metadata.uid())
    })
}

/// Empty except for a temporary marker: the remains of a fill that died before it wrote its marker.
fn is_empty(directory: &Directory) -> bool {
    directory.entries().is_ok_and(|entries| entries.iter().all(|(name, _)| name == TEMPORARY_MARKER))
}
