//! `verify`: reads all files of a set from beginning to end, and checks each block against the ledger.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use model::operation::Fault;
use serde::{Deserialize, Serialize};

use super::values::JobValues;
use crate::clock;
use crate::data::FilePlace;
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::stamp;
use crate::work::Worker;
use crate::write_ledger::{FileLedger, LedgerShape};

/// Bytes per read of smaller blocks.
const CHUNK_BYTES: u64 = 1 << 20;
const LOOK_NS: u64 = 2_000_000;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyJob {
    class: usize,
}

impl VerifyJob {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<VerifyJob, LoadError> {
        Ok(VerifyJob { class: values.class("verify")? })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        2 * CHUNK_BYTES
    }

    /// Verifies this thread's share of the files. Without a complete fill there is nothing to verify.
    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let Some(ledger) = worker.load.ledger.as_ref().filter(|ledger| ledger.is_filled()) else { return };
        let shape = ledger.shape();
        let mut number = worker.thread.ordinal;
        while number < shape.files {
            let account = ledger.file_ledger(number);
            // A write that is stuck in the kernel may still complete.
            while !worker.load.after_crash && account.is_in_use() {
                if !worker.sleep_until(clock::now_ns() + LOOK_NS) {
                    return;
                }
            }
            self.file(worker, &account, &shape);
            number += worker.group.threads.max(1);
        }
    }

    fn file(&self, worker: &mut Worker<'_>, account: &FileLedger<'_>, shape: &LedgerShape) {
        let id = account.owner().file;
        let file = match worker.place(id).and_then(|place| open_cold(&place)) {
            Ok(file) => file,
            Err(error) => {
                let _ = worker.time(self.class, Some(id), || Err(error.into()));
                return;
            }
        };
        let at_once = (CHUNK_BYTES / shape.block_bytes).clamp(1, shape.blocks.max(1));
        let mut buffer = vec![0; (at_once * shape.block_bytes) as usize];
        let mut block = 0;
        while block < shape.blocks && !worker.is_over() {
            let blocks = at_once.min(shape.blocks - block);
            let offset = block * shape.block_bytes;
            let piece = &mut buffer[..(blocks * shape.block_bytes) as usize];
            let start_ns = clock::now_ns();
            let read = worker.time_from(start_ns, self.class, Some(id), || read_all(&file, piece, offset));
            worker.done(blocks);
            // After a failed read, read each block separately.
            let unread = read.err();
            for (number, data) in (block..).zip(piece.chunks_exact_mut(shape.block_bytes as usize)) {
                let at = number * shape.block_bytes;
                let checked = match unread {
                    Some(_) => read_all(&file, data, at).and_then(|_| self.check(worker, account, number, at, data)),
                    None => self.check(worker, account, number, at, data),
                };
                if let Err(failure) = checked {
                    let _ = worker.finish(self.class, start_ns, clock::now_ns(), Some(id), Err(failure));
                }
            }
            block += blocks;
        }
    }

    fn check(
        &self,
        worker: &Worker<'_>,
        account: &FileLedger<'_>,
        block: u64,
        offset: u64,
        data: &[u8],
    ) -> Result<u64, IoFailure> {
        let expected = match worker.load.after_crash {
            true => Some(account.expected_after_crash(block)),
            false => account.expected_now(block),
        };
        match expected {
            Some(expected) => Ok(stamp::check(data, offset, &expected)?),
            None => Ok(0),
        }
    }
}

/// Opens a file and drops its clean pages, so that reads come from the disk.
fn open_cold(place: &FilePlace<'_>) -> io::Result<File> {
    let file = place.read()?;
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    Ok(file)
}

fn read_all(file: &File, buffer: &mut [u8], offset: u64) -> Result<u64, IoFailure> {
    match file.read_exact_at(buffer, offset) {
        Ok(()) => Ok(buffer.len() as u64),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(IoFailure { fault: Some(Fault::ShortRead), offset_bytes: Some(offset), ..IoFailure::default() })
        }
        Err(error) => Err(IoFailure { offset_bytes: Some(offset), ..IoFailure::from(error) }),
    }
}
