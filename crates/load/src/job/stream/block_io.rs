//! Single reads and writes at a descriptor's file offset. A short transfer is a fault, as in the original programs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use model::operation::Fault;

use super::opened::Opened;
use crate::io_failure::IoFailure;
use crate::job::block::{Extent, whole};

/// Seeks the descriptors to the next block.
pub(super) fn seek_to(opened: &Opened, offset: u64) -> Result<(), IoFailure> {
    for mut file in [Some(&opened.file), opened.writer.as_ref()].into_iter().flatten() {
        file.seek(SeekFrom::Start(offset)).map_err(IoFailure::at(offset))?;
    }
    Ok(())
}

/// Writes a block.
pub(super) fn write(mut file: &File, bytes: &[u8], piece: Extent) -> Result<u64, IoFailure> {
    let written = file.write(bytes).map_err(IoFailure::at(piece.offset))?;
    whole(written, piece, Fault::ShortWrite)
}

/// Reads a block.
pub(super) fn read(mut file: &File, buffer: &mut [u8], piece: Extent) -> Result<u64, IoFailure> {
    let read = file.read(buffer).map_err(IoFailure::at(piece.offset))?;
    whole(read, piece, Fault::ShortRead)
}
