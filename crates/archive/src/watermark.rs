//! The watermark: how far the journal and the recent file had been written.
//!
//! A journal or recent file that was shortened looks like that of a writer killed earlier. The watermark tells them
//! apart: it is overwritten in place after the sync of each append, and thus never ahead of the files, even on a disk
//! that lost its power and writes in any order.

use std::cmp::Ordering;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::append::AppendFile;
use crate::directory::WATERMARK_FILE;
use crate::disk;
use crate::extent::Extent;
use crate::input::{open, read_whole};
use crate::line;
use crate::recent;
use crate::space::Space;

/// Length of the file. Less than a sector, so that it is overwritten as a whole.
const LENGTH: usize = 256;
/// A long name of the recent file would need more than that.
const MAX_BYTES: u64 = 64 << 10;

/// The least that the files of a run hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Watermark {
    /// The journal.
    pub(crate) journal: Extent,
    /// The recent file in use, and its length.
    pub(crate) recent: Option<(String, u64)>,
}

impl Watermark {
    /// Bytes that a recent file has at least. One that a later file follows was finished.
    pub(crate) fn promised(&self, generation: u32) -> u64 {
        let in_use = self.recent.as_ref().and_then(|(name, bytes)| Some((recent::generation_of(name)?, *bytes)));
        in_use.map_or(0, |(in_use, bytes)| match in_use.cmp(&generation) {
            Ordering::Less => 0,
            Ordering::Equal => bytes,
            Ordering::Greater => u64::MAX,
        })
    }
}

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct WatermarkFile {
    file: AppendFile,
    written: Watermark,
}

impl WatermarkFile {
    /// Creates the file for a journal that was just begun. Synced once, it survives a power cut in some state: an
    /// overwrite needs no new block.
    pub(crate) fn create(dir: &Path, sync: bool, space: &mut Space) -> io::Result<WatermarkFile> {
        let mut file = AppendFile::create(&dir.join(WATERMARK_FILE))?;
        file.append(&encode(&Watermark::default())?, space)?;
        if sync {
            file.sync()?;
        }
        Ok(WatermarkFile { file, written: Watermark::default() })
    }

    /// Notes the extent of the journal.
    pub(crate) fn note_journal(&mut self, journal: Extent) {
        self.write(Watermark { journal, recent: self.written.recent.clone() });
    }

    /// Notes the length of the recent file in use.
    pub(crate) fn note_recent(&mut self, recent: Option<(String, u64)>) {
        self.write(Watermark { journal: self.written.journal, recent });
    }

    /// A failure leaves the earlier one, which is still true of files that have only grown.
    fn write(&mut self, watermark: Watermark) {
        if self.written == watermark {
            return;
        }
        if let Ok(bytes) = encode(&watermark)
            && disk::write_at(self.file.file(), &bytes, 0).is_ok()
        {
            self.written = watermark;
        }
    }
}

fn encode(watermark: &Watermark) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(LENGTH);
    line::push(&mut bytes, watermark)?;
    bytes.resize(LENGTH.max(bytes.len()), b'\n');
    Ok(bytes)
}

/// The watermark of a run; `None` if it is missing or damaged.
pub(crate) fn read(dir: &Path) -> Option<Watermark> {
    let bytes = read_whole(&open(dir, WATERMARK_FILE).ok()?.file, MAX_BYTES).ok()?;
    line::parse(bytes.split(|byte| *byte == b'\n').next()?)
}
