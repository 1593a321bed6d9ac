//! Reading ahead on another thread.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, available_parallelism, scope};

use model::block::BlockEvent;

use crate::error::TraceError;
use crate::trace::Trace;

/// Batches read ahead.
const AHEAD: usize = 8;

/// How far a trace is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes so far, decompressed.
    pub bytes: u64,
    /// Events so far.
    pub events: u64,
}

impl Trace {
    /// Hands all events to `take`, in the batches of [`Trace::next_batch`]. Where there are several CPUs, another
    /// thread reads the next ones meanwhile.
    pub fn each_batch(&mut self, mut take: impl FnMut(&[BlockEvent], Progress)) -> Result<(), TraceError> {
        let read = scope(|scope| {
            let (full, batches) = sync_channel(AHEAD);
            let (back, empty) = channel();
            let several = available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
            let reader = || Builder::new().name("read".to_owned()).spawn_scoped(scope, || self.read_ahead(full, empty));
            let reader = several.then(reader)?.ok();
            for (events, progress) in batches {
                take(&events, progress);
                // At the end nobody needs it.
                let _ = back.send(events);
            }
            reader.map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        if let Some(read) = read {
            return read;
        }
        while self.next_batch()?.is_some() {
            take(self.batch(), self.progress());
        }
        Ok(())
    }

    fn read_ahead(
        &mut self,
        full: SyncSender<(Vec<BlockEvent>, Progress)>,
        empty: Receiver<Vec<BlockEvent>>,
    ) -> Result<(), TraceError> {
        while self.next_batch()?.is_some() {
            let events = self.take_batch(empty.try_recv().unwrap_or_default());
            if full.send((events, self.progress())).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress { bytes: self.notes().bytes, events: self.notes().events }
    }
}
