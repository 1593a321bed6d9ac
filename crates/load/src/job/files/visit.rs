//! Visiting existing files: stat, read, unlink.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::own_files::OwnFiles;
use super::subdirectories::Subdirectories;
use super::task::{FilesThread, Unfinished, failed};
use crate::data::FileId;
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::job::values::JobValues;
use crate::sys;

/// The order in which a thread visits its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// By number.
    Sequential,
    /// Each once, shuffled.
    Random,
    /// Draws with replacement.
    Any,
    /// As the directories list them.
    Readdir,
}

/// The action on each file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Visit {
    order: Order,
    verb: VisitAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VisitAction {
    Stat { stat: usize, read: Option<ReadClasses> },
    Unlink { unlink: usize },
}

/// The classes of reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ReadClasses {
    open: usize,
    read: usize,
    close: usize,
}

impl Visit {
    pub(super) fn stat(values: &mut JobValues<'_, '_>) -> Result<Visit, LoadError> {
        let order = order(values)?;
        let stat = values.class("stat")?;
        let read = match values.flag("read")? {
            true => Some(ReadClasses {
                open: values.class("open")?,
                read: values.class("read")?,
                close: values.class("close")?,
            }),
            false => None,
        };
        Ok(Visit { order, verb: VisitAction::Stat { stat, read } })
    }

    pub(super) fn unlink(values: &mut JobValues<'_, '_>) -> Result<Visit, LoadError> {
        let order = order(values)?;
        if order == Order::Any {
            return Err(values.refuse("order", "a file can be removed only once; use the order 'random'"));
        }
        Ok(Visit { order, verb: VisitAction::Unlink { unlink: values.class("unlink")? } })
    }

    pub(super) fn class(&self) -> usize {
        match self.verb {
            VisitAction::Stat { stat: class, .. } | VisitAction::Unlink { unlink: class } => class,
        }
    }

    pub(super) fn memory_bytes(&self, count: u64) -> u64 {
        if self.order == Order::Random { count.saturating_mul(size_of::<u32>() as u64) } else { 0 }
    }

    pub(super) fn perform(&self, task: &mut FilesThread<'_, '_>) {
        let count = task.files.count;
        let mut buffer = match self.verb {
            VisitAction::Stat { read: Some(_), .. } => vec![0; task.files.block_bytes as usize],
            _ => Vec::new(),
        };
        let mut subdirectory = 0;
        let mut numbered = |task: &mut FilesThread<'_, '_>, index: u64| {
            let ended = self.numbered(task, index, &mut subdirectory, &mut buffer);
            task.finish_file(ended)
        };
        match self.order {
            Order::Sequential => {
                let _ = (0..count).all(|index| numbered(task, index));
            }
            Order::Random => {
                let _ = task.worker.random.shuffled(count as u32).iter().all(|index| numbered(task, u64::from(*index)));
            }
            Order::Any => {
                let _ = (0..count).all(|_| {
                    let index = task.worker.random.below(count);
                    numbered(task, index)
                });
            }
            Order::Readdir => {
                if let Err(errno) = self.listed(task, &mut buffer) {
                    let _ = task.worker.time(self.class(), None, || Err(failed(errno)));
                }
            }
        }
    }

    /// One file, by its number. If that does not imply the subdirectory, the file is in `subdirectory` or in a later
    /// one.
    fn numbered(
        &self,
        task: &mut FilesThread<'_, '_>,
        index: u64,
        subdirectory: &mut u64,
        buffer: &mut [u8],
    ) -> Result<(), Unfinished> {
        let names = task.names();
        let (mut others, mut all) = (0, 1);
        match task.files.subdirectories {
            Subdirectories::Given => {}
            Subdirectories::RoundRobin { count, files } => *subdirectory = index / files % count,
            Subdirectories::Lingering { count, .. } => (others, all) = (count - 1, count),
        }
        let id = Some(task.files.take(names, index, *subdirectory));
        task.begin()?;
        let mut find = |files: &mut OwnFiles, act: fn(BorrowedFd<'_>, &CStr) -> Result<(), Errno>| loop {
            let result = act(files.root.as_fd(), files.name.as_c_str());
            if result != Err(Errno::NOENT) || others == 0 {
                return result.map(|()| ((), 0)).map_err(failed);
            }
            others -= 1;
            *subdirectory = (*subdirectory + 1) % all;
            files.take(names, index, *subdirectory);
        };
        match self.verb {
            VisitAction::Unlink { unlink: class } => task.step(class, id, |files| find(files, unlink)),
            VisitAction::Stat { stat: class, read } => {
                task.step(class, id, |files| find(files, stat))?;
                let Some(reading) = read else { return Ok(()) };
                let file = task.step(reading.open, id, |files| opened(files.open(OFlags::RDONLY)))?;
                reading.to_the_end(task, id, file, buffer)
            }
        }
    }

