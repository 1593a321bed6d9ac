//! The ends of segments: what follows their last live batch.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use model::damage::Damage;
use model::event::RunEvent;

use super::batch::SegmentSchema;
use super::run::Run;
use crate::encode::END_OF_STREAM;

impl Run {
    /// Bytes of segments after the last live batch, without the end-of-stream marker.
    pub(super) fn torn_segment_bytes(&self) -> u64 {
        let marker = if self.inventory.closed { END_OF_STREAM.len() as u64 } else { 0 };
        let torn = |(segment, end): (&Arc<SegmentSchema>, u64)| {
            segment.file.file.metadata().map_or(0, |file| file.len().saturating_sub(end.saturating_add(marker)))
        };
        self.live_ends().map(torn).sum()
    }

    /// In a run that was closed, the last segment of each table ends with the marker, unless the table was given up.
    pub(super) fn verify_ends(&self) {
        if !self.inventory.closed {
            return;
        }
        let is_dropped = |table: &str| {
            let dropped =
                |event: &RunEvent| matches!(event, RunEvent::TableDropped { table: name, .. } if name == table);
            self.inventory.events.iter().any(dropped)
        };
        let mut last = HashMap::new();
        for (segment, end) in self.live_ends() {
            last.insert(segment.entry.table.as_str(), (segment, end));
        }
        let mut last: Vec<_> = last.into_iter().filter(|(table, _)| !is_dropped(table)).collect();
        last.sort_by_key(|(table, _)| *table);
        for (_, (segment, end)) in last {
            if !is_ended(segment, end) {
                self.damage.add(Damage {
                    offset: Some(end),
                    rows: Some(0),
                    ..Damage::of_file(&segment.entry.file, "its end is not as it was written")
                });
            }
        }
    }

    /// The segments, and where the live bytes of each end.
    fn live_ends(&self) -> impl Iterator<Item = (&Arc<SegmentSchema>, u64)> {
        let mut ends: HashMap<_, u64> = HashMap::new();
        for batch in self.inventory.batches.values().flatten() {
            let end = ends.entry(Arc::as_ptr(&batch.file)).or_default();
            *end = (*end).max(batch.offset.saturating_add(batch.length));
        }
        let end = move |segment: &SegmentSchema| ends.get(&Arc::as_ptr(&segment.file)).copied();
        self.inventory.segments.iter().map(move |segment| (segment, end(segment).unwrap_or(segment.entry.length)))
    }
}

/// Whether the marker follows there, and nothing else. A file that ends before that is damaged anyway.
fn is_ended(segment: &SegmentSchema, end: u64) -> bool {
    let file = &segment.file.file;
    let Ok(length) = file.metadata().map(|file| file.len()) else { return false };
    let mut marker = [0; END_OF_STREAM.len()];
    length < end
        || length - end == END_OF_STREAM.len() as u64
            && file.read_exact_at(&mut marker, end).is_ok()
            && marker == END_OF_STREAM
}
