//! One input, whatever its format.

use std::io::{self, Read};

use model::block::BlockEvent;

use crate::binary::BinaryReader;
use crate::notes::Notes;
use crate::record::{LONGEST, header_length};
use crate::text::TextReader;
use crate::window::Window;

/// How much of an input is looked at to find out what it is.
const SNIFFED: usize = 64 << 10;

pub(crate) enum Stream {
    Little(BinaryReader<false>),
    Big(BinaryReader<true>),
    Text(TextReader),
    Empty,
}

impl Stream {
    /// Finds out from its content what the input is; `None` where it is no block trace.
    pub(crate) fn detect(source: Box<dyn Read + Send>, buffer: usize, input: u32) -> io::Result<Option<Stream>> {
        let mut window = Window::new(source, buffer.max(LONGEST + SNIFFED));
        while window.bytes().len() < SNIFFED && window.fill()? {}
        let bytes = window.bytes();
        if bytes.is_empty() {
            // blktrace leaves an empty file for a CPU on which nothing happened.
            return Ok(Some(Stream::Empty));
        }
        let start = &bytes[..bytes.len().min(SNIFFED)];
        if let Some(big) = binary_order(&start[..start.len().min(4)]) {
            return Ok(Some(Stream::binary(window, input, big)));
        }
        if crate::text::is_text(start) {
            return Ok(Some(Stream::Text(TextReader::new(window, input))));
        }
        // A stream that begins within a record, or after damage.
        let order = binary_order(start);
        Ok(order.map(|big| Stream::binary(window, input, big)))
    }

    fn binary(window: Window, input: u32, big: bool) -> Stream {
        if big {
            Stream::Big(BinaryReader::new(window, input))
        } else {
            Stream::Little(BinaryReader::new(window, input))
        }
    }

    /// Appends events until `out` holds about `limit`; false at the end of the input.
    pub(crate) fn read(&mut self, out: &mut Vec<BlockEvent>, limit: usize, notes: &mut Notes) -> io::Result<bool> {
        match self {
            Stream::Little(reader) => reader.read(out, limit, notes),
            Stream::Big(reader) => reader.read(out, limit, notes),
            Stream::Text(reader) => reader.read(out, limit, notes),
            Stream::Empty => Ok(false),
        }
    }
}

/// Byte order of the first record in `bytes`: true is big-endian; `None` where none begins.
fn binary_order(bytes: &[u8]) -> Option<bool> {
    bytes.windows(4).find_map(|four| {
        if header_length::<false>(four).is_some() { Some(false) } else { header_length::<true>(four).map(|_| true) }
    })
}
