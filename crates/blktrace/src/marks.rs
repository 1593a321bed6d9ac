//! Marks of losses, put where the loss began rather than where it was noticed.
//!
//! A gap in the numbers of one CPU is noticed at that CPU's next event. In a stream of several CPUs others' events stand
//! in between, and whoever follows them should know already that some are missing. So the events of such a stream are
//! held back until a good many more have been read, and the marks among them go where they belong. A stream of one CPU
//! is handed out at once: nothing stands in between.

use std::collections::VecDeque;

use model::block::BlockEvent;

use crate::notes::Notes;

/// A run of events, and the marks among them with the number of the event before which each belongs.
#[derive(Default)]
struct Batch {
    first: u64,
    events: Vec<BlockEvent>,
    marks: Vec<(u64, BlockEvent)>,
}

/// The events of one stream between reading and handing out. They are numbered from 0, marks not among them.
pub(crate) struct Marks {
    /// So many events are held back of a stream of several CPUs, or up to a batch more.
    delay: u64,
    /// Number of the first event not handed out yet.
    handed_out: u64,
    /// Oldest first.
    held: VecDeque<Batch>,
    /// The batch that is being read: its events are still with the reader, and it lends an empty list instead.
    current: Batch,
    /// Emptied ones, for reuse.
    spare: Vec<Batch>,
    /// Time of the last event handed out.
    last_ns: u64,
}

impl Marks {
    pub(crate) fn new(delay: u64) -> Marks {
        Marks { delay, handed_out: 0, held: VecDeque::new(), current: Batch::default(), spare: Vec::new(), last_ns: 0 }
    }

    /// The place behind so many events of the current batch, for [`Marks::add`].
    #[inline]
    pub(crate) fn place(&self, behind: usize) -> u64 {
        self.current.first + behind as u64
    }

    /// Events are missing since the place.
    #[cold]
    pub(crate) fn add(&mut self, since: u64, mark: BlockEvent, notes: &mut Notes) {
        if since < self.handed_out {
            notes.noticed_late += 1;
        }
        let place = since.max(self.handed_out);
        let batch = match self.held.partition_point(|batch| batch.first <= place).checked_sub(1) {
            Some(number) if place < self.current.first => &mut self.held[number],
            _ => &mut self.current,
        };
        batch.marks.push((place, mark));
    }

    /// Takes the batch that was read out of `events`, and puts there what is to be handed out instead; nothing where
    /// more must be read first. `several` is whether the stream has several CPUs, `ended` whether it has no more.
    pub(crate) fn turn(&mut self, events: &mut Vec<BlockEvent>, several: bool, ended: bool) {
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
        let mut batch = self.held.pop_front().expect("the one just looked at");
        put(&mut batch, events, self.last_ns);
        self.handed_out = behind;
        self.last_ns = events.last().map_or(self.last_ns, |event| event.time_ns);
        self.spare.push(batch);
    }

    /// Whether nothing is held back.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// Moves the batch with its marks to `out`, which is empty; the batch is empty then.
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
        // Its time must fit its place, because streams are merged by time.
        mark.time_ns = out.last().map_or(last_ns, |event| event.time_ns);
        out.push(mark);
    }
    out.extend_from_slice(&batch.events[from..]);
    batch.events.clear();
}
