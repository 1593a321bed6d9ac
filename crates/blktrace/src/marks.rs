//! Marks of losses, put where the loss began rather than where it was noticed.
//!
//! A gap in the numbers of one CPU is noticed at that CPU's next event. In a stream of several CPUs others' events stand
//! in between, and whoever follows them should know already that some are missing. Within one batch of events the mark
//! can go back to where it belongs.

use model::block::BlockEvent;

#[derive(Default)]
pub(crate) struct Marks {
    /// Number of the batch that is being filled.
    batch: u32,
    /// Marks and the index before which they belong.
    marks: Vec<(usize, BlockEvent)>,
}

impl Marks {
    /// The place of the event that comes next, for [`Marks::add`]: batch and index behind it.
    pub(crate) fn place(&self, index: usize) -> u64 {
        u64::from(self.batch) << 32 | (index as u64 + 1)
    }

    /// Events are missing after the event at the place `since`.
    pub(crate) fn add(&mut self, since: u64, mark: BlockEvent) {
        // What was lost in an earlier batch is marked as early as can be.
        let index = if since >> 32 == u64::from(self.batch) { since as u32 as usize } else { 0 };
        self.marks.push((index, mark));
    }

    /// Puts the marks in their places; the batch is full.
    pub(crate) fn put_into(&mut self, batch: &mut Vec<BlockEvent>) {
        self.batch = self.batch.wrapping_add(1);
        if self.marks.is_empty() {
            return;
        }
        self.marks.sort_by_key(|(index, _)| *index);
        let mut marked = Vec::with_capacity(batch.len() + self.marks.len());
        let mut from = 0;
        for (index, mut mark) in self.marks.drain(..) {
            let index = index.min(batch.len());
            marked.extend_from_slice(&batch[from..index]);
            from = index;
            // Its time must fit its place, because batches are merged by time.
            let before = marked.last().or(batch.first());
            mark.time_ns = before.map_or(mark.time_ns, |event| event.time_ns);
            marked.push(mark);
        }
        marked.extend_from_slice(&batch[from..]);
        *batch = marked;
    }
}
