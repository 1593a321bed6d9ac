//! Assigns slices to tracks: slices of one track must nest or be disjoint, because a slice's end names no slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tracks whose slices nest.
#[derive(Debug, Default)]
pub(super) struct NestedTracks {
    /// For each track, the ends of the open slices, outermost first, and the latest start.
    tracks: Vec<(Vec<u64>, u64)>,
}

impl NestedTracks {
    /// The first track that this slice fits into, or a new one. Slices should come by start, long ones first.
    pub(super) fn place(&mut self, start_ns: u64, end_ns: u64) -> usize {
        for (number, (open, latest_ns)) in self.tracks.iter_mut().enumerate() {
            if start_ns < *latest_ns {
                continue;
            }
            // Forget ended slices only if the slice goes here: a later one may begin earlier.
            let still_open = open.iter().take_while(|end| **end > start_ns).count();
            if still_open == 0 || open[still_open - 1] >= end_ns {
                open.truncate(still_open);
                open.push(end_ns);
                *latest_ns = start_ns;
                return number;
            }
        }
        self.tracks.push((vec![end_ns], start_ns));
        self.tracks.len() - 1
    }
}

/// Tracks whose slices are disjoint.
#[derive(Debug, Default)]
pub(super) struct DisjointTracks {
    free_from: BinaryHeap<Reverse<(u64, usize)>>,
}

impl DisjointTracks {
    /// A track without slices at or after `start_ns`, or a new one.
    pub(super) fn place(&mut self, start_ns: u64, end_ns: u64) -> usize {
        let number = match self.free_from.peek() {
            Some(Reverse((end, number))) if *end <= start_ns => {
                let number = *number;
                self.free_from.pop();
                number
            }
            _ => self.free_from.len(),
        };
        self.free_from.push(Reverse((end_ns, number)));
        number
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DisjointTracks, NestedTracks};

    #[test]
    fn nested_slices_share_a_track_and_overlapping_ones_do_not() {
        let mut nests = NestedTracks::default();
        let placed = [(0, 10), (2, 5), (5, 10), (6, 12), (10, 11), (3, 4)].map(|(start, end)| nests.place(start, end));
        assert_eq!(placed, [0, 0, 0, 1, 0, 2]);
        let mut rows = DisjointTracks::default();
        let placed = [(0, 10), (2, 5), (5, 10), (10, 12)].map(|(start, end)| rows.place(start, end));
        assert_eq!(placed[..3], [0, 1, 1]);
        assert!(placed[3] < 2);
    }

    #[test]
    fn a_slice_on_another_track_ends_nothing_here() {
        let mut nests = NestedTracks::default();
        let placed = [(38, 57), (39, 44), (44, 58), (40, 45)].map(|(start, end)| nests.place(start, end));
        assert_eq!(placed[..3], [0, 0, 1]);
        assert!(placed[3] > 1);
    }

    proptest! {
        #[test]
        fn no_two_slices_of_a_track_cross(slices in proptest::collection::vec((0_u64..60, 0_u64..20), 1..60)) {
            let (mut nests, mut rows) = (NestedTracks::default(), DisjointTracks::default());
            let placed: Vec<_> = slices
                .iter()
                .map(|&(start, length)| (start, start + length))
                .map(|(start, end)| (start, end, nests.place(start, end), rows.place(start, end)))
                .collect();
            for (number, a) in placed.iter().enumerate() {
                for b in &placed[number + 1..] {
                    let (first, second) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                    let apart = first.1 <= second.0;
                    prop_assert!(a.3 != b.3 || apart || a.1 == b.0);
                    let within = second.1 <= first.1 || first.0 == second.0;
                    prop_assert!(a.2 != b.2 || apart || within, "{a:?} {b:?}");
                }
            }
        }
    }
}
