//! One program's file in the register.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::effect;
use crate::{Owner, Resource, RigError};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Owner { owner: Owner },
    Made { id: u64, made: Resource },
    Gone { id: u64 },
}

/// An open, locked file of the register. Dropping it removes the file if nothing is left to remove.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    owner: Option<Owner>,
    present: BTreeMap<u64, Resource>,
    next_id: u64,
}

/// Extension of a file that is not yet locked and complete; it holds no resources.
pub(super) const UNBORN: &str = "new";

impl Journal {
    /// Creates a file. It gets its final name only when it is locked and holds its owner.
    pub(super) fn create(folder: &Path, owner: &Owner) -> Result<Journal, RigError> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let path = folder.join(owner.file_name(OPENED.fetch_add(1, Ordering::Relaxed)));
        let unborn = path.with_extension(UNBORN);
        let file = effect::open_or_create(OpenOptions::new().read(true).append(true).create(true).mode(0o600), &unborn);
        let file = file.map_err(RigError::io("make", &unborn))?;
        lock(&file).map_err(RigError::io("lock", &unborn))?;
        let mut journal = Journal { path, file, owner: Some(owner.clone()), present: BTreeMap::new(), next_id: 0 };
        journal.append(&Line::Owner { owner: owner.clone() })?;
        effect::rename(&unborn, &journal.path).map_err(RigError::io("rename", &unborn))?;
        Ok(journal)
    }

    /// Another program's file, or `None` if it is locked or was just swept by another program.
    pub(super) fn take(path: &Path) -> Result<Option<Journal>, RigError> {
        let Ok(file) = OpenOptions::new().read(true).append(true).open(path) else { return Ok(None) };
        if lock(&file).is_err() || file.metadata().map_or(0, |metadata| metadata.nlink()) == 0 {
            return Ok(None);
        }
        Journal::read(path, file).map(Some)
    }

    /// The file of a program that is dead, also while the kernel still closes its files, of which it is one.
    pub(super) fn take_from_dead(path: &Path) -> Result<Option<Journal>, RigError> {
        let Ok(file) = OpenOptions::new().read(true).append(true).open(path) else { return Ok(None) };
        Journal::read(path, file).map(Some)
    }

    fn read(path: &Path, mut file: File) -> Result<Journal, RigError> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(RigError::io("read", path))?;
        let mut journal = Journal { path: path.to_owned(), file, owner: None, present: BTreeMap::new(), next_id: 0 };
        let whole = journal.drop_cut_line(&text)?;
        whole.lines().filter_map(|line| serde_json::from_str(line).ok()).for_each(|line| journal.replay(line));
        Ok(journal)
    }

    /// The file and its lock for a tool: it stays locked until the tool has ended, even if its owner dies before. A
    /// tool that reads it finds its end.
    pub(super) fn held(&self) -> Result<File, RigError> {
        self.file.try_clone().map_err(RigError::io("share", &self.path))
    }

    pub(super) fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }

    /// The resources that were made and are not known to be gone, latest first.
    pub(super) fn present(&self) -> Vec<(u64, Resource)> {
        self.present.iter().rev().map(|(id, resource)| (*id, resource.clone())).collect()
    }

    pub(super) fn made(&mut self, resource: &Resource) -> Result<u64, RigError> {
        let id = self.next_id;
        self.append(&Line::Made { id, made: resource.clone() })?;
        self.replay(Line::Made { id, made: resource.clone() });
        Ok(id)
    }

    pub(super) fn gone(&mut self, id: u64) -> Result<(), RigError> {
        self.append(&Line::Gone { id })?;
        self.replay(Line::Gone { id });
        Ok(())
    }

    fn replay(&mut self, line: Line) {
        match line {
            Line::Owner { owner } => self.owner = Some(owner),
            Line::Made { id, made } => {
                self.next_id = self.next_id.max(id.saturating_add(1));
                self.present.insert(id, made);
            }
            Line::Gone { id } => drop(self.present.remove(&id)),
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), RigError> {
        let mut text = serde_json::to_string(line).expect("a line is plain data with string keys");
        text.push('\n');
        effect::append(&self.file, text.as_bytes()).map_err(RigError::io("write to", &self.path))
    }

    /// Removes a partial last line, since the next line is appended.
    fn drop_cut_line<'a>(&mut self, text: &'a str) -> Result<&'a str, RigError> {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            effect::shorten(&self.file, whole as u64).map_err(RigError::io("shorten", &self.path))?;
        }
        Ok(&text[..whole])
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.present.is_empty() {
            let _ = effect::remove_file(&self.path);
        }
    }
}

fn lock(file: &File) -> std::io::Result<()> {
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}
