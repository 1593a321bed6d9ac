//! Creating files: open, write, sync, close.

use std::os::fd::OwnedFd;

use model::operation::Fault;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::link::{LinkMethod, LinkTarget};
use super::task::{FilesThread, Unfinished, failed};
use crate::data::{FileId, FileNames};
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::job::values::JobValues;
use crate::sys;

/// fs_mark's methods, by their numbers.
const METHODS: [Durability; 7] = [
    Durability { in_turn: false, sync: false, after: After::Nothing },
    Durability { in_turn: true, sync: false, after: After::Nothing },
    Durability { in_turn: false, sync: true, after: After::First },
    Durability { in_turn: false, sync: false, after: After::Reverse },
    Durability { in_turn: false, sync: true, after: After::Reverse },
    Durability { in_turn: false, sync: false, after: After::InOrder },
    Durability { in_turn: false, sync: true, after: After::InOrder },
];

/// What makes files durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Durability {
    /// `fsync` each file before close.
    in_turn: bool,
    /// `sync` after all files are created.
    sync: bool,
    /// Then reopen files, `fsync` and close them.
    after: After,
}

/// Which files are reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum After {
    Nothing,
    First,
    Reverse,
    InOrder,
}

/// How files are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Create {
    /// Sizes are uniform from the least to the most.
    least_bytes: u64,
    most_bytes: u64,
    durability: Durability,
    create: usize,
    write: Option<usize>,
    fsync: Option<usize>,
    sync: Option<usize>,
    open: Option<usize>,
    close: usize,
    /// All files but the first are links to it.
    link: Option<LinkMethod>,
}

