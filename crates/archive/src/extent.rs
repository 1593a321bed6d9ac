//! How far a journal goes.

use serde::{Deserialize, Serialize};

/// The length of a journal, and the checksum of its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    /// Lines.
    pub(crate) lines: u64,
    /// Bytes.
    pub(crate) bytes: u64,
    /// Checksum of these bytes.
    pub(crate) crc32c: u32,
}

impl Extent {
    /// Adds a line.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.lines = self.lines.saturating_add(1);
        self.bytes += line.len() as u64;
        self.crc32c = crc32c::crc32c_append(self.crc32c, line);
    }
}
