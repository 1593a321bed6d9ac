//! Dropping caches, so that the next reads come from the disk.

use std::fs::File;
use std::io;

use access::Directory;
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

use super::values::JobValues;
use crate::error::LoadError;
use crate::facts::DROP_CACHES;

/// What to drop before a cold read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ColdMethod {
    /// The page cache, dentries and inodes of the whole machine are dropped.
    Caches,
    /// The pages of the load's files are dropped, because only root may drop all caches.
    FadviseWithoutRoot,
    /// The pages of the load's files are dropped. Their inodes stay in memory.
    Fadvise,
    /// Nothing.
    None,
}

impl ColdMethod {
    /// The word of the key `drop`; the default is `caches`, as in the originals.
    pub(crate) fn resolve(values: &JobValues<'_, '_>) -> Result<ColdMethod, LoadError> {
        Ok(match values.word("drop")?.as_deref() {
            Some("none") => ColdMethod::None,
            Some("fadvise") => ColdMethod::Fadvise,
            _ if values.may_drop_caches() => ColdMethod::Caches,
            _ => ColdMethod::FadviseWithoutRoot,
        })
    }

    /// Warnings to show before the run.
    pub(crate) fn remark(self) -> Option<&'static str> {
        match self {
            ColdMethod::Caches => Some(
                "drops the caches of the whole machine repeatedly, which slows down all of its users; --drop fadvise \
                 does not",
            ),
            ColdMethod::FadviseWithoutRoot => Some(
                "only root may drop the machine's caches: the pages of the load's files are dropped instead, their \
                 inodes stay",
            ),
            ColdMethod::Fadvise | ColdMethod::None => None,
        }
    }

    /// Whether the pages are dropped per file.
    pub(crate) fn by_file(self) -> bool {
        matches!(self, ColdMethod::Fadvise | ColdMethod::FadviseWithoutRoot)
    }

    /// Drops the machine's caches, if chosen. Dirty pages stay.
    pub(crate) fn drop_caches(self) -> io::Result<()> {
        match self {
            ColdMethod::Caches => std::fs::write(DROP_CACHES, "3"),
            _ => Ok(()),
        }
    }

    /// Drops the pages of a file, if chosen. Dirty pages stay.
    pub(crate) fn drop_pages(self, file: &File) {
        if self.by_file() {
            drop_pages(file);
        }
    }

    /// Writes back dirty data: of the whole machine as sync(1) does, or of one file system.
    pub(crate) fn write_back(self, directory: &Directory) -> io::Result<()> {
        match self {
            ColdMethod::Caches => {
                rustix::fs::sync();
                Ok(())
            }
            _ => Ok(rustix::fs::syncfs(directory)?),
        }
    }
}

/// Drops a file's pages. Dirty pages stay; without file system support all pages stay, and reads are fast.
pub(super) fn drop_pages(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}
