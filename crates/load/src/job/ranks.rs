//! `ranks`: many processes write and read a shared file, or a file each, like the ranks of a parallel program.
//!
//! [`layout::RankLayout`] has the offsets of each rank.

mod layout;
mod resolve;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use model::operation::Fault;

use resolve::RankAction;
pub(super) use resolve::RanksJob;
use rustix::fs::OFlags;

use super::block::{BlockBuffer, Extent, whole};
use super::patience::Patience;
use crate::clock;
use crate::data::{FileId, FilePlace};
use crate::io_failure::IoFailure;
use crate::random::Random;
use crate::stamp::{self, BlockOwner, Expected};
use crate::sys;
use crate::work::Worker;

/// The state of a rank.
struct Rank {
    number: u64,
    ranks: u64,
    id: FileId,
    owner: BlockOwner,
    generation: u64,
}

impl RanksJob {
    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let rank = self.rank(worker);
        let place = worker.place(rank.id);
        let mut file = None;
        let open = || {
            file = Some(self.opened(&place?)?);
            Ok::<(), io::Error>(())
        };
        let opened = worker.time(self.open, Some(rank.id), || open().map(|()| 0).map_err(IoFailure::from));
        let (Ok(_), Some(file)) = (opened, file) else { return };
        worker.has_opened();
        let mut block = BlockBuffer::new(self.layout.transfer_bytes, worker.random.bits());
        self.transfers(worker, &rank, &file, &mut block);
        if self.fsync {
            self.sync(worker, &rank, &file);
        }
        worker.is_closing();
        let close = || sys::close(OwnedFd::from(file)).map(|()| 0).map_err(IoFailure::from);
        let _ = worker.time(self.close, Some(rank.id), close);
    }

    fn rank(&self, worker: &Worker<'_>) -> Rank {
        let ranks = worker.group.threads;
        let number = (worker.thread.ordinal + self.shift) % ranks;
        let directories = worker.group.directories.max(1) as u64;
        let id = match self.layout.shared {
            true => FileId::new(0, self.set, 0),
            false => FileId::new((number % directories) as usize, self.set, number / directories),
        };
        let owner = BlockOwner { run: worker.load.seed ^ self.signature, file: id };
        Rank { number, ranks, id, owner, generation: worker.repetition() + 1 }
    }

    fn opened(&self, place: &FilePlace<'_>) -> io::Result<File> {
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        if self.action != RankAction::Write {
            return place.open(OFlags::RDONLY | direct);
        }
        // A shared file may already have been written by other ranks, so it is not truncated.
        let truncate = if self.truncate && !self.layout.shared { OFlags::TRUNC } else { OFlags::empty() };
        place.create(OFlags::RDWR | truncate | direct)
    }

    fn sync(&self, worker: &mut Worker<'_>, rank: &Rank, file: &File) {
        if let Some(class) = self.fsync_class {
            let _ = worker.time(class, Some(rank.id), || file.sync_all().map(|()| 0).map_err(IoFailure::from));
        }
    }

    /// Transfers of the rank; for a reader, those that were written before the time limit.
    fn count(&self, worker: &Worker<'_>, rank: &Rank) -> u64 {
        let all = self.layout.transfers();
        if self.action == RankAction::Write {
            return all;
        }
        let writer = worker.load.first_timed_writer.map(|first| first + rank.number as usize);
        let written = writer.and_then(|thread| worker.load.board.items_of(thread));
        written.map_or(all, |written| written.min(all))
    }

    /// The order of `count` transfers, if it is random. Each rank writes in its order; a reader takes the first `count`
    /// of those in another order.
    fn order(&self, worker: &mut Worker<'_>, rank: &Rank, count: u64) -> Option<Vec<u32>> {
        if !self.random {
            return None;
        }
        let mut of_rank = Random::new(rank.owner.run ^ rank.generation.rotate_left(32), rank.number);
        let written = of_rank.shuffled(self.layout.transfers() as u32);
        if self.action == RankAction::Write {
            return Some(written);
        }
        Some(worker.random.shuffled(count as u32).into_iter().map(|place| written[place as usize]).collect())
    }

    /// All transfers of the rank, or until the time limit.
    fn transfers(&self, worker: &mut Worker<'_>, rank: &Rank, file: &File, block: &mut BlockBuffer) {
        let count = self.count(worker, rank);
        let order = self.order(worker, rank, count);
        let deadline_ns = if self.time_ns == 0 { u64::MAX } else { worker.start_ns().saturating_add(self.time_ns) };
        let mut patience = Patience::default();
        for number in 0..count {
            let Some(start_ns) = worker.next_start_ns() else { return };
            if deadline_ns != u64::MAX && clock::now_ns() >= deadline_ns {
                return;
            }
            let number = order.as_ref().map_or(number, |order| u64::from(order[number as usize]));
            let offset = self.layout.offset(rank.number, rank.ranks, number);
            let piece = Extent { offset, length: self.layout.transfer_bytes as usize };
            let start_ns = start_ns.unwrap_or_else(clock::now_ns);
            let mut ended = false;
            let act = || {
                let moved = self.transfer(rank, file, block, piece)?;
                ended = moved == 0;
                Ok(moved)
            };
            let result = worker.time_from(start_ns, self.class, Some(rank.id), act);
            if ended || !patience.may_continue(worker, result) {
                return;
            }
            if self.sync_each && self.action == RankAction::Write {
                self.sync(worker, rank, file);
            }
        }
    }

    /// One transfer; 0 bytes: the end of a file that was written with a time limit.
    fn transfer(&self, rank: &Rank, file: &File, block: &mut BlockBuffer, piece: Extent) -> Result<u64, IoFailure> {
        if self.action == RankAction::Write {
            let bytes = match self.stamped {
                true => {
                    let bytes = block.part(piece);
                    stamp::put(bytes, piece.offset, rank.owner, rank.generation);
                    &*bytes
                }
                false => block.fresh(piece),
            };
            let written = file.write_at(bytes, piece.offset).map_err(IoFailure::at(piece.offset))?;
            return whole(written, piece, Fault::ShortWrite);
        }
        let bytes = block.part(piece);
        let read = file.read_at(bytes, piece.offset).map_err(IoFailure::at(piece.offset))?;
        if read == 0 && self.time_ns > 0 {
            return Ok(0);
        }
        let read = whole(read, piece, Fault::ShortRead)?;
        if self.action == RankAction::Check {
            let generation = rank.generation;
            let expected = Expected { owner: rank.owner, least: generation, most: generation, whole: true };
            stamp::check(bytes, piece.offset, &expected).map_err(IoFailure::from)?;
        }
        Ok(read)
    }
}
