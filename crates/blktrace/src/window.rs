//! A sliding window over a byte stream, filled in large blocks.

use std::io::{self, Read};

pub(crate) struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    ended: bool,
}

impl Window {
    /// `capacity` must hold the longest record or line.
    pub(crate) fn new(source: Box<dyn Read + Send>, capacity: usize) -> Window {
        Window { source, buffer: vec![0; capacity], start: 0, end: 0, offset: 0, ended: false }
    }

    /// Bytes read and not yet consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Position of the first of [`Window::bytes`] in the stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Whether the buffer is full, so [`Window::fill`] can add nothing.
    pub(crate) fn full(&self) -> bool {
        self.end - self.start == self.buffer.len()
    }

    /// Adds the bytes of one read. False at the end of the source, or when the buffer is full.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        if self.ended || self.full() {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A truncated compressed file: everything before the cut is valid.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.ended = true;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
