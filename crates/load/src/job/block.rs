//! Aligned buffers for blocks of files.

use model::operation::Fault;

use crate::io_failure::IoFailure;
use crate::random::Random;

/// O_DIRECT requires memory that is aligned to the device's blocks.
const ALIGNMENT: usize = 4096;

/// A range of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

/// A buffer filled with incompressible bytes.
pub(crate) struct BlockBuffer {
    bytes: Vec<u8>,
    start: usize,
    salt: u64,
}

impl BlockBuffer {
    /// A buffer of that length, with contents that depend on `salt`.
    pub(crate) fn new(length: u64, salt: u64) -> BlockBuffer {
        let mut bytes = vec![0; length as usize + ALIGNMENT];
        Random::new(salt, 0).fill(&mut bytes);
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        BlockBuffer { bytes, start, salt }
    }

    /// The part of the buffer for an extent.
    pub(crate) fn part(&mut self, piece: Extent) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + piece.length]
    }

    /// The same with bytes to write: each page begins with a unique word, so that no two pages are equal.
    pub(crate) fn fresh(&mut self, piece: Extent) -> &[u8] {
        let salt = self.salt;
        let bytes = self.part(piece);
        for (page, chunk) in bytes.chunks_mut(ALIGNMENT).enumerate() {
            let mark = (salt ^ (piece.offset + (page * ALIGNMENT) as u64)).to_le_bytes();
            let length = chunk.len().min(mark.len());
            chunk[..length].copy_from_slice(&mark[..length]);
        }
        bytes
    }
}

/// A call that moves less than requested is a fault at the offset of the first missing byte.
pub(crate) fn whole(moved: usize, piece: Extent, fault: Fault) -> Result<u64, IoFailure> {
    if moved == piece.length {
        return Ok(moved as u64);
    }
    let offset_bytes = Some(piece.offset + moved as u64);
    Err(IoFailure { fault: Some(fault), offset_bytes, ..IoFailure::default() })
}

#[cfg(test)]
mod tests {
    use super::{BlockBuffer, Extent};

    #[test]
    fn buffers_are_aligned_and_no_two_pages_are_equal() {
        let mut block = BlockBuffer::new(8192, 7);
        let first = block.fresh(Extent { offset: 0, length: 8192 }).to_vec();
        let second = block.fresh(Extent { offset: 8192, length: 8192 }).to_vec();
        assert_eq!(block.part(Extent { offset: 0, length: 1 }).as_ptr() as usize % 4096, 0);
        let pages: std::collections::HashSet<&[u8]> = first.chunks(4096).chain(second.chunks(4096)).collect();
        assert_eq!(pages.len(), 4);
        assert_eq!(block.fresh(Extent { offset: 5, length: 1 }).len(), 1);
    }
}
