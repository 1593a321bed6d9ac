//! `items`: each rank makes, visits and removes its files and directories in a tree, like mdtest.
//!
//! Paths are relative to the open set directory and derive from numbers ([`ItemTree`]), so that an item costs only its
//! system calls.

mod resolve;

use std::os::fd::{AsFd, OwnedFd};

use model::operation::Fault;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

pub(super) use resolve::ItemsJob;
use resolve::{Action, FileClasses};

use super::block::{BlockBuffer, Extent, whole};
use super::files::open_set;
use super::patience::Patience;
use crate::data::{FileId, FileName, FileNames, ItemTree};
use crate::io_failure::IoFailure;
use crate::sys;
use crate::work::Worker;

/// Longest read or write.
const MOST_BYTES: u64 = 1 << 20;

/// The items of one rank, and the one that it is at.
struct Items {
    tree: ItemTree,
    directory: usize,
    root: OwnedFd,
    name: FileName,
    id: FileId,
}

impl ItemsJob {
    pub(super) fn memory_bytes(&self) -> u64 {
        self.bytes.min(MOST_BYTES) + if self.random { self.items * size_of::<u32>() as u64 } else { 0 }
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let FileNames::Items(tree) = worker.load.file_sets[self.set].names else { return };
        let rank = (worker.thread.ordinal + self.shift) % tree.ranks;
        let directory = if tree.unique { (rank % worker.group.directories.max(1) as u64) as usize } else { 0 };
        let id = FileId::new(directory, self.set, 0);
        let root = match open_set(worker, directory, self.set) {
            Ok(root) => root,
            Err(errno) => {
                let _ = worker.time(self.action.class(), None, || Err(failed(errno)));
                return;
            }
        };
        let mut items = Items { tree, directory, root, name: FileName::new(), id };
        match self.action {
            Action::MakeTree { mkdir } => items.make_tree(worker, rank, mkdir),
            Action::RemoveTree { rmdir } => items.remove_tree(worker, rank, rmdir),
            _ => self.visit(worker, &mut items, rank),
        }
    }

    fn visit(&self, worker: &mut Worker<'_>, items: &mut Items, rank: u64) {
        let (count, iteration) = (items.tree.items(), worker.repetition());
        let order = self.random.then(|| worker.random.shuffled(count as u32));
        let mut block = BlockBuffer::new(self.bytes.min(MOST_BYTES), worker.random.bits());
        let mut patience = Patience::default();
        for index in 0..count {
            if worker.next_start_ns().is_none() {
                return;
            }
            let index = order.as_ref().map_or(index, |order| u64::from(order[index as usize]));
            items.take(self.set, items.tree.number(iteration, self.action.is_of_file(), rank, index));
            let done = self.act(worker, items, &mut block);
            if !patience.may_continue(worker, done) {
                return;
            }
        }
    }

    fn act(&self, worker: &mut Worker<'_>, items: &mut Items, block: &mut BlockBuffer) -> Result<u64, IoFailure> {
        let id = Some(items.id);
        match self.action {
            Action::MakeDirectory { mkdir } => worker.time(mkdir, id, || items.mkdir()),
            Action::RemoveDirectory { rmdir } => worker.time(rmdir, id, || items.unlink(AtFlags::REMOVEDIR)),
            Action::Remove { unlink } => worker.time(unlink, id, || items.unlink(AtFlags::empty())),
            Action::Stat { stat } | Action::StatDirectory { stat } => worker.time(stat, id, || items.stat()),
            Action::Create(classes) => {
                let flags = OFlags::WRONLY | OFlags::CREATE;
                self.transfer(worker, items, classes, flags, block)
            }
            Action::Read(classes) => self.transfer(worker, items, classes, OFlags::RDONLY, block),
            Action::MakeTree { .. } | Action::RemoveTree { .. } => Ok(0),
        }
    }

