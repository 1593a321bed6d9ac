//! The part of a file that a thread processes.

use crate::job::block::Extent;

/// A range from the beginning of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePart {
    pub(super) size_bytes: u64,
    pub(super) block_bytes: u64,
}

impl FilePart {
    pub(super) fn is_empty(self) -> bool {
        self.size_bytes == 0
    }

    /// Its blocks; the last may be shorter than the others.
    pub(super) fn pieces(self) -> impl Iterator<Item = Extent> {
        let FilePart { size_bytes, block_bytes } = self;
        (0..size_bytes.div_ceil(block_bytes)).map(move |number| {
            let offset = number * block_bytes;
            Extent { offset, length: block_bytes.min(size_bytes - offset) as usize }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, FilePart};

    #[test]
    fn the_last_block_has_the_remainder() {
        let pieces: Vec<Extent> = FilePart { size_bytes: 10, block_bytes: 4 }.pieces().collect();
        assert_eq!(
            pieces.iter().map(|piece| (piece.offset, piece.length)).collect::<Vec<_>>(),
            [(0, 4), (4, 4), (8, 2)]
        );
        assert_eq!(FilePart { size_bytes: 0, block_bytes: 4 }.pieces().count(), 0);
    }
}
