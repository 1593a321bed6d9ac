//! One input of any format.

use std::io::{self, Read};

use model::block::BlockEvent;

use crate::binary::BinaryReader;
use crate::marks::Marks;
use crate::notes::Notes;
use crate::record::{LONGEST, header_length};
use crate::text::TextReader;
use crate::window::Window;

/// Bytes of an input that are examined to detect its format.
const SNIFFED: usize = 64 << 10;

pub(crate) struct Stream {
    reader: Reader,
    marks: Marks,
    ended: bool,
}

enum Reader {
    Little(BinaryReader<false>),
    Big(BinaryReader<true>),
    Text(TextReader),
    Empty,
}

impl Stream {
    /// Detects the input's format from its content; `None` if it is not a block trace. If it has several CPUs, `delay` events
    /// are held back.
    pub(crate) fn detect(
        source: Box<dyn Read + Send>,
        buffer: usize,
        delay: u64,
        input: u32,
    ) -> io::Result<Option<Stream>> {
        let reader = Reader::detect(source, buffer, input)?;
        Ok(reader.map(|reader| Stream { reader, marks: Marks::new(delay), ended: false }))
    }

    /// Puts the next events, `limit` or a few more, into `out`, which must be empty. False at the end of the input.
    pub(crate) fn read(&mut self, out: &mut Vec<BlockEvent>, limit: usize, notes: &mut Notes) -> io::Result<bool> {
        while out.is_empty() {
            self.ended = self.ended || !self.reader.read(out, limit, &mut self.marks, notes)?;
            self.marks.exchange(out, self.reader.several(), self.ended);
            if self.ended {
                return Ok(!self.marks.is_empty());
            }
        }
        Ok(true)
    }
}

impl Reader {
    fn detect(source: Box<dyn Read + Send>, buffer: usize, input: u32) -> io::Result<Option<Reader>> {
        let mut window = Window::new(source, buffer.max(LONGEST + SNIFFED));
        while window.bytes().len() < SNIFFED && window.fill()? {}
        let bytes = window.bytes();
        if bytes.is_empty() {
            // blktrace leaves an empty file for a CPU on which nothing happened.
            return Ok(Some(Reader::Empty));
        }
        let start = &bytes[..bytes.len().min(SNIFFED)];
        if let Some(big) = binary_order(&start[..start.len().min(4)]) {
            return Ok(Some(Reader::binary(window, input, big)));
        }
        if crate::text::is_text(start) {
            return Ok(Some(Reader::Text(TextReader::new(window, input))));
        }
        // A stream that begins within a record, or after damage.
        let order = binary_order(start);
        Ok(order.map(|big| Reader::binary(window, input, big)))
    }

    fn binary(window: Window, input: u32, big: bool) -> Reader {
        if big {
            Reader::Big(BinaryReader::new(window, input))
        } else {
            Reader::Little(BinaryReader::new(window, input))
        }
    }

    /// Appends events until `out` holds about `limit`; false at the end of the input.
    fn read(
        &mut self,
        out: &mut Vec<BlockEvent>,
        limit: usize,
        marks: &mut Marks,
        notes: &mut Notes,
    ) -> io::Result<bool> {
        match self {
            Reader::Little(reader) => reader.read(out, limit, marks, notes),
            Reader::Big(reader) => reader.read(out, limit, marks, notes),
            Reader::Text(reader) => reader.read(out, limit, marks, notes),
            Reader::Empty => Ok(false),
        }
    }

    fn several(&self) -> bool {
        match self {
            Reader::Little(reader) => reader.several(),
            Reader::Big(reader) => reader.several(),
            Reader::Text(reader) => reader.several(),
            Reader::Empty => false,
        }
    }
}

/// Byte order of the first record in `bytes`: true is big-endian; `None` where none begins.
fn binary_order(bytes: &[u8]) -> Option<bool> {
    bytes.windows(4).find_map(|four| {
        if header_length::<false>(four).is_some() { Some(false) } else { header_length::<true>(four).map(|_| true) }
    })
}
