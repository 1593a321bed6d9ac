//! `stream`: files written, read, or read and written back from their begin to their end.
//!
//! A thread has a file of its own, or shares one with others, and goes through its part of it block by block. Where the
//! blocks of a part follow each other in the file, the calls are `read`, `lseek` and `write` on the descriptor's own offset,
//! as the programs make them that this job takes after: kernels guess from that offset whether an access is sequential.

mod calls;
mod part;
mod resolve;
mod rewrite;
mod seeks;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use serde::{Deserialize, Serialize};

use super::block::Block;
use super::patience::Patience;
use super::{Key, KeyKind, Worker};
use crate::board::Failure;
use crate::clock;
use crate::data::FileId;
use crate::value::Kind;
use part::Part;

pub(crate) const KEYS: &[Key] = &[
    Key::needed("set", KeyKind::Set),
    Key::needed("action", KeyKind::Word(&["write", "read", "rewrite", "seek", "put", "get"])),
    Key::maybe("block", KeyKind::Formula(Kind::Size)),
    Key::maybe("size", KeyKind::Formula(Kind::Size)),
    Key::maybe("descriptors", KeyKind::Word(&["one", "two"])),
    Key::maybe("direct", KeyKind::Formula(Kind::Flag)),
    Key::maybe("fsync", KeyKind::Formula(Kind::Flag)),
    Key::maybe("sync_each", KeyKind::Formula(Kind::Flag)),
    Key::maybe("passes", KeyKind::Formula(Kind::Count)),
    Key::maybe("time", KeyKind::Formula(Kind::Duration)),
    Key::maybe("sharers", KeyKind::Formula(Kind::Count)),
    Key::maybe("seeks", KeyKind::Formula(Kind::Count)),
    Key::maybe("update", KeyKind::Formula(Kind::Percent)),
];

/// What is done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Made anew and written.
    Write,
    /// Read.
    Read,
    /// Each block read, changed, and written back where it was.
    Rewrite,
    /// Blocks anywhere in the file read, and some of them changed and written back.
    Seek,
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    set: usize,
    action: Action,
    block_bytes: u64,
    size_bytes: u64,
    class: usize,
    /// Whether a rewrite reads and writes through two descriptors, each with an offset of its own.
    two_descriptors: bool,
    /// Whether the page cache is passed by.
    direct: bool,
    /// Class of the fsyncs, at the end or after each write, where there are any.
    fsync: Option<usize>,
    sync_each: bool,
    /// How often the file is gone through; 0: until the time is over, or the phase.
    passes: u64,
    /// The share ends after so long, done or not; 0: when it is done.
    time_ns: u64,
    /// Threads that work on one file.
    sharers: u64,
    /// Seeks of each thread, and the share of them that write.
    seeks: u64,
    update: f64,
}

/// A thread's descriptors while it does the job.
struct Opened {
    id: FileId,
    /// For reads, and for writes where there is no other.
    file: File,
    /// A second descriptor of the same file, for writes.
    writer: Option<File>,
}

impl Opened {
    fn writer(&self) -> &File {
        self.writer.as_ref().unwrap_or(&self.file)
    }
}

impl Stream {
    pub(super) fn memory_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(super) fn longest_write(&self) -> u64 {
        0
    }

    /// A block and what is left at the end of the file, where they pass the page cache by.
    pub(super) fn direct_bytes(&self) -> Option<[u64; 2]> {
        let size_bytes = if self.action == Action::Seek { 0 } else { self.size_bytes };
        self.direct.then_some([self.block_bytes, size_bytes % self.block_bytes])
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let id = self.file_of(worker);
        let opened = match self.open(worker, id) {
            Ok(opened) => opened,
            Err(error) => {
                let failure = Failure::from(error);
                let _ = worker.time(self.class, Some(id), || Err(failure));
                return;
            }
        };
        let mut block = Block::new(self.block_bytes, worker.random.bits() ^ worker.repetition());
        let deadline_ns = if self.time_ns == 0 { u64::MAX } else { worker.start_ns().saturating_add(self.time_ns) };
        match self.action {
            Action::Seek => seeks::seek(self, worker, &opened, &mut block, deadline_ns),
            _ => self.go_through(worker, &opened, &mut block, deadline_ns),
        }
        if let Some(class) = self.fsync.filter(|_| !self.sync_each) {
            self.sync(worker, class, &opened);
        }
    }

    /// The file that a thread works on: the files lie in turn in the directories.
    fn file_of(&self, worker: &Worker<'_>) -> FileId {
        let directories = worker.actor.directories.max(1) as u64;
        let unit = worker.place.ordinal / self.sharers;
        FileId::new((unit % directories) as usize, self.set, unit / directories)
    }

    fn open(&self, worker: &Worker<'_>, id: FileId) -> io::Result<Opened> {
        let path = worker.path(id)?;
        let makes = self.action == Action::Write;
        if let Some(parent) = path.parent().filter(|_| makes) {
            std::fs::create_dir_all(parent)?;
        }
        let mut options = File::options();
        options.read(true).write(self.action != Action::Read).create(makes).truncate(makes);
        if self.direct {
            options.custom_flags(libc::O_DIRECT);
        }
        let file = options.open(&path)?;
        let writer = if self.two_descriptors { Some(options.open(&path)?) } else { None };
        Ok(Opened { id, file, writer })
    }

    fn sync(&self, worker: &mut Worker<'_>, class: usize, opened: &Opened) {
        let sync = || opened.writer().sync_all().map(|()| 0).map_err(Failure::from);
        let _ = worker.time(class, Some(opened.id), sync);
    }

    /// Once through the file, or as often as it should be.
    fn go_through(&self, worker: &mut Worker<'_>, opened: &Opened, block: &mut Block, deadline_ns: u64) {
        let part = Part { size_bytes: self.size_bytes, block_bytes: self.block_bytes };
        let mut patience = Patience::default();
        let mut pass = 0;
        while self.passes == 0 || pass < self.passes {
            let mut in_place = pass == 0;
            for piece in part.pieces() {
                let Some(start_ns) = worker.next_start_ns() else { return };
                if deadline_ns != u64::MAX && clock::now_ns() >= deadline_ns {
                    return;
                }
                let start_ns = start_ns.unwrap_or_else(clock::now_ns);
                let act = || {
                    if !in_place {
                        calls::place(opened, piece.offset)?;
                    }
                    match self.action {
                        Action::Write => calls::write(opened.writer(), block.fresh(piece), piece),
                        Action::Rewrite => rewrite::rewrite(opened, block, piece),
                        _ => calls::read(&opened.file, block.part(piece), piece),
                    }
                };
                let result = worker.time_from(start_ns, self.class, Some(opened.id), act);
                in_place = result.is_ok();
                if !patience.goes_on(worker, result) {
                    return;
                }
                if let Some(class) = self.fsync.filter(|_| self.sync_each) {
                    self.sync(worker, class, opened);
                }
            }
            pass += 1;
            if part.is_empty() {
                return;
            }
        }
    }
}
