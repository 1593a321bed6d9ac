//! `files`: many files in sequence: created (and made durable), visited, or removed.
//!
//! What fs_mark does, and bonnie++ in its phases of small files. Paths are relative to the open set directory, and
//! names derive from numbers, so a file costs only its system calls.

mod create;
mod link;
mod own_files;
mod subdirectories;
mod task;
mod visit;

use std::os::fd::OwnedFd;

use own_files::OwnFiles;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use subdirectories::Subdirectories;
use task::FilesThread;

use super::values::JobValues;
use crate::data::FileName;
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::work::Worker;

const USUAL_BLOCK_BYTES: u64 = 16 << 10;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesJob {
    set: usize,
    /// Files of each thread.
    count: u64,
    threads_per_directory: u64,
    subdirectories: Subdirectories,
    /// Bytes of one read or write.
    block_bytes: u64,
    action: FilesAction,
}

/// The action on each file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FilesAction {
    Create(create::Create),
    Visit(visit::Visit),
}

impl FilesJob {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<FilesJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let action = match values.word("action")?.as_deref() {
            Some("stat") => FilesAction::Visit(visit::Visit::stat(values)?),
            Some("unlink") => FilesAction::Visit(visit::Visit::unlink(values)?),
            _ => FilesAction::Create(create::Create::resolve(values, set)?),
        };
        Ok(FilesJob {
            set,
            count: values.whole_or("count", 0, 0)?,
            threads_per_directory: values.threads_per_directory()?,
            subdirectories: Subdirectories::resolve(values, set)?,
            block_bytes: values.whole_or("block", USUAL_BLOCK_BYTES, 1)?,
            action,
        })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.action {
            FilesAction::Create(_) => 0,
            FilesAction::Visit(visit) => visit.memory_bytes(self.count) + self.block_bytes,
        }
    }

    pub(super) fn longest_write(&self) -> u64 {
        if let FilesAction::Create(create) = &self.action { create.longest_write(self.block_bytes) } else { 0 }
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        if self.count == 0 {
            return;
        }
        let directories = worker.group.directories.max(1) as u64;
        let (directory, rank) = (worker.thread.ordinal % directories, worker.thread.ordinal / directories);
        let first = (worker.repetition() * self.threads_per_directory + rank) * self.count;
        match open_set(worker, directory as usize, self.set) {
            Ok(root) => {
                let files = OwnFiles {
                    set: self.set,
                    count: self.count,
                    subdirectories: self.subdirectories,
                    block_bytes: self.block_bytes,
                    directory: directory as usize,
                    first,
                    root,
                    name: FileName::new(),
                };
                let mut task = FilesThread { files, worker, at_ns: 0, failed_in_a_row: 0 };
                match &self.action {
                    FilesAction::Create(create) => create.perform(&mut task),
                    FilesAction::Visit(visit) => visit.perform(&mut task),
                }
            }
            Err(errno) => {
                let failure = IoFailure { errno: errno.raw_os_error(), ..IoFailure::default() };
                let _ = worker.time(self.first_class(), None, || Err(failure));
            }
        }
    }

    fn first_class(&self) -> usize {
        match &self.action {
            FilesAction::Create(create) => create.class(),
            FilesAction::Visit(visit) => visit.class(),
        }
    }
}

/// Opens the set's directory in one of the data directories, and creates it if it is missing.
pub(super) fn open_set(worker: &Worker<'_>, directory: usize, set: usize) -> Result<OwnedFd, Errno> {
    let load = worker.load;
    let (home, name) = (load.directories().get(directory).ok_or(Errno::NOENT)?, load.file_sets[set].name.as_str());
    match rustix::fs::mkdirat(home.directory(), name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(home.directory(), name, flags, Mode::empty())
}
