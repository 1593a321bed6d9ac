//! Marks of losses, placed where a loss began rather than where it was noticed.
//!
//! A gap in the sequence numbers of a CPU is noticed at that CPU's next event. In a stream of several CPUs, events of
//! other CPUs precede it, and a reader should know at those that events are missing. The events of such a stream are
//! therefore held back until many more have been read, and marks go to their places among them. A stream of one CPU is
//! returned immediately: no events are in between.

use std::collections::VecDeque;

use model::block::BlockEvent;

use crate::notes::Notes;

/// A run of events, and its marks, each with the number of the event that it precedes.
#[derive(Default)]
struct Batch {
    first: u64,
    events: Vec<BlockEvent>,
    marks: Vec<(u64, BlockEvent)>,
}

/// The events of one stream between being read and being returned. They are numbered from 0, without marks.
pub(crate) struct Marks {
    /// Number of events held back in a stream of several CPUs, up to a batch more.
    delay: u64,
    /// Number of the first event not yet returned.
    returned: u64,
    /// Oldest first.
    held: VecDeque<Batch>,
    /// The batch being read. Its events are still in the reader's list; here the list is empty.
    current: Batch,
    /// Emptied batches, for reuse.
    spare: Vec<Batch>,
    /// Time of the last event returned.
    last_ns: u64,
}

impl Marks {
    pub(crate) fn new(delay: u64) -> Marks {
        Marks { delay, returned: 0, held: VecDeque::new(), current: Batch::default(), spare: Vec::new(), last_ns: 0 }
    }

    /// The place after `behind` events of the current batch, for [`Marks::add`].
    #[inline]
    pub(crate) fn place(&self, behind: usize) -> u64 {
        self.current.first + behind as u64
    }

    /// Marks that events are missing since the place.
    #[cold]
    pub(crate) fn add(&mut self, since: u64, mark: BlockEvent, notes: &mut Notes) {
        if since < self.returned {
            notes.noticed_late += 1;
        }
        let place = since.max(self.returned);
        let batch = match self.held.partition_point(|batch| batch.first <= place).checked_sub(1) {
            Some(number) if place < self.current.first => &mut self.held[number],
            _ => &mut self.current,
        };
        batch.marks.push((place, mark));
    }

    /// Takes the batch just read from `events`, and replaces it by the batch to return, or by nothing if more must be
    /// read first. `several`: the stream has several CPUs. `ended`: the stream has ended.
    pub(crate) fn exchange(&mut self, events: &mut Vec<BlockEvent>, several: bool, ended: bool) {
        let next = self.current.first + events.len() as u64;
        if !events.is_empty() || !self.current.marks.is_empty() {
            let fresh = self.spare.pop().unwrap_or_default();
            let mut read = std::mem::replace(&mut self.current, fresh);
            std::mem::swap(&mut read.events, events);
            self.held.push_back(read);
            self.current.first = next;
        }
        let delay = if several && !ended { self.delay } else { 0 };
        let Some(oldest) = self.held.front() else { return };
        let behind = oldest.first + oldest.events.len() as u64;
        if next - behind < delay {
            return;
        }
        let mut batch = self.held.pop_front().expect("the front was checked above");
        put(&mut batch, events, self.last_ns);
        self.returned = behind;
        self.last_ns = events.last().map_or(self.last_ns, |event| event.time_ns);
        self.spare.push(batch);
    }

    /// Whether no events are held back.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// Moves the batch with its marks to `out`, which must be empty, and empties the batch.
fn put(batch: &mut Batch, out: &mut Vec<BlockEvent>, last_ns: u64) {
    if batch.marks.is_empty() {
        std::mem::swap(&mut batch.events, out);
        return;
    }
    batch.marks.sort_by_key(|(place, _)| *place);
    out.reserve(batch.events.len() + batch.marks.len());
    let mut from = 0;
    for (place, mut mark) in batch.marks.drain(..) {
        let index = (place - batch.first) as usize;
        out.extend_from_slice(&batch.events[from..index]);
        from = index;
        // Its time must match its place, because streams are merged by time.
        mark.time_ns = out.last().map_or(last_ns, |event| event.time_ns);
        out.push(mark);
    }
    out.extend_from_slice(&batch.events[from..]);
    batch.events.clear();
}