impl Create {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>, set: usize) -> Result<Create, LoadError> {
        let most_bytes = values.sets()[set].size_bytes;
        let least_bytes = values.whole_or("least_size", most_bytes, 0)?;
        if least_bytes > most_bytes {
            let why = format!("'least_size' is {least_bytes}, and the files have at most {most_bytes} bytes");
            return Err(values.refuse("least_size", why));
        }
        let link = LinkMethod::resolve(values)?;
        let method = values.whole_or("sync", 0, 0)?;
        let Some(durability) = METHODS.get(method as usize).copied() else {
            return Err(values.refuse("sync", format!("there is no sync method {method}: they are 0 to 6")));
        };
        let mut class = |name: &str, needed: bool| needed.then(|| values.class(name)).transpose();
        let after = durability.after != After::Nothing;
        Ok(Create {
            least_bytes,
            most_bytes,
            durability,
            create: class("create", true)?.unwrap_or_default(),
            write: class("write", most_bytes > 0)?,
            fsync: class("fsync", durability.in_turn || after)?,
            sync: class("sync", durability.sync)?,
            close: class("close", true)?.unwrap_or_default(),
            open: class("open", after)?,
            link,
        })
    }

    pub(super) fn class(&self) -> usize {
        self.create
    }

    pub(super) fn longest_write(&self, block_bytes: u64) -> u64 {
        self.most_bytes.min(block_bytes)
    }

    pub(super) fn perform(&self, task: &mut FilesThread<'_, '_>) {
        let mut made = Made::default();
        for index in 0..task.files.count {
            let ended = self.file(task, index, &mut made);
            if !task.finish_file(ended) {
                break;
            }
        }
        if made.files > 0 {
            let _ = self.make_durable(task, &made);
        }
    }

    fn file(&self, task: &mut FilesThread<'_, '_>, index: u64, made: &mut Made) -> Result<(), Unfinished> {
        let names = task.names();
        if matches!(names, FileNames::FsMark { .. }) && task.files.first + index >= FileNames::MOST_FS_MARK_FILES {
            let board = &task.worker.load.board;
            board.fail("the names of the files are exhausted: use larger files, or fewer loops");
            return Err(Unfinished::Over);
        }
        let before_ns = task.at_ns;
        task.begin()?;
        let subdirectory = task.files.subdirectories.now(index, task.at_ns);
        made.note(index, subdirectory);
        let id = Some(task.files.take(names, index, subdirectory));
        if let (Some(link), Some(original)) = (self.link, &mut made.original) {
            return task.step(link.class, id, |files| link.make(files, original).map(|()| ((), 0)).map_err(failed));
        }
        let file = task.step(self.create, id, |files| files.create().map(|file| (file, 0)).map_err(failed))?;
        self.write(task, id, &file, before_ns ^ index)?;
        if let Some(fsync) = self.fsync.filter(|_| self.durability.in_turn) {
            task.step(fsync, id, |_| rustix::fs::fsync(&file).map(|()| ((), 0)).map_err(failed))?;
        }
        task.step(self.close, id, |_| sys::close(file).map(|()| ((), 0)).map_err(IoFailure::from))?;
        made.original = self.link.map(|_| LinkTarget::new(&task.files));
        Ok(())
    }

    fn write(
        &self,
        task: &mut FilesThread<'_, '_>,
        id: Option<FileId>,
        file: &OwnedFd,
        salt: u64,
    ) -> Result<(), Unfinished> {
        let Some(class) = self.write else { return Ok(()) };
        let (bytes, block_bytes) = (&task.worker.load.bytes, task.files.block_bytes);
        let size_bytes = match self.most_bytes - self.least_bytes {
            0 => self.most_bytes,
            span => self.least_bytes + task.worker.random.below(span + 1),
        };
        let mut offset = 0;
        while offset < size_bytes {
            let length = block_bytes.min(size_bytes - offset) as usize;
            let data = bytes.slice(salt.wrapping_add(offset), length);
            offset += task.step(class, id, |_| match rustix::io::write(file, data) {
                Ok(0) => Err(IoFailure {
                    offset_bytes: Some(offset),
                    fault: Some(Fault::ShortWrite),
                    ..IoFailure::default()
                }),
                Ok(written) => Ok((written as u64, written as u64)),
                Err(errno) => Err(IoFailure { offset_bytes: Some(offset), ..failed(errno) }),
            })?;
        }
        Ok(())
    }

    fn make_durable(&self, task: &mut FilesThread<'_, '_>, made: &Made) -> Result<(), Unfinished> {
        let of_first = Some(task.files.take(task.names(), 0, made.subdirectory(0)));
        if let Some(sync) = self.sync {
            task.at_ns = crate::clock::now_ns();
            task.step(sync, of_first, |_| {
                rustix::fs::sync();
                Ok(((), 0))
            })?;
        }
        let mut all = 0..made.files;
        loop {
            let index = match self.durability.after {
                After::Nothing => None,
                After::First => all.next().inspect(|_| all.end = 0),
                After::Reverse => all.next_back(),
                After::InOrder => all.next(),
            };
            let Some(index) = index else { return Ok(()) };
            let ended = self.fsync_again(task, index, made);
            if !task.may_continue(ended) {
                return Ok(());
            }
        }
    }

    fn fsync_again(&self, task: &mut FilesThread<'_, '_>, index: u64, made: &Made) -> Result<(), Unfinished> {
        let (Some(open), Some(fsync)) = (self.open, self.fsync) else { return Ok(()) };
        if task.worker.is_over() {
            return Err(Unfinished::Over);
        }
        let id = Some(task.files.take(task.names(), index, made.subdirectory(index)));
        task.at_ns = crate::clock::now_ns();
        let file = task.step(open, id, |files| files.open(OFlags::RDONLY).map(|file| (file, 0)).map_err(failed))?;
        task.step(fsync, id, |_| rustix::fs::fsync(&file).map(|()| ((), 0)).map_err(failed))?;
        task.step(self.close, id, |_| sys::close(file).map(|()| ((), 0)).map_err(IoFailure::from))
    }
}

/// The files that a thread created. An entry per change of the subdirectory is enough.
#[derive(Default)]
struct Made {
    files: u64,
    /// First file and subdirectory of each change.
    changes: Vec<(u64, u64)>,
    /// The target of all links.
    original: Option<LinkTarget>,
}

impl Made {
    fn note(&mut self, index: u64, subdirectory: u64) {
        self.files = index + 1;
        if self.changes.last().is_none_or(|(_, last)| *last != subdirectory) {
            self.changes.push((index, subdirectory));
        }
    }

    fn subdirectory(&self, index: u64) -> u64 {
        let after = self.changes.partition_point(|(first, _)| *first <= index);
        after.checked_sub(1).map_or(0, |change| self.changes[change].1)
    }
}