    /// Opens a file, writes or reads it, and closes it.
    fn transfer(
        &self,
        worker: &mut Worker<'_>,
        items: &mut Items,
        classes: FileClasses,
        flags: OFlags,
        block: &mut BlockBuffer,
    ) -> Result<u64, IoFailure> {
        let id = Some(items.id);
        let mut file = None;
        worker.time(classes.open, id, || {
            file = Some(items.open(flags)?);
            Ok(0)
        })?;
        let Some(file) = file else { return Ok(0) };
        let mut offset = 0;
        while offset < self.bytes
            && let Some(class) = classes.transfer
        {
            let piece = Extent { offset, length: (self.bytes - offset).min(MOST_BYTES) as usize };
            worker.time(class, id, || match flags.contains(OFlags::WRONLY) {
                true => {
                    let written = rustix::io::pwrite(&file, block.fresh(piece), offset);
                    whole(written.map_err(failed)?, piece, Fault::ShortWrite)
                }
                false => {
                    let read = rustix::io::pread(&file, block.part(piece), offset);
                    whole(read.map_err(failed)?, piece, Fault::ShortRead)
                }
            })?;
            offset += piece.length as u64;
        }
        if let Some(class) = classes.fsync {
            worker.time(class, id, || rustix::fs::fsync(&file).map(|()| 0).map_err(failed))?;
        }
        worker.time(classes.close, id, || sys::close(file).map(|()| 0).map_err(IoFailure::from))
    }
}

impl Items {
    fn take(&mut self, set: usize, number: u64) {
        FileNames::Items(self.tree).write(number, &mut self.name);
        self.id = FileId::new(self.directory, set, number);
    }

    fn open(&mut self, flags: OFlags) -> Result<OwnedFd, IoFailure> {
        access::open_within(self.root.as_fd(), self.name.as_c_str(), flags).map_err(failed)
    }

    fn mkdir(&mut self) -> Result<u64, IoFailure> {
        let made = rustix::fs::mkdirat(&self.root, self.name.as_c_str(), Mode::from_raw_mode(0o777));
        made.map(|()| 0).map_err(failed)
    }

    fn unlink(&mut self, flags: AtFlags) -> Result<u64, IoFailure> {
        rustix::fs::unlinkat(&self.root, self.name.as_c_str(), flags).map(|()| 0).map_err(failed)
    }

    fn stat(&mut self) -> Result<u64, IoFailure> {
        rustix::fs::statat(&self.root, self.name.as_c_str(), AtFlags::empty()).map(|_| 0).map_err(failed)
    }

    /// The directories of the rank's tree, parents first.
    fn make_tree(&mut self, worker: &mut Worker<'_>, rank: u64, class: usize) {
        let iteration = worker.repetition();
        // Each rank with a tree of its own needs it; the first makes it.
        self.tree.write_top(iteration, &mut self.name);
        let _ = self.mkdir();
        let mut patience = Patience::default();
        for directory in 0..self.tree.directories() {
            self.tree.write_directory(iteration, rank, directory, &mut self.name);
            let made = worker.time(class, None, || self.mkdir());
            if worker.is_over() || !patience.may_continue(worker, made) {
                return;
            }
        }
    }

    fn remove_tree(&mut self, worker: &mut Worker<'_>, rank: u64, class: usize) {
        let iteration = worker.repetition();
        let mut patience = Patience::default();
        for directory in (0..self.tree.directories()).rev() {
            self.tree.write_directory(iteration, rank, directory, &mut self.name);
            let removed = worker.time(class, None, || self.unlink(AtFlags::REMOVEDIR));
            if worker.is_over() || !patience.may_continue(worker, removed) {
                return;
            }
        }
        // Empty for the last rank.
        self.tree.write_top(iteration, &mut self.name);
        let _ = self.unlink(AtFlags::REMOVEDIR);
    }
}

fn failed(errno: Errno) -> IoFailure {
    IoFailure { errno: errno.raw_os_error(), ..IoFailure::default() }
}
