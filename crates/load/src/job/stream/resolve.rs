//! The job's values, resolved from a recipe's keys.

use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::job::values::JobValues;

const USUAL_BLOCK_BYTES: u64 = 1 << 20;
/// Minimum alignment of direct I/O.
const DIRECT_BYTES: u64 = 512;

/// The action on the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StreamAction {
    /// Recreated and written.
    Write,
    /// Read.
    Read,
    /// Each block read, changed, and written back in place.
    Rewrite,
    /// Random blocks read, and some of them changed and written back.
    Seek,
}

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamJob {
    pub(super) set: usize,
    pub(super) action: StreamAction,
    pub(super) block_bytes: u64,
    pub(super) size_bytes: u64,
    pub(super) class: usize,
    /// Whether a rewrite uses two descriptors, with separate offsets.
    pub(super) two_descriptors: bool,
    /// Whether to use direct I/O.
    pub(super) direct: bool,
    /// Class of fsyncs at the end or after each write, if any.
    pub(super) fsync: Option<usize>,
    pub(super) sync_each: bool,
    /// Passes over the file; 0: until the time limit or the end of the phase.
    pub(super) passes: u64,
    /// Time limit of the share; 0: none.
    pub(super) time_ns: u64,
    /// Threads per file.
    pub(super) sharers: u64,
    /// Seeks per thread, and the share of them that write.
    pub(super) seeks: u64,
    pub(super) update: f64,
}

impl StreamJob {
    pub(crate) fn resolve(values: &mut JobValues<'_, '_>) -> Result<StreamJob, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let file_bytes = values.sets()[set].size_bytes;
        let word = values.word("action")?.unwrap_or_default();
        let action = match word.as_str() {
            "read" | "get" => StreamAction::Read,
            "rewrite" => StreamAction::Rewrite,
            "seek" => StreamAction::Seek,
            _ => StreamAction::Write,
        };
        let sync_each = values.flag("sync_each")?;
        let fsync = values.flag("fsync")? || sync_each;
        let stream = StreamJob {
            set,
            action,
            block_bytes: values.whole_or("block", USUAL_BLOCK_BYTES, 1)?,
            size_bytes: values.whole("size")?.unwrap_or(file_bytes).min(file_bytes),
            class: values.class(&word)?,
            two_descriptors: values.word("descriptors")?.as_deref() == Some("two"),
            direct: values.flag("direct")?,
            fsync: if fsync { Some(values.class("fsync")?) } else { None },
            sync_each,
            passes: values.whole("passes")?.unwrap_or(1),
            time_ns: values.whole("time")?.unwrap_or(0),
            sharers: values.whole_or("sharers", 1, 1)?,
            seeks: values.whole("seeks")?.unwrap_or(0),
            update: values.number("update")?.unwrap_or(0.0),
        };
        stream.check(values)?;
        Ok(stream)
    }

    fn check(&self, values: &JobValues<'_, '_>) -> Result<(), LoadError> {
        let whole = |bytes: u64| bytes.is_multiple_of(DIRECT_BYTES);
        if self.direct && !(whole(self.block_bytes) && whole(self.size_bytes)) {
            let message = format!("direct I/O requires block and size to be multiples of {DIRECT_BYTES} bytes");
            return Err(values.refuse("block", message));
        }
        if self.two_descriptors && self.action != StreamAction::Rewrite {
            return Err(values.refuse("descriptors", "only 'rewrite' can use two descriptors"));
        }
        Ok(())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.block_bytes
    }

    pub(crate) fn longest_write(&self) -> u64 {
        0
    }

    /// The block size and the remainder at the end of the file, if it uses direct I/O.
    pub(crate) fn direct_bytes(&self) -> Option<[u64; 2]> {
        let size_bytes = if self.action == StreamAction::Seek { 0 } else { self.size_bytes };
        self.direct.then_some([self.block_bytes, size_bytes % self.block_bytes])
    }
}
