//! The archive thread: writes rows to the sink.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use archive::{ArchiveError, FlushState, Writer};
use model::event::RunEvent;
use record::clock;

use crate::recording::row::Row;
use crate::recording::sink::Sink;

/// The progress of writing, as the other threads see it.
pub(super) struct WriteProgress {
    pub(super) state: Arc<Mutex<FlushState>>,
    pub(super) bytes: Arc<AtomicU64>,
}

/// Writes rows as they arrive, flushes periodically and when much is pending, closes after the last event.
pub(super) fn write(
    mut sink: Box<dyn Sink>,
    rows: &Receiver<Row>,
    written: &WriteProgress,
) -> Result<FlushState, ArchiveError> {
    const FLUSH_AT_BYTES: usize = 8 << 20;
    let mut flush_at = Instant::now() + sink.flush_every();
    loop {
        match rows.recv_timeout(flush_at.saturating_duration_since(Instant::now())) {
            Ok(Row::Event(event @ RunEvent::Ended { .. })) => {
                add(sink.writer(), Row::Event(event));
                break;
            }
            Ok(Row::Border) => sink.rotate(clock::now()),
            Ok(row) => add(sink.writer(), row),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let is_much = sink.writer().is_some_and(|archive| archive.pending_bytes() >= FLUSH_AT_BYTES);
        if is_much || Instant::now() >= flush_at {
            let now = sink.flush(clock::now());
            *written.state.lock().unwrap_or_else(PoisonError::into_inner) = now;
            written.bytes.store(sink.bytes_written(), Ordering::Relaxed);
            flush_at = Instant::now() + sink.flush_every();
        }
    }
    sink.close(clock::now())
}

/// Without an archive the row is lost; the sink counts it.
fn add(archive: Option<&mut Writer>, row: Row) {
    match (archive, row) {
        (Some(archive), Row::Sample { header, descriptors, changes }) => {
            archive.describe(&descriptors);
            archive.sample(header, &changes);
        }
        (Some(archive), Row::Intervals(records)) => archive.intervals(records),
        (Some(archive), Row::Operations(records)) => archive.operations(records),
        (Some(archive), Row::Event(event)) => archive.event(event),
        (archive, Row::Traced(mut batch)) => {
            if let Some(archive) = archive {
                archive.traced(&mut batch.rows);
            }
            batch.done();
        }
        (None, _) | (_, Row::Border) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use archive::{ArchiveError, FlushState, Writer};
    use model::event::{Ending, RunEvent};
    use model::time::Moment;

    use super::{WriteProgress, write};
    use crate::recording::row::Row;
    use crate::recording::sink::Sink;

    /// A disk that is full at the last moment.
    struct FullAtTheEnd;

    fn full() -> FlushState {
        FlushState::Full { why: "no space".to_owned() }
    }

    impl Sink for FullAtTheEnd {
        fn writer(&mut self) -> Option<&mut Writer> {
            None
        }

        fn flush(&mut self, _now: Moment) -> FlushState {
            FlushState::Whole
        }

        fn flush_every(&self) -> Duration {
            Duration::from_secs(1)
        }

        fn rotate(&mut self, _now: Moment) {}

        fn bytes_written(&self) -> u64 {
            0
        }

        fn close(self: Box<Self>, _now: Moment) -> Result<FlushState, ArchiveError> {
            Ok(full())
        }
    }

    #[test]
    fn what_the_last_flush_loses_is_reported() {
        let (rows, to_write) = sync_channel(1);
        rows.send(Row::Event(RunEvent::Ended { at_ns: 1, how: Ending::Done })).unwrap();
        let state = Arc::new(Mutex::new(FlushState::Whole));
        let written = WriteProgress { state, bytes: Arc::default() };
        assert_eq!(write(Box::new(FullAtTheEnd), &to_write, &written).unwrap(), full());
    }
}
