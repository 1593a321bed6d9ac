//! The recent file: rows of the last flushes, all tables together.
//!
//! A flush is one record: a checksummed line that lists the batches, then the batches' bytes. One file for all tables
//! makes a flush one write and one sync, and makes it atomic. The header lines keep the journal short, which would
//! otherwise outgrow the rows.

use model::time::Moment;
use serde::{Deserialize, Serialize};

use crate::line;

/// The line before a flush's batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlushHeader {
    /// When, on both clocks.
    pub(crate) at: Moment,
    /// Number of the file that it belongs to. Earlier versions lack it, and the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u32>,
    /// Number of the flush within the file, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flush: Option<u32>,
    /// The batches that follow, in this order, without gaps.
    pub(crate) batches: Vec<RecentBatch>,
}

/// One table's rows of one flush.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecentBatch {
    /// The table, whose segment has the schema.
    pub(crate) table: String,
    /// Bytes of the Arrow message, its body included.
    pub(crate) length: u64,
    /// Checksum of those bytes.
    pub(crate) crc32c: u32,
    /// Rows in it.
    pub(crate) rows: u64,
    /// As in [`crate::journal::BatchEntry::span_ns`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) span_ns: Option<(u64, u64)>,
}

/// Name of the recent file of a generation.
pub(crate) fn file_name(generation: u32) -> String {
    format!("recent-{generation:04}")
}

/// Generation of a recent file; `None` for any other file.
pub(crate) fn generation_of(name: &str) -> Option<u32> {
    name.strip_prefix("recent-")?.parse().ok()
}

/// A valid batch of a recent file.
#[derive(Debug, PartialEq)]
pub(crate) struct Located {
    /// First byte of the Arrow message.
    pub(crate) offset: u64,
    /// The header's entry.
    pub(crate) batch: RecentBatch,
}

/// The contents of a recent file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RecentContents {
    /// Batches of whole flushes.
    pub(crate) batches: Vec<Located>,
    /// Moment of the last whole flush.
    pub(crate) last: Option<Moment>,
    /// Damaged parts.
    pub(crate) damaged: Vec<DamagedFlush>,
    /// Bytes of an unfinished flush at the end.
    pub(crate) torn_bytes: u64,
}

/// A part of a recent file that is not as it was written.
#[derive(Debug, PartialEq)]
pub(crate) struct DamagedFlush {
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) bytes: u64,
    /// The moments of the flushes before and after it, on the monotonic clock.
    pub(crate) span_ns: (u64, u64),
    /// Whether rows are lost with it.
    pub(crate) is_loss: bool,
    /// What is wrong.
    pub(crate) why: &'static str,
}

/// Where a reader is in a recent file.
struct Position {
    at: usize,
    /// Number of the next flush. After the greatest number that a header can have, none is next.
    next: u64,
    last_ns: u64,
}

impl RecentContents {
    /// Finds the whole flushes among the bytes of that file, of which the watermark promises the first `promised`. A
    /// flush beyond them that is not whole was not finished: a disk that loses its power may have its last bytes
    /// without the first.
    pub(crate) fn parse(generation: u32, bytes: &[u8], promised: u64) -> RecentContents {
        let mut found = RecentContents::default();
        let mut position = Position { at: 0, next: 0, last_ns: 0 };
        while let Some(end) = found.flush(generation, bytes, &mut position) {
            position.at = end;
        }
        let is_unfinished = |last: &mut DamagedFlush| {
            last.is_loss && last.bytes > 0 && last.offset >= promised && last.offset + last.bytes == bytes.len() as u64
        };
        found.torn_bytes += found.damaged.pop_if(is_unfinished).map_or(0, |last| last.bytes);
        found
    }

    /// Reads the flush at a position. Returns its end; `None` where nothing more can be read.
    fn flush(&mut self, generation: u32, bytes: &[u8], position: &mut Position) -> Option<usize> {
        let Position { at, last_ns, .. } = *position;
        let rest = (bytes.len() - at) as u64;
        let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') else {
            self.torn_bytes = rest;
            return None;
        };
        let damaged = |bytes: u64, until_ns: u64, is_loss: bool, why: &'static str| {
            let (offset, span_ns) = (at as u64, (last_ns, until_ns));
            DamagedFlush { offset, bytes, span_ns, is_loss, why }
        };
        let Some(header) = line::parse::<FlushHeader>(&bytes[at..at + length]) else {
            self.damaged.push(damaged(rest, u64::MAX, true, "the flush is damaged, and with it all that follow"));
            return None;
        };
        let body = at + length + 1;
        let end = header.batches.iter().try_fold(body, |end, batch| end.checked_add(batch.length as usize));
        let Some(end) = end.filter(|end| *end <= bytes.len()) else {
            self.torn_bytes = rest;
            return None;
        };
        let (whole, until_ns) = ((end - at) as u64, header.at.monotonic_ns);
        if let Some(why) = header.stranger(generation, position.next) {
            self.damaged.push(damaged(whole, until_ns, false, why));
            return Some(end);
        }
        let number = header.flush.map_or(position.next, u64::from);
        if number > position.next {
            self.damaged.push(damaged(0, until_ns, true, "flushes before this one are missing"));
        }
        match locate(bytes, body, &header) {
            Some(batches) => {
                self.batches.extend(batches);
                self.last = Some(header.at);
            }
            None => self.damaged.push(damaged(whole, until_ns, true, "the flush is damaged")),
        }
        (position.next, position.last_ns) = (number + 1, until_ns);
        Some(end)
    }
}

impl FlushHeader {
    /// Why the flush is not one that follows here.
    fn stranger(&self, generation: u32, next: u64) -> Option<&'static str> {
        if self.generation.is_some_and(|of| of != generation) {
            return Some("the flush belongs to another recent file");
        }
        self.flush.is_some_and(|flush| u64::from(flush) < next).then_some("the flush repeats an earlier one")
    }
}

/// The batches of a flush, if each is as it was written.
fn locate(bytes: &[u8], mut at: usize, header: &FlushHeader) -> Option<Vec<Located>> {
    let mut located = Vec::with_capacity(header.batches.len());
    for batch in &header.batches {
        let end = at + batch.length as usize;
        if crc32c::crc32c(&bytes[at..end]) != batch.crc32c {
            return None;
        }
        located.push(Located { offset: at as u64, batch: batch.clone() });
        at = end;
    }
    Some(located)
}

#[cfg(test)]
mod tests {
    use model::time::Moment;

    use super::{FlushHeader, RecentContents};
    use crate::line;

    /// A file that was altered may have any number, with the right checksum.
    #[test]
    fn the_greatest_number_of_a_flush_is_followed_by_none() {
        let at = Moment { monotonic_ns: 1, wall_ns: 1 };
        let header = FlushHeader { at, generation: Some(0), flush: Some(u32::MAX), batches: Vec::new() };
        let mut bytes = Vec::new();
        line::push(&mut bytes, &header).unwrap();
        line::push(&mut bytes, &header).unwrap();
        let found = RecentContents::parse(0, &bytes, bytes.len() as u64);
        let why: Vec<&str> = found.damaged.iter().map(|damaged| damaged.why).collect();
        assert_eq!(why, ["flushes before this one are missing", "the flush repeats an earlier one"]);
        assert_eq!(found.last, Some(at));
        assert_eq!(found.torn_bytes, 0);
    }
}
