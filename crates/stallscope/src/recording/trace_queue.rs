//! The tracer's rows on their way to the archive: a bounded share of its queue and of memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use model::event::RunEvent;
use model::loss_kind::{UNWRITTEN_REQUESTS, UNWRITTEN_STALLS};
use model::stall::{RequestRecord, StallRecord, Traced};

use crate::recording::batch::{Batch, Queued};
use crate::recording::row::Row;

/// Maximum memory of rows on their way to the archive. Rows beyond it are dropped and counted.
const QUEUED_BYTES: usize = 32 << 20;
/// Maximum batches on their way to the archive: a part of its queue, so samples and events have room when its disk
/// stalls.
const BATCHES: usize = 64;
/// Empty lists returned by the archive, for reuse.
const SPARE_LISTS: usize = 4;

/// Sends rows to the archive without waiting for it.
pub(super) struct TraceQueue {
    rows: SyncSender<Row>,
    queued: Arc<Queued>,
    spare: SyncSender<Traced>,
    returned: Receiver<Traced>,
    losses: BTreeMap<String, u64>,
}

impl TraceQueue {
    /// A queue that sends through `rows`.
    pub(super) fn new(rows: SyncSender<Row>) -> TraceQueue {
        let (spare, returned) = sync_channel(SPARE_LISTS);
        TraceQueue { rows, queued: Arc::default(), spare, returned, losses: BTreeMap::new() }
    }

    /// Sends the rows if the archive keeps up, and shows them once. Otherwise they stay; stalls and requests are
    /// dropped when they take too much memory.
    pub(super) fn hand_on(&mut self, traced: &mut Traced, show: impl FnOnce(&Traced)) {
        if traced.is_empty() {
            return;
        }
        let (bytes, waiting) = (weight(traced), self.queued.bytes.load(Ordering::Relaxed));
        if bytes + waiting > QUEUED_BYTES {
            show(traced);
            self.drop_floods(traced);
        } else if self.queued.batches.load(Ordering::Relaxed) < BATCHES {
            show(traced);
            self.send(traced, bytes);
        }
    }

    /// The same, but only rows that are emitted once may stay.
    pub(super) fn empty(&mut self, traced: &mut Traced, show: impl Fn(&Traced)) {
        self.hand_on(traced, &show);
        if !traced.stalls.is_empty() || !traced.requests.is_empty() {
            show(traced);
            self.drop_floods(traced);
        }
    }

    /// Drops stalls and requests if they take too much memory to wait.
    pub(super) fn hold_back(&mut self, traced: &mut Traced, show: impl FnOnce(&Traced)) {
        if weight(traced) > QUEUED_BYTES {
            show(traced);
            self.drop_floods(traced);
        }
    }

    fn send(&mut self, traced: &mut Traced, bytes: usize) {
        let rows = std::mem::replace(traced, self.returned.try_recv().unwrap_or_default());
        self.queued.add(bytes, 1);
        let batch = Batch { rows, bytes, queued: Arc::clone(&self.queued), spare: self.spare.clone() };
        let sent = self.rows.try_send(Row::Traced(batch));
        if let Err(TrySendError::Full(Row::Traced(batch)) | TrySendError::Disconnected(Row::Traced(batch))) = sent {
            *traced = batch.rows;
            self.queued.add(bytes.wrapping_neg(), 1_usize.wrapping_neg());
            self.drop_floods(traced);
        }
    }

    fn drop_floods(&mut self, traced: &mut Traced) {
        for (kind, count) in [(UNWRITTEN_STALLS, traced.stalls.len()), (UNWRITTEN_REQUESTS, traced.requests.len())] {
            self.lose(kind.name.to_owned(), count as u64);
        }
        traced.stalls.clear();
        traced.requests.clear();
    }

    /// Counts a loss.
    pub(super) fn lose(&mut self, what: String, count: u64) {
        if count > 0 {
            *self.losses.entry(what).or_default() += count;
        }
    }

    /// Reports the losses since the last report; losses that find no room are kept for the next.
    pub(super) fn report_losses(&mut self, at_ns: u64) {
        for (what, count) in std::mem::take(&mut self.losses) {
            if !self.send_event(RunEvent::Loss { what: what.clone(), count, at_ns }) {
                self.lose(what, count);
            }
        }
    }

    /// Sends an event, if there is room.
    pub(super) fn send_event(&mut self, event: RunEvent) -> bool {
        self.rows.try_send(Row::Event(event)).is_ok()
    }
}

