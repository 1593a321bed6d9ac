//! `files`: many files, one after the other: created (with what makes them durable), looked at, or removed.
//!
//! What fs_mark does, and bonnie++ in its phases of small files. Paths are relative to the set's directory, which is kept
//! open, and names are made of numbers, so that a file costs its own system calls and nothing else.

mod create;
mod link;
mod own_files;
mod subdirectories;
mod task;
mod visit;

use std::os::fd::OwnedFd;

use own_files::OwnFiles;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use subdirectories::Subdirectories;
use task::Task;

use super::values::Values;
use crate::data::Name;
use crate::error::LoadError;
use crate::io_failure::Failure;
use crate::work::Worker;

const USUAL_BLOCK_BYTES: u64 = 16 << 10;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    set: usize,
    /// Files of each thread.
    count: u64,
    threads_per_directory: u64,
    subdirectories: Subdirectories,
    /// Bytes of one read or write.
    block_bytes: u64,
    action: Action,
}

/// What is done with each file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create(create::Create),
    Visit(visit::Visit),
}

impl Files {
    pub(super) fn resolve(values: &mut Values<'_, '_>) -> Result<Files, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let action = match values.word("action")?.as_deref() {
            Some("stat") => Action::Visit(visit::Visit::stat(values)?),
            Some("unlink") => Action::Visit(visit::Visit::unlink(values)?),
            _ => Action::Create(create::Create::resolve(values, set)?),
        };
        Ok(Files {
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
            Action::Create(_) => 0,
            Action::Visit(visit) => visit.memory_bytes(self.count) + self.block_bytes,
        }
    }

    pub(super) fn longest_write(&self) -> u64 {
        if let Action::Create(create) = &self.action { create.longest_write(self.block_bytes) } else { 0 }
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        if self.count == 0 {
            return;
        }
        let directories = worker.group.directories.max(1) as u64;
        let (directory, rank) = (worker.place.ordinal % directories, worker.place.ordinal / directories);
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
                    name: Name::new(),
                };
                let mut task = Task { files, worker, at_ns: 0, failed_in_a_row: 0 };
                match &self.action {
                    Action::Create(create) => create.perform(&mut task),
                    Action::Visit(visit) => visit.perform(&mut task),
                }
            }
            Err(errno) => {
                let failure = Failure { errno: errno.raw_os_error(), ..Failure::default() };
                let _ = worker.time(self.first_class(), None, || Err(failure));
            }
        }
    }

    fn first_class(&self) -> usize {
        match &self.action {
            Action::Create(create) => create.class(),
            Action::Visit(visit) => visit.class(),
        }
    }
}

/// The set's directory in one of the data directories; it is made where it is missing.
fn open_set(worker: &Worker<'_>, directory: usize, set: usize) -> Result<OwnedFd, Errno> {
    let load = worker.load;
    let path = load.data_directories.get(directory).ok_or(Errno::NOENT)?.join(&load.file_sets[set].name);
    match rustix::fs::mkdirat(CWD, &path, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    rustix::fs::open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