    /// All files, in the order in which their directories list them.
    fn listed(&self, task: &mut FilesThread<'_, '_>, buffer: &mut [u8]) -> Result<(), Errno> {
        let root = rustix::io::fcntl_dupfd_cloexec(&task.files.root, 0)?;
        let subdirectories = match self.in_directory(task, root.as_fd(), b"", buffer)? {
            Some(subdirectories) => subdirectories,
            None => return Ok(()),
        };
        for subdirectory in subdirectories {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = rustix::fs::openat(&root, &subdirectory, flags, Mode::empty())?;
            if self.in_directory(task, directory.as_fd(), subdirectory.to_bytes(), buffer)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The files of one directory; returns its subdirectories, or `None` if the thread should stop.
    fn in_directory(
        &self,
        task: &mut FilesThread<'_, '_>,
        directory: BorrowedFd<'_>,
        subdirectory: &[u8],
        buffer: &mut [u8],
    ) -> Result<Option<Vec<CString>>, Errno> {
        let mut subdirectories = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entry.file_type() == FileType::Directory {
                subdirectories.push(name.to_owned());
                continue;
            }
            let file = task.names().file_called(subdirectory, name.to_bytes());
            let id = file.map(|file| FileId::new(task.files.directory, task.files.set, file));
            let ended = self.named(task, directory, name, id, buffer);
            if !task.finish_file(ended) {
                return Ok(None);
            }
        }
        Ok(Some(subdirectories))
    }

    fn named(
        &self,
        task: &mut FilesThread<'_, '_>,
        directory: BorrowedFd<'_>,
        name: &CStr,
        id: Option<FileId>,
        buffer: &mut [u8],
    ) -> Result<(), Unfinished> {
        task.begin()?;
        let done = |result: Result<(), Errno>| result.map(|()| ((), 0)).map_err(failed);
        match self.verb {
            VisitAction::Unlink { unlink: class } => task.step(class, id, |_| done(unlink(directory, name))),
            VisitAction::Stat { stat: class, read } => {
                task.step(class, id, |_| done(stat(directory, name)))?;
                let Some(reading) = read else { return Ok(()) };
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let open = || rustix::fs::openat(directory, name, flags, Mode::empty());
                let file = task.step(reading.open, id, |_| opened(open()))?;
                reading.to_the_end(task, id, file, buffer)
            }
        }
    }
}

impl ReadClasses {
    fn to_the_end(
        self,
        task: &mut FilesThread<'_, '_>,
        id: Option<FileId>,
        file: OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(), Unfinished> {
        let mut offset = 0;
        loop {
            let moved = task.step(self.read, id, |_| match rustix::io::read(&file, &mut *buffer) {
                Ok(count) => Ok((count as u64, count as u64)),
                Err(errno) => Err(IoFailure { offset_bytes: Some(offset), ..failed(errno) }),
            })?;
            offset += moved;
            if moved < buffer.len() as u64 {
                break;
            }
        }
        task.step(self.close, id, |_| sys::close(file).map(|()| ((), 0)).map_err(IoFailure::from))
    }
}

fn opened(result: Result<OwnedFd, Errno>) -> Result<(OwnedFd, u64), IoFailure> {
    result.map(|file| (file, 0)).map_err(failed)
}

fn stat(directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::statat(directory, name, AtFlags::empty()).map(|_| ())
}

fn unlink(directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::unlinkat(directory, name, AtFlags::empty())
}

fn order(values: &JobValues<'_, '_>) -> Result<Order, LoadError> {
    let order = match values.word("order")?.as_deref() {
        Some("random") => Order::Random,
        Some("any") => Order::Any,
        Some("readdir") => Order::Readdir,
        _ => Order::Sequential,
    };
    if order == Order::Readdir && values.threads_per_directory()? > 1 {
        return Err(
            values.refuse("order", "'readdir' supports one thread per directory, because each would visit all files")
        );
    }
    Ok(order)
}
