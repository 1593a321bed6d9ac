//! One input of any format.

use std::io::{self, Read};

use model::block::BlockEvent;

use crate::binary::BinaryReader;
use crate::marks::Marks;
use crate::notes::Notes;
use crate::record::{LONGEST, header_length};
use crate::records::{Records, Sink};
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
    Text(Box<TextReader>),
    Empty,
}

impl Stream {
    /// Detects the input's format from its content; `None` if it is not a block trace. If it has several CPUs, `delay`
    /// events are held back.
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
        let Some(records) = self.reader.records() else { return Ok(false) };
        while out.is_empty() {
            let mut sink = Sink { events: out, limit, marks: &mut self.marks, notes };
            self.ended = self.ended || !records.read(&mut sink)?;
            self.marks.exchange(out, records.several(), self.ended);
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
            return Ok(Some(Reader::Text(Box::new(TextReader::new(window, input)))));
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

    fn records(&mut self) -> Option<&mut dyn Records> {
        match self {
            Reader::Little(reader) => Some(reader),
            Reader::Big(reader) => Some(reader),
            Reader::Text(reader) => Some(reader.as_mut()),
            Reader::Empty => None,
        }
    }
}

/// Byte order of the first record in `bytes`: true is big-endian; `None` where none begins.
fn binary_order(bytes: &[u8]) -> Option<bool> {
    bytes.windows(4).find_map(|four| {
        if header_length::<false>(four).is_some() { Some(false) } else { header_length::<true>(four).map(|_| true) }
    })
}
