//! The marker file: proof that a directory is ours, and what lies in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file_set::FileSet;
use super::hold::DirectoryLock;
use crate::error::LoadError;

/// FileName of the marker in a data directory.
pub const MARKER: &str = ".stallscope";

/// FileName of a marker that is being written.
const FRESH: &str = ".stallscope.new";

const FORMAT: u32 = 1;

/// Contents of the marker file, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    format: u32,
    /// The recipe whose data this is.
    pub recipe: String,
    /// What the files were filled from.
    pub seed: u64,
    /// Whether the fill was finished.
    pub state: FillState,
    /// What lies here, or is being made.
    pub file_sets: Vec<KeptSet>,
    /// The ledger of the run that wrote it, where its data is stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<PathBuf>,
}

/// How far a fill has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FillState {
    /// Begun; files may be missing or too short.
    Filling,
    /// All files were written and synced.
    Complete,
}

/// A set of files as the marker remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSet {
    /// Its name.
    pub name: String,
    /// Files in this directory.
    pub files: u64,
    /// Size of each.
    pub size_bytes: u64,
}

/// What stands where a data directory would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataDirectoryStatus {
    /// Nothing.
    Absent,
    /// A data directory of this recipe.
    Ours(Marker),
    /// A data directory that another run uses now.
    InUse,
    /// Something else, and why it is not taken for ours.
    Foreign(String),
}

impl Marker {
    /// For data of `recipe`.
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

    /// The same, naming the ledger of the run.
    pub(crate) fn with_ledger(self, ledger: Option<PathBuf>) -> Marker {
        Marker { ledger, ..self }
    }

    /// Whether a complete set of just these files is here. The seed does not matter: any random bytes will do.
    pub fn holds(&self, sets: &[FileSet]) -> bool {
        self.state == FillState::Complete && self.file_sets == Marker::new("", 0, FillState::Complete, sets).file_sets
    }

    /// Bytes of all files once complete.
    pub fn bytes(&self) -> u64 {
        self.file_sets.iter().map(|set| set.files.saturating_mul(set.size_bytes)).fold(0, u64::saturating_add)
    }

    /// Puts the marker into a data directory, replacing an older one in one step.
    pub fn write(&self, data_directory: &Path) -> Result<(), LoadError> {
        let (path, fresh) = (data_directory.join(MARKER), data_directory.join(FRESH));
        let write = || -> io::Result<()> {
            let mut file = File::create(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()?;
            fs::rename(&fresh, &path)
        };
        write().map_err(LoadError::data("write the marker", path.clone()))
    }
}

/// The name of our subdirectory in a user's directory.
pub fn directory_name(recipe: &str) -> String {
    format!("stallscope-{recipe}")
}

/// The ledger of the run that wrote the data of a recipe in a directory.
pub fn ledger_of(recipe: &str, directory: &Path) -> Result<PathBuf, LoadError> {
    let path = directory.join(directory_name(recipe));
    let why = match status_of(recipe, &path) {
        DataDirectoryStatus::Ours(Marker { ledger: Some(ledger), .. }) => return Ok(ledger),
        DataDirectoryStatus::Ours(_) => "its data was written without --verify, so nothing is known of it".to_owned(),
        DataDirectoryStatus::Foreign(why) => why,
        DataDirectoryStatus::Absent | DataDirectoryStatus::InUse => {
            "there is no data to verify; was the run told to --keep it?".to_owned()
        }
    };
    Err(LoadError::NoLedger { path, why })
}

/// What stands at `directory/stallscope-RECIPE`.
pub fn data_directory_status(recipe: &str, directory: &Path) -> DataDirectoryStatus {
    let data_directory = directory.join(directory_name(recipe));
    match status_of(recipe, &data_directory) {
        DataDirectoryStatus::Ours(_) if matches!(DirectoryLock::take(&data_directory), Ok(None)) => {
            DataDirectoryStatus::InUse
        }
        data_directory_status => data_directory_status,
    }
}

/// What stands at the data directory itself, whoever uses it.
pub(crate) fn status_of(recipe: &str, data_directory: &Path) -> DataDirectoryStatus {
    match fs::symlink_metadata(data_directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return DataDirectoryStatus::Absent,
        Err(error) => return DataDirectoryStatus::Foreign(format!("cannot be looked at: {error}")),
        Ok(metadata) if metadata.is_symlink() => return DataDirectoryStatus::Foreign("is a symbolic link".to_owned()),
        Ok(metadata) if !metadata.is_dir() => return DataDirectoryStatus::Foreign("is not a directory".to_owned()),
        Ok(_) => {}
    }
    if is_empty(data_directory) {
        return DataDirectoryStatus::Absent;
    }
    let text = match read_plain_file(&data_directory.join(MARKER)) {
        Ok(text) => text,
        Err(error) => return DataDirectoryStatus::Foreign(format!("has no readable marker file {MARKER} ({error})")),
    };
    match serde_json::from_str::<Marker>(&text) {
        Ok(marker) if marker.format != FORMAT => DataDirectoryStatus::Foreign("was made by another version".to_owned()),
        Ok(marker) if marker.recipe != recipe => {
            DataDirectoryStatus::Foreign(format!("holds data of '{}'", marker.recipe))
        }
        Ok(marker) => DataDirectoryStatus::Ours(marker),
        Err(error) => DataDirectoryStatus::Foreign(format!("has a marker file {MARKER} that is not ours ({error})")),
    }
}

/// A fill that died before it wrote its marker leaves an empty directory behind.
fn is_empty(data_directory: &Path) -> bool {
    fs::read_dir(data_directory).is_ok_and(|mut entries| entries.all(|e| e.is_ok_and(|e| e.file_name() == FRESH)))
}

fn read_plain_file(path: &Path) -> io::Result<String> {
    match fs::symlink_metadata(path)?.is_file() {
        true => fs::read_to_string(path),
        false => Err(io::Error::other("not a regular file")),
    }
}
