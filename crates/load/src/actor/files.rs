//! Files that a thread keeps open between operations.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;

use crate::data::{FileId, FilePlace};
use crate::work::LoadContext;

const CAPACITY: usize = 64;

/// A small direct-mapped cache of open files. Fork-join threads do not use it: they open their files each time, because
/// the inode lookup is part of the pressure.
#[derive(Default)]
pub(super) struct OpenFiles {
    entries: Vec<Option<(FileId, File)>>,
}

/// Opens a file of the plan for reading and writing.
pub(super) fn open(load: &LoadContext, id: FileId) -> io::Result<File> {
    place(load, id)?.open(OFlags::RDWR)
}

/// Where a file of the plan is.
pub(super) fn place(load: &LoadContext, id: FileId) -> io::Result<FilePlace<'_>> {
    id.place(load.directories(), &load.file_sets).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl OpenFiles {
    /// Calls `act` with the file, opened now or before. Files of a set with replaced files are not cached.
    pub(super) fn with<E: From<io::Error>>(
        &mut self,
        load: &LoadContext,
        id: FileId,
        act: impl Fn(&File) -> Result<(), E>,
    ) -> Result<(), E> {
        let (directory, set, file) = id.parts();
        if load.file_sets.get(set).is_none_or(|set| set.replaced) {
            return act(&open(load, id)?);
        }
        if self.entries.is_empty() {
            self.entries.resize_with(CAPACITY, || None);
        }
        let entry = &mut self.entries[(file as usize).wrapping_mul(7).wrapping_add(directory) % CAPACITY];
        if entry.as_ref().is_none_or(|(kept, _)| *kept != id) {
            *entry = Some((id, open(load, id)?));
        }
        act(&entry.as_ref().expect("filled above").1)
    }

    /// Closes a file that an operation failed on.
    pub(super) fn forget(&mut self, id: Option<FileId>) {
        for entry in &mut self.entries {
            if entry.as_ref().is_some_and(|(kept, _)| Some(*kept) == id) {
                *entry = None;
            }
        }
    }
}
