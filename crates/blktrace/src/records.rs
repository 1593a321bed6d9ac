//! What the readers of all formats have in common.

use std::io;

use model::block::BlockEvent;

use crate::marks::Marks;
use crate::notes::Notes;
use crate::window::Window;

/// Where a reader puts what it reads.
pub(crate) struct Sink<'a> {
    /// The events, without marks.
    pub(crate) events: &'a mut Vec<BlockEvent>,
    /// How many events are asked for. A reader may add a few more.
    pub(crate) limit: usize,
    pub(crate) marks: &'a mut Marks,
    pub(crate) notes: &'a mut Notes,
}

impl Sink<'_> {
    pub(crate) fn full(&self) -> bool {
        self.events.len() >= self.limit
    }

    pub(crate) fn push(&mut self, event: BlockEvent) {
        self.events.push(event);
        self.notes.events += 1;
    }
}

/// A reader of one format.
pub(crate) trait Records {
    fn window(&mut self) -> &mut Window;
    /// Whether the stream has several CPUs.
    fn several(&self) -> bool;
    /// Consumes the complete records in the window, until the sink is full.
    fn read_whole(&mut self, sink: &mut Sink);
    /// Makes room in a full window that begins with an incomplete record.
    fn make_room(&mut self, _sink: &mut Sink) {}
    /// Consumes the rest of the window at the end of the source.
    fn end(&mut self, sink: &mut Sink);

    /// Reads until the sink is full, or beyond. False at the end of the source.
    fn read(&mut self, sink: &mut Sink) -> io::Result<bool> {
        let before = self.window().offset();
        let more = loop {
            self.read_whole(sink);
            if sink.full() {
                break true;
            }
            if self.window().full() {
                self.make_room(sink);
            }
            if !self.window().fill()? {
                self.end(sink);
                break false;
            }
        };
        sink.notes.bytes += self.window().offset() - before;
        Ok(more)
    }
}
