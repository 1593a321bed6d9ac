//! From a recipe's keys to the job.

use super::{Action, Stream};
use crate::error::LoadError;
use crate::job::Values;

const USUAL_BLOCK_BYTES: u64 = 1 << 20;
/// What a file system may want offsets and lengths to be multiples of, where the page cache is passed by.
const DIRECT_BYTES: u64 = 512;

impl Stream {
    pub(in crate::job) fn resolve(values: &mut Values<'_, '_>) -> Result<Stream, LoadError> {
        let set = values.set("set").unwrap_or(0);
        let file_bytes = values.sets()[set].size_bytes;
        let word = values.word("action")?.unwrap_or_default();
        let action = match word.as_str() {
            "read" | "get" => Action::Read,
            "rewrite" => Action::Rewrite,
            "seek" => Action::Seek,
            _ => Action::Write,
        };
        let sync_each = values.flag("sync_each")?;
        let fsync = values.flag("fsync")? || sync_each;
        let stream = Stream {
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

    fn check(&self, values: &Values<'_, '_>) -> Result<(), LoadError> {
        let whole = |bytes: u64| bytes.is_multiple_of(DIRECT_BYTES);
        if self.direct && !(whole(self.block_bytes) && whole(self.size_bytes)) {
            let message = format!("block and size must be multiples of {DIRECT_BYTES} bytes to pass the page cache by");
            return Err(values.refuse("block", message));
        }
        if self.two_descriptors && self.action != Action::Rewrite {
            return Err(values.refuse("descriptors", "only 'rewrite' can use two descriptors"));
        }
        Ok(())
    }
}
