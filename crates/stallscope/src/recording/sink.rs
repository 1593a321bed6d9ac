//! Where a recording's rows go: one run, or a ring of small ones.

use std::time::Duration;

use archive::{ArchiveError, FlushState, Writer};
use model::time::Moment;

/// What the archive thread writes to.
pub trait Sink: Send {
    /// The run that takes rows now; `None` if there is none, and the row is lost.
    fn writer(&mut self) -> Option<&mut Writer>;

    /// Writes to disk what has arrived since the last flush.
    fn flush(&mut self, now: Moment) -> FlushState;

    /// Time between two flushes.
    fn flush_every(&self) -> Duration;

    /// The rows that follow can be read without the earlier ones: the next run of a ring may begin.
    fn rotate(&mut self, now: Moment);

    /// All bytes written so far, including deleted ones.
    fn bytes_written(&self) -> u64;

    /// Writes what is left and closes. Whether all is on disk.
    fn close(self: Box<Self>, now: Moment) -> Result<FlushState, ArchiveError>;
}

/// One run.
pub struct OneRun(pub Writer);

impl Sink for OneRun {
    fn writer(&mut self) -> Option<&mut Writer> {
        Some(&mut self.0)
    }

    fn flush(&mut self, now: Moment) -> FlushState {
        self.0.flush(now)
    }

    fn flush_every(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn rotate(&mut self, _now: Moment) {}

    fn bytes_written(&self) -> u64 {
        self.0.bytes_written()
    }

    fn close(self: Box<Self>, now: Moment) -> Result<FlushState, ArchiveError> {
        self.0.close(now).map(|closed| closed.state)
    }
}
