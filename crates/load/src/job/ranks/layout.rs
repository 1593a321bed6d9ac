//! The offsets of each rank's transfers.
//!
//! ```text
//! shared file, 2 ranks, 2 segments, blocks of 2 transfers    a file each
//! ┌─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┐           rank 0 ┌─────┬─────┬─────┬─────┐
//! │ 0.0 │ 0.1 │ 1.0 │ 1.1 │ 0.2 │ 0.3 │ 1.2 │ 1.3 │                  │ 0.0 │ 0.1 │ 0.2 │ 0.3 │
//! └─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┘                  └─────┴─────┴─────┴─────┘
//! segment 0               segment 1
//! ```

use serde::{Deserialize, Serialize};

/// The layout of IOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankLayout {
    /// Bytes of one call.
    pub transfer_bytes: u64,
    /// Contiguous bytes of a rank; a multiple of a transfer.
    pub block_bytes: u64,
    /// Blocks per rank.
    pub segments: u64,
    /// Whether all ranks share one file.
    pub shared: bool,
}

impl RankLayout {
    /// Transfers of one rank.
    pub(crate) fn transfers(&self) -> u64 {
        self.block_bytes / self.transfer_bytes * self.segments
    }

    /// The file offset of a rank's transfer.
    pub(super) fn offset(&self, rank: u64, ranks: u64, transfer: u64) -> u64 {
        let each = self.block_bytes / self.transfer_bytes;
        let (segment, within) = (transfer / each, transfer % each * self.transfer_bytes);
        match self.shared {
            true => (segment * ranks + rank) * self.block_bytes + within,
            false => segment * self.block_bytes + within,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::RankLayout;

    #[test]
    fn the_picture_is_right() {
        let shared = RankLayout { transfer_bytes: 10, block_bytes: 20, segments: 2, shared: true };
        let offsets =
            |layout: RankLayout, rank| (0..layout.transfers()).map(|i| layout.offset(rank, 2, i)).collect::<Vec<_>>();
        assert_eq!(offsets(shared, 0), [0, 10, 40, 50]);
        assert_eq!(offsets(shared, 1), [20, 30, 60, 70]);
        let own = RankLayout { shared: false, ..shared };
        assert_eq!((offsets(own, 0), offsets(own, 1)), (vec![0, 10, 20, 30], vec![0, 10, 20, 30]));
    }

    proptest! {
        #[test]
        fn the_ranks_cover_a_shared_file_once(transfer in 1..5_u64, each in 1..5_u64, segments in 1..5_u64,
            ranks in 1..6_u64) {
            let layout = RankLayout { transfer_bytes: transfer, block_bytes: transfer * each, segments, shared: true };
            let mut offsets: Vec<u64> = (0..ranks)
                .flat_map(|rank| (0..layout.transfers()).map(move |index| layout.offset(rank, ranks, index)))
                .collect();
            offsets.sort_unstable();
            let expected: Vec<u64> = (0..ranks * segments * each).map(|number| number * transfer).collect();
            prop_assert_eq!(offsets, expected);
        }
    }
}
