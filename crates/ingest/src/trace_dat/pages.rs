//! The events of one CPU in a `trace.dat`: pages of the ring buffer, one after the other or in compressed chunks.

use std::io::{self, Read, Seek, SeekFrom};

use super::codec::Codec;
use super::page::{Page, PageLayout};
use super::parts::CpuPart;
use crate::event_formats::number;
use crate::perf_check::damaged;

/// Of compressed files, what all CPUs hold decompressed at once.
const MOST_HELD: usize = 512 << 20;
/// Chunks that trace-cmd writes have ten pages.
const LEAST_CHUNK: usize = 64 << 10;
const MOST_CHUNK: usize = 16 << 20;

/// What the events of all CPUs are read with.
#[derive(Debug, Clone)]
pub(crate) struct PageReader {
    pub(crate) codec: Codec,
    pub(crate) is_big_endian: bool,
    most_chunk: usize,
}

impl PageReader {
    pub(crate) fn new(codec: Codec, is_big_endian: bool, cpus: usize) -> PageReader {
        let most_chunk = (MOST_HELD / cpus.max(1)).clamp(LEAST_CHUNK, MOST_CHUNK);
        PageReader { codec, is_big_endian, most_chunk }
    }
}

/// The pages of a CPU, read as they are needed.
#[derive(Debug)]
pub(crate) struct Pages {
    layout: PageLayout,
    is_compressed: bool,
    offset: u64,
    end: u64,
    /// `None`: their number comes first.
    chunks_left: Option<u64>,
    chunk: Vec<u8>,
    at: usize,
}

impl Pages {
    pub(crate) fn new(part: CpuPart, layout: PageLayout) -> Pages {
        let CpuPart { offset, bytes, is_compressed, .. } = part;
        let (end, chunk) = (offset.saturating_add(bytes), Vec::new());
        Pages { layout, is_compressed, offset, end, chunks_left: None, chunk, at: 0 }
    }

    pub(crate) fn next(&mut self, source: &mut (impl Read + Seek), reader: &PageReader) -> io::Result<Option<Page>> {
        let page_bytes = self.layout.page_bytes;
        if !self.is_compressed {
            let left = self.end.saturating_sub(self.offset).min(page_bytes as u64);
            let bytes = self.take(source, left)?;
            return Ok((!bytes.is_empty()).then(|| Page::new(bytes, self.layout)));
        }
        if self.at >= self.chunk.len() && !self.next_chunk(source, reader)? {
            return Ok(None);
        }
        let end = self.chunk.len().min(self.at + page_bytes);
        let bytes = self.chunk[self.at..end].to_vec();
        self.at = end;
        Ok(Some(Page::new(bytes, self.layout)))
    }

    fn next_chunk(&mut self, source: &mut (impl Read + Seek), reader: &PageReader) -> io::Result<bool> {
        let mut word =
            |pages: &mut Pages| -> io::Result<u64> { Ok(number(&pages.take(source, 4)?, reader.is_big_endian)) };
        let left = match self.chunks_left {
            Some(left) => left,
            None => word(self)?,
        };
        if left == 0 {
            return Ok(false);
        }
        self.chunks_left = Some(left - 1);
        let (before, after) = (word(self)?, word(self)?);
        if before > reader.most_chunk as u64 || after > reader.most_chunk as u64 || after == 0 {
            return Err(damaged("a compressed part of it is damaged"));
        }
        let bytes = self.take(source, before)?;
        (self.chunk, self.at) = (reader.codec.expand(&bytes, after as usize)?, 0);
        Ok(true)
    }

    fn take(&mut self, source: &mut (impl Read + Seek), length: u64) -> io::Result<Vec<u8>> {
        if self.offset.saturating_add(length) > self.end {
            return Err(damaged("events of a CPU end within a part"));
        }
        source.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        source.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(damaged("it is cut off"));
        }
        self.offset += length;
        Ok(bytes)
    }
}