/// Approximate memory of the rows: the lists, and what most rows own.
pub(super) fn weight(traced: &Traced) -> usize {
    /// Texts of a stall, frames of a stack, buckets of an interval: none is longer than this on average.
    const OWNED_BYTES: usize = 256;
    let few = traced.stacks.len() + traced.request_intervals.len() + traced.tasks.len() + traced.user_frames.len();
    traced.requests.len() * size_of::<RequestRecord>()
        + traced.stalls.len() * (size_of::<StallRecord>() + OWNED_BYTES / 4)
        + traced.user_stacks.len() * OWNED_BYTES
        + few * 4 * OWNED_BYTES
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use model::event::RunEvent;
    use model::stall::{StackRecord, StallKind, StallRecord, Traced};

    use super::{BATCHES, QUEUED_BYTES, TraceQueue, weight};
    use crate::recording::row::Row;

    fn stalls(count: usize) -> Traced {
        let stack = StackRecord { stack: 1, frames: Vec::new() };
        let stall = StallRecord::new(StallKind::OffCpu, 1, 2, 3);
        Traced { stalls: vec![stall; count], stacks: vec![stack], ..Traced::default() }
    }

    fn losses(rows: &Receiver<Row>) -> Vec<(String, u64)> {
        let loss = |row| match row {
            Row::Event(RunEvent::Loss { what, count, .. }) => Some((what, count)),
            _ => None,
        };
        rows.try_iter().filter_map(loss).collect()
    }

    #[test]
    fn a_stalled_archive_leaves_room_in_its_queue_and_rows_wait_for_it() {
        let (sender, rows) = sync_channel(512);
        let mut queue = TraceQueue::new(sender);
        let (mut traced, mut shown) = (Traced::default(), 0);
        for _ in 0..500 {
            traced.stalls.extend(stalls(1).stalls);
            queue.hand_on(&mut traced, |traced| shown += traced.stalls.len());
        }
        assert_eq!((shown, traced.stalls.len()), (BATCHES, 500 - BATCHES));
        for row in rows.try_iter() {
            let Row::Traced(mut batch) = row else { panic!("only batches were sent") };
            batch.rows = Traced::default();
            batch.done();
        }
        queue.hand_on(&mut traced, |traced| shown += traced.stalls.len());
        assert_eq!((shown, traced.stalls.len()), (500, 0));
        queue.report_losses(1);
        assert_eq!(losses(&rows), []);
    }

    #[test]
    fn rows_that_no_archive_took_do_not_come_back() {
        let (sender, rows) = sync_channel(512);
        let mut queue = TraceQueue::new(sender);
        let mut traced = Traced::default();
        for _ in 0..20 {
            traced.stalls.extend(stalls(3).stalls);
            traced.stacks.extend(stalls(3).stacks);
            let mut shown = (0, 0);
            queue.hand_on(&mut traced, |traced| shown = (traced.stalls.len(), traced.stacks.len()));
            assert_eq!(shown, (3, 1));
            for row in rows.try_iter() {
                let Row::Traced(batch) = row else { panic!("only batches were sent") };
                batch.done();
            }
        }
    }

    #[test]
    fn a_flood_beyond_the_bounds_is_dropped_and_counted_but_rows_emitted_once_are_not() {
        let (sender, rows) = sync_channel(512);
        let mut queue = TraceQueue::new(sender);
        let mut sent_bytes = 0;
        let mut traced = stalls(20_000);
        while sent_bytes + weight(&traced) <= QUEUED_BYTES {
            sent_bytes += weight(&traced);
            queue.hand_on(&mut traced, |_| ());
            assert!(traced.is_empty());
            traced = stalls(20_000);
        }
        queue.hand_on(&mut traced, |_| ());
        assert_eq!((traced.stalls.len(), traced.stacks.len()), (0, 1));
        drop(rows.try_iter().collect::<Vec<_>>());
        queue.report_losses(1);
        assert_eq!(losses(&rows), [("stalls (the archive's disk was too slow)".to_owned(), 20_000)]);
    }

    #[test]
    fn at_a_border_only_rows_emitted_once_stay() {
        let (sender, rows) = sync_channel(1);
        let mut queue = TraceQueue::new(sender);
        queue.empty(&mut stalls(5), |_| ());
        let mut traced = stalls(7);
        queue.empty(&mut traced, |_| ());
        assert_eq!((traced.stalls.len(), traced.stacks.len()), (0, 1));
        queue.report_losses(1);
        drop(rows.try_iter().collect::<Vec<_>>());
        queue.report_losses(2);
        assert_eq!(losses(&rows), [("stalls (the archive's disk was too slow)".to_owned(), 7)]);
    }
}
