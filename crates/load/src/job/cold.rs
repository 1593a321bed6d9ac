//! Making what is read next come from the disk and not from memory.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

use super::values::JobValues;
use crate::error::LoadError;
use crate::facts::DROP_CACHES;

/// What is done before a cold read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ColdMethod {
    /// The page cache, dentries and inodes of the whole machine are dropped.
    Caches,
    /// The pages of our own files are dropped, because only root may drop more.
    FadviseForWantOfRoot,
    /// The pages of our own files are dropped. Their inodes stay in memory.
    Fadvise,
    /// Nothing.
    None,
}

impl ColdMethod {
    /// The word of the key `drop`; `caches` where it is not given, as the originals have it.
    pub(crate) fn resolve(values: &JobValues<'_, '_>) -> Result<ColdMethod, LoadError> {
        Ok(match values.word("drop")?.as_deref() {
            Some("none") => ColdMethod::None,
            Some("fadvise") => ColdMethod::Fadvise,
            _ if values.may_drop_caches() => ColdMethod::Caches,
            _ => ColdMethod::FadviseForWantOfRoot,
        })
    }

    /// What a person should know before this is done.
    pub(crate) fn remark(self) -> Option<&'static str> {
        match self {
            ColdMethod::Caches => Some(
                "drops the caches of the whole machine again and again, which slows down everybody on it; --drop fadvise does not",
            ),
            ColdMethod::FadviseForWantOfRoot => Some(
                "only root may drop the machine's caches: the pages of the load's own files are dropped instead, their inodes stay",
            ),
            ColdMethod::Fadvise | ColdMethod::None => None,
        }
    }

    /// Whether the pages of each file have to be dropped one by one.
    pub(crate) fn by_file(self) -> bool {
        matches!(self, ColdMethod::Fadvise | ColdMethod::FadviseForWantOfRoot)
    }

    /// Drops the machine's caches where that was chosen. Pages that are dirty stay.
    pub(crate) fn drop_caches(self) -> io::Result<()> {
        match self {
            ColdMethod::Caches => std::fs::write(DROP_CACHES, "3"),
            _ => Ok(()),
        }
    }

    /// Drops the pages of a file where that was chosen. Those that are dirty stay.
    pub(crate) fn drop_pages(self, file: &File) {
        if self.by_file() {
            drop_pages(file);
        }
    }

    /// Writes back what is dirty: on the whole machine as sync(1) does, or on the one file system.
    pub(crate) fn write_back(self, directory: &Path) -> io::Result<()> {
        match self {
            ColdMethod::Caches => {
                rustix::fs::sync();
                Ok(())
            }
            _ => Ok(rustix::fs::syncfs(File::open(directory)?)?),
        }
    }
}

/// Drops a file's pages. Those that are dirty stay, and where the file system cannot, all do: its reads are quick then.
pub(super) fn drop_pages(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}
