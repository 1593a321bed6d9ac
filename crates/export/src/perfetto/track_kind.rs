//! Kinds of tracks, and their numbers.

use super::packet::Track;

/// Kinds of tracks: the upper bits of a track's number.
const KIND_SHIFT: u32 = 56;

/// What a track shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum TrackKind {
    Run = 1,
    Process = 2,
    Thread = 3,
    Lane = 4,
    Device = 5,
    Source = 6,
    Metric = 7,
    Load = 8,
}

impl TrackKind {
    /// The track of the thing with that number.
    pub(super) fn track(self, number: u64) -> Track {
        Track((self as u64) << KIND_SHIFT | number)
    }
}
