//! Entries of the journal, and their place in its chain.

use model::event::RunEvent;
use model::time::Moment;
use serde::{Deserialize, Serialize};

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first: which description the run has.
    Begun {
        /// Length of `run.json`.
        length: u64,
        /// Checksum of `run.json`.
        crc32c: u32,
    },
    /// A segment was opened; its first bytes are the Arrow schema.
    Segment(SegmentEntry),
    /// A recent file was made. From now on rows may live in it.
    Recent {
        /// Its name.
        file: String,
    },
    /// Rows of many flushes now live in these batches. It is one line, so it is atomic.
    Consolidated {
        /// The moment of the last of those flushes.
        at: Moment,
        /// Number of the first recent file replaced: orders the batches by time.
        generation: u32,
        /// Recent files that are dead from now on.
        replaces: Vec<String>,
        /// Where the rows are.
        batches: Vec<BatchEntry>,
    },
    /// An event of the run as a whole.
    Event {
        /// The event.
        what: RunEvent,
    },
    /// The writer closed the run cleanly; nothing follows.
    Closed {
        /// When.
        at: Moment,
    },
    /// An entry of a later version.
    #[serde(other)]
    Unknown,
}

/// A table's file was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    /// Its name within the directory.
    pub(crate) file: String,
    /// Whose rows it holds.
    pub(crate) table: String,
    /// Length of the schema message at its beginning.
    pub(crate) length: u64,
    /// Checksum of that message.
    pub(crate) crc32c: u32,
}

/// A live batch of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchEntry {
    /// The segment.
    pub(crate) file: String,
    /// First byte of the Arrow message.
    pub(crate) offset: u64,
    /// Bytes of the message, its body included.
    pub(crate) length: u64,
    /// Checksum of those bytes.
    pub(crate) crc32c: u32,
    /// Rows in it.
    pub(crate) rows: u64,
    /// The time that they cover; `None` for rows without a time, or from an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) span_ns: Option<(u64, u64)>,
}

/// An entry and its place in the chain. Earlier versions wrote entries without a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Its number, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u64>,
    /// Checksum of all bytes of the journal before this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<u32>,
    /// The entry.
    #[serde(flatten)]
    pub(crate) entry: Entry,
}
