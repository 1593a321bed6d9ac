//! Single reads and writes at a descriptor's own offset. One that moves less than it should is a fault, as it is to the
//! programs that this takes after.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use model::operation::Fault;

use super::opened::Opened;
use crate::io_failure::Failure;
use crate::job::block::{Piece, whole};

/// Puts the descriptors where the next block is.
pub(super) fn place(opened: &Opened, offset: u64) -> Result<(), Failure> {
    for mut file in [Some(&opened.file), opened.writer.as_ref()].into_iter().flatten() {
        file.seek(SeekFrom::Start(offset)).map_err(Failure::at(offset))?;
    }
    Ok(())
}

/// Writes a block.
pub(super) fn write(mut file: &File, bytes: &[u8], piece: Piece) -> Result<u64, Failure> {
    let written = file.write(bytes).map_err(Failure::at(piece.offset))?;
    whole(written, piece, Fault::ShortWrite)
}

/// Reads a block.
pub(super) fn read(mut file: &File, buffer: &mut [u8], piece: Piece) -> Result<u64, Failure> {
    let read = file.read(buffer).map_err(Failure::at(piece.offset))?;
    whole(read, piece, Fault::ShortRead)
}
