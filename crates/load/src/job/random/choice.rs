//! Chooses operations, prepares writes, and checks results.

use model::operation::Fault;

use super::access::RandomJob;
use crate::data::FileId;
use crate::engine::SyncMethod;
use crate::io_failure::IoFailure;
use crate::random::Random;
use crate::stamp;
use crate::write_ledger::FileLedger;

/// A word in each of these units changes with every write, so that no two blocks are equal.
const CHANGE_EVERY_BYTES: usize = 512;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Read,
    Write,
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOperation {
    pub(super) act: Act,
    pub(super) class: usize,
    pub(super) block: u64,
    pub(super) offset: u64,
    /// Generation of a verified write.
    generation: u64,
}

/// Chooses one thread's operations, and keeps its ledger.
pub(super) struct OperationChooser<'a> {
    job: &'a RandomJob,
    pub(super) file: FileId,
    account: Option<FileLedger<'a>>,
    /// Random bits below this mean a read.
    read_below: u64,
    /// Writes since the last sync call.
    unsynced: u64,
    /// Verified writes that the next sync call acknowledges.
    unacknowledged: Vec<(u64, u64)>,
    written: u64,
}

impl<'a> OperationChooser<'a> {
    pub(super) fn new(
        job: &'a RandomJob,
        directories: u64,
        ordinal: u64,
        account: Option<FileLedger<'a>>,
    ) -> OperationChooser<'a> {
        OperationChooser {
            job,
            file: FileId::new((ordinal % directories) as usize, job.set, ordinal / directories),
            account,
            read_below: (job.reads * u64::MAX as f64) as u64,
            unsynced: 0,
            unacknowledged: Vec::new(),
            written: 0,
        }
    }

    /// The next operation. The plan has the class of each kind that can occur.
    pub(super) fn next(&self, random: &mut Random) -> BlockOperation {
        let block = random.below(self.job.blocks);
        let (act, class) = match (self.job.read_class, self.job.write_class) {
            (Some(class), None) => (Act::Read, class),
            (None, Some(class)) => (Act::Write, class),
            (read, _) if random.bits() < self.read_below => (Act::Read, read.unwrap_or(0)),
            (_, write) => (Act::Write, write.unwrap_or(0)),
        };
        BlockOperation { act, class, block, offset: block * self.job.block_bytes, generation: 0 }
    }

    /// Fills the buffer of a write.
    pub(super) fn prepare(&mut self, operation: &mut BlockOperation, buffer: &mut [u8]) {
        match &self.account {
            Some(account) => {
                operation.generation = account.issue(operation.block);
                stamp::put(buffer, operation.offset, account.owner(), operation.generation);
            }
            None => {
                self.written += 1;
                let mixed = self.written.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
                for unit in buffer.chunks_mut(CHANGE_EVERY_BYTES) {
                    let length = unit.len().min(8);
                    unit[..length].copy_from_slice(&mixed[..length]);
                }
            }
        }
    }

    /// Checks a completed operation: error, short count, or wrong data.
    pub(super) fn check(
        &mut self,
        operation: &BlockOperation,
        result: Result<usize, i32>,
        buffer: &[u8],
    ) -> Result<u64, IoFailure> {
        let whole = self.job.block_bytes as usize;
        let place = IoFailure { file: Some(self.file), offset_bytes: Some(operation.offset), ..IoFailure::default() };
        let checked = match (result, operation.act) {
            (Ok(moved), _) if moved == whole => self.verified(operation, buffer),
            (Ok(_), Act::Read) => Err(IoFailure { fault: Some(Fault::ShortRead), ..place }),
            (Ok(_), Act::Write) => Err(IoFailure { fault: Some(Fault::ShortWrite), ..place }),
            (Err(errno), _) => Err(IoFailure { errno, ..place }),
        };
        if operation.act == Act::Write {
            self.after_write(operation, checked.is_ok());
        }
        checked.map(|()| whole as u64)
    }

    fn verified(&self, operation: &BlockOperation, buffer: &[u8]) -> Result<(), IoFailure> {
        let (Some(account), Act::Read) = (&self.account, operation.act) else { return Ok(()) };
        let Some(expected) = account.expected_now(operation.block) else { return Ok(()) };
        stamp::check(buffer, operation.offset, &expected).map(|_| ()).map_err(IoFailure::from)
    }

    fn after_write(&mut self, operation: &BlockOperation, is_done: bool) {
        self.unsynced += 1;
        let Some(account) = &self.account else { return };
        match (is_done, self.job.sync) {
            (false, _) => account.doubt(operation.block),
            (true, Some(SyncMethod::OSync | SyncMethod::ODsync)) => {
                account.acknowledge(operation.block, operation.generation);
            }
            (true, Some(SyncMethod::Fsync | SyncMethod::Fdatasync)) => {
                self.unacknowledged.push((operation.block, operation.generation));
            }
            (true, Some(SyncMethod::SyncFileRange) | None) => {}
        }
    }

    /// The sync call that is due, its class, and the writes that it covers: all that have ended.
    pub(super) fn due_sync(&mut self) -> Option<(SyncMethod, usize, Synced)> {
        let (kind, class) = (self.job.sync?, self.job.sync_class?);
        if self.unsynced < self.job.sync_every {
            return None;
        }
        self.unsynced = 0;
        Some((kind, class, Synced(std::mem::take(&mut self.unacknowledged))))
    }

    /// A sync call has ended.
    pub(super) fn synced(&mut self, synced: &Synced, is_done: bool) {
        let Some(account) = &self.account else { return };
        for (block, generation) in &synced.0 {
            match is_done {
                true => account.acknowledge(*block, *generation),
                // The kernel drops pages that it could not write.
                false => account.doubt(*block),
            }
        }
    }

    /// Whether reads are verified, so that operations on one block must not overlap.
    pub(super) fn verifies(&self) -> bool {
        self.account.is_some()
    }
}

/// The writes that a sync call covers: block and generation.
#[derive(Debug, Default)]
pub(super) struct Synced(Vec<(u64, u64)>);
