//! Random blocks of a file: read, and some of them changed and written back.

use std::io::{Seek, SeekFrom};

use super::opened::Opened;
use super::resolve::StreamJob;
use super::{block_io, rewrite};
use crate::clock;
use crate::io_failure::IoFailure;
use crate::job::block::{BlockBuffer, Extent};
use crate::job::patience::Patience;
use crate::work::Worker;

/// All seeks of the thread, or until the time limit.
pub(super) fn seek(
    stream: &StreamJob,
    worker: &mut Worker<'_>,
    opened: &Opened,
    block: &mut BlockBuffer,
    deadline_ns: u64,
) {
    let blocks = stream.size_bytes / stream.block_bytes;
    let mut patience = Patience::default();
    for _ in 0..stream.seeks {
        let Some(start_ns) = worker.next_start_ns() else { return };
        if blocks == 0 || (deadline_ns != u64::MAX && clock::now_ns() >= deadline_ns) {
            return;
        }
        let offset = worker.random.below(blocks) * stream.block_bytes;
        let writes = (worker.random.below(1 << 32) as f64) < stream.update * (1u64 << 32) as f64;
        let piece = Extent { offset, length: stream.block_bytes as usize };
        let act = || access(opened, block, piece, writes);
        let start_ns = start_ns.unwrap_or_else(clock::now_ns);
        let result = worker.time_from(start_ns, stream.class, Some(opened.id), act);
        if !patience.may_continue(worker, result) {
            return;
        }
        if let Some(class) = stream.fsync.filter(|_| stream.sync_each && writes) {
            opened.sync(worker, class);
        }
    }
}

fn access(opened: &Opened, block: &mut BlockBuffer, piece: Extent, writes: bool) -> Result<u64, IoFailure> {
    (&opened.file).seek(SeekFrom::Start(piece.offset)).map_err(IoFailure::at(piece.offset))?;
    let bytes = block.part(piece);
    let read = block_io::read(&opened.file, bytes, piece)?;
    if !writes {
        return Ok(read);
    }
    rewrite::change(bytes, piece);
    (&opened.file).seek(SeekFrom::Start(piece.offset)).map_err(IoFailure::at(piece.offset))?;
    block_io::write(&opened.file, bytes, piece)
}
