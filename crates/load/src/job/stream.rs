//! `stream`: files written, read, or rewritten from beginning to end.
//!
//! A thread has a file, or shares one with others, and processes its part block by block. For consecutive blocks the
//! calls are `read`, `lseek` and `write` at the descriptor's file offset, as in the original programs: kernels detect
//! sequential access from that offset.

mod block_io;
mod opened;
mod part;
mod resolve;
mod rewrite;
mod seeks;

use std::io;

use opened::Opened;
use part::FilePart;
use resolve::StreamAction;
pub(super) use resolve::StreamJob;
use rustix::fs::OFlags;

use super::block::BlockBuffer;
use super::patience::Patience;
use crate::clock;
use crate::data::FileId;
use crate::io_failure::IoFailure;
use crate::work::Worker;

impl StreamJob {
    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let id = self.file_of(worker);
        let opened = match self.open(worker, id) {
            Ok(opened) => opened,
            Err(error) => {
                let failure = IoFailure::from(error);
                let _ = worker.time(self.class, Some(id), || Err(failure));
                return;
            }
        };
        let mut block = BlockBuffer::new(self.block_bytes, worker.random.bits() ^ worker.repetition());
        let deadline_ns = if self.time_ns == 0 { u64::MAX } else { worker.start_ns().saturating_add(self.time_ns) };
        match self.action {
            StreamAction::Seek => seeks::seek(self, worker, &opened, &mut block, deadline_ns),
            _ => self.run_passes(worker, &opened, &mut block, deadline_ns),
        }
        if let Some(class) = self.fsync.filter(|_| !self.sync_each) {
            opened.sync(worker, class);
        }
    }

    /// The file of a thread; files are assigned to directories round-robin.
    fn file_of(&self, worker: &Worker<'_>) -> FileId {
        let directories = worker.group.directories.max(1) as u64;
        let unit = worker.thread.ordinal / self.sharers;
        FileId::new((unit % directories) as usize, self.set, unit / directories)
    }

    fn open(&self, worker: &Worker<'_>, id: FileId) -> io::Result<Opened> {
        let place = worker.place(id)?;
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        let open = || match self.action {
            StreamAction::Read => place.open(OFlags::RDONLY | direct),
            StreamAction::Write => place.create(OFlags::RDWR | OFlags::TRUNC | direct),
            _ => place.open(OFlags::RDWR | direct),
        };
        let file = open()?;
        let writer = if self.two_descriptors { Some(open()?) } else { None };
        Ok(Opened { id, file, writer })
    }

    /// Passes over the file.
    fn run_passes(&self, worker: &mut Worker<'_>, opened: &Opened, block: &mut BlockBuffer, deadline_ns: u64) {
        let part = FilePart { size_bytes: self.size_bytes, block_bytes: self.block_bytes };
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
                        block_io::seek_to(opened, piece.offset)?;
                    }
                    match self.action {
                        StreamAction::Write => block_io::write(opened.writer(), block.fresh(piece), piece),
                        StreamAction::Rewrite => rewrite::rewrite(opened, block, piece),
                        _ => block_io::read(&opened.file, block.part(piece), piece),
                    }
                };
                let result = worker.time_from(start_ns, self.class, Some(opened.id), act);
                in_place = result.is_ok();
                if !patience.may_continue(worker, result) {
                    return;
                }
                if let Some(class) = self.fsync.filter(|_| self.sync_each) {
                    opened.sync(worker, class);
                }
            }
            pass += 1;
            if part.is_empty() {
                return;
            }
        }
    }
}
