//! Read a block, change a byte, write it back in place.

use std::io::{Seek, SeekFrom};

use super::block_io;
use super::opened::Opened;
use crate::io_failure::IoFailure;
use crate::job::block::{BlockBuffer, Extent};

/// Rewrites a block at the descriptors' offsets. With one descriptor it seeks back between read and write: the shared
/// offset jumps back and forth although both are sequential.
pub(super) fn rewrite(opened: &Opened, block: &mut BlockBuffer, piece: Extent) -> Result<u64, IoFailure> {
    let bytes = block.part(piece);
    block_io::read(&opened.file, bytes, piece)?;
    change(bytes, piece);
    if opened.writer.is_none() {
        (&opened.file).seek(SeekFrom::Current(-(piece.length as i64))).map_err(IoFailure::at(piece.offset))?;
    }
    block_io::write(opened.writer(), bytes, piece)
}

/// Changes one byte, chosen by the number of the block.
pub(super) fn change(bytes: &mut [u8], piece: Extent) {
    if piece.length > 0 {
        let place = (piece.offset / piece.length as u64) % piece.length as u64;
        bytes[place as usize] = bytes[place as usize].wrapping_add(1);
    }
}
