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
    /// Offsets of damaged flushes with whole ones after them.
    pub(crate) damaged: Vec<u64>,
    /// Bytes after the last whole flush.
    pub(crate) torn_bytes: u64,
}

impl RecentContents {
    /// Finds the whole flushes among `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> RecentContents {
        let mut found = RecentContents::default();
        let mut damaged = Vec::new();
        let (mut at, mut whole_until) = (0, 0);
        while let Some((header, body)) = header_at(bytes, at) {
            let end = header.batches.iter().try_fold(body, |end, batch| end.checked_add(batch.length as usize));
            let Some(end) = end.filter(|end| *end <= bytes.len()) else { break };
            match locate(bytes, body, &header) {
                Some(batches) => {
                    found.batches.extend(batches);
                    found.last = Some(header.at);
                    found.damaged.append(&mut damaged);
                    whole_until = end;
                }
                None => damaged.push(at as u64),
            }
            at = end;
        }
        found.torn_bytes = (bytes.len() - whole_until) as u64;
        found
    }
}

/// The header that begins at `at`, and where its batches begin.
fn header_at(bytes: &[u8], at: usize) -> Option<(FlushHeader, usize)> {
    let length = bytes[at..].iter().position(|byte| *byte == b'\n')?;
    Some((line::parse(&bytes[at..at + length])?, at + length + 1))
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
