//! The ring: a row of slices, each a small run that can be read alone. When the ring is full, the oldest is deleted.
//!
//! Nothing here waits for the disk, and no disk error ends the recorder. A slice is written without syncs: what a
//! killed program has written survives, and a recorder that waited for the disk would stall with it. If the disk is
//! full, slices get shorter, the oldest are deleted earlier, or a slice is skipped; each case is counted and reported.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use archive::{ArchiveError, FlushState, Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::loss_kind::UNWRITTEN_ROWS;
use model::run::RunDescription;
use model::time::Moment;

use crate::recording::sink::Sink;

/// Slices in a ring, unless they would be too short or too long.
const SLICES: u64 = 10;
const SHORTEST_SLICE_NS: u64 = 5_000_000_000;
const LONGEST_SLICE_NS: u64 = 60_000_000_000;
/// Retry interval after a slice could not begin.
const RETRY_NS: u64 = 10_000_000_000;
/// Space that a slice reserves to close cleanly.
const RESERVE_BYTES: u64 = 256 << 10;

/// A disk with less free space counts as full: a slice may be unable to begin.
const FULL_BELOW_BYTES: u64 = 4 << 20;

/// The size of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Time.
    pub ring_ns: u64,
    /// Disk space.
    pub ring_bytes: u64,
}

impl Extent {
    /// Duration of a slice.
    pub fn slice_ns(&self) -> u64 {
        (self.ring_ns / SLICES).clamp(SHORTEST_SLICE_NS, LONGEST_SLICE_NS)
    }

    /// Size at which a slice ends early.
    fn slice_bytes(&self) -> u64 {
        self.ring_bytes / SLICES
    }
}

/// A complete slice.
#[derive(Debug, Clone)]
struct Slice {
    path: PathBuf,
    bytes: u64,
    ended_ns: u64,
}

/// The ring as the other threads see it.
#[derive(Debug, Default)]
struct State {
    slices: VecDeque<Slice>,
    /// The slice being written.
    current: Option<Current>,
    rotations: u64,
    /// When a slice last could not begin.
    failed_ns: Option<u64>,
    /// Slices are being opened: none may be deleted.
    pinned: bool,
    news: Vec<String>,
    figures: Figures,
}

#[derive(Debug, Clone)]
struct Current {
    began_ns: u64,
    bytes: u64,
    in_trouble: bool,
}

/// Counts since the ring began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Slices started.
    pub slices: u64,
    /// Slices that ended early because the disk or their share of the ring was full.
    pub shortened: u64,
    /// Slices deleted early, to stay within the ring's size or to free disk space.
    pub dropped_early: u64,
    /// Failed attempts to begin a slice.
    pub skipped: u64,
    /// Rows lost while there was no slice.
    pub lost_rows: u64,
}

/// A view of the ring for other threads than the archive thread.
#[derive(Clone)]
pub struct RingView {
    state: Arc<Mutex<State>>,
    extent: Extent,
}

impl RingView {
    /// Whether the current slice should end now.
    pub fn wants_rotation(&self, now_ns: u64) -> bool {
        let state = self.lock();
        match &state.current {
            Some(current) => {
                let age_ns = now_ns.saturating_sub(current.began_ns);
                let is_full = current.bytes >= self.extent.slice_bytes();
                age_ns >= self.extent.slice_ns() || is_full || (current.in_trouble && age_ns >= RETRY_NS)
            }
            None => state.failed_ns.is_some_and(|failed_ns| now_ns.saturating_sub(failed_ns) >= RETRY_NS),
        }
    }

    /// Slices that have ended.
    pub fn rotations(&self) -> u64 {
        self.lock().rotations
    }

    /// Calls `look` with the directories of the complete slices, oldest first, and their total size. No slice is
    /// deleted during the call; an opened slice stays readable afterwards.
    pub fn with_slices<T>(&self, look: impl FnOnce(&[PathBuf], u64) -> T) -> T {
        let mut state = self.lock();
        state.pinned = true;
        let paths: Vec<PathBuf> = state.slices.iter().map(|slice| slice.path.clone()).collect();
        let bytes = state.slices.iter().map(|slice| slice.bytes).sum();
        drop(state);
        let seen = look(&paths, bytes);
        self.lock().pinned = false;
        seen
    }

    /// Messages since the last call.
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().news)
    }

    /// Counts so far.
    pub fn figures(&self) -> Figures {
        self.lock().figures
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ring, as the archive thread writes it.
pub struct Ring {
    directory: PathBuf,
    describe: Box<dyn FnMut() -> RunDescription + Send>,
    writer: Option<Writer>,
    view: RingView,
    /// Bytes written to slices that have ended.
    written_bytes: u64,
    lost_rows: u64,
}

impl Ring {
    /// Begins the first slice in `directory`. `describe` describes each slice when it begins: mounts and devices change
    /// while a recorder runs for weeks.
    pub fn begin(
        directory: &Path,
        extent: Extent,
        now: Moment,
        describe: impl FnMut() -> RunDescription + Send + 'static,
    ) -> Result<(Ring, RingView), ArchiveError> {
        let view = RingView { state: Arc::default(), extent };
        let (directory, describe) = (directory.to_owned(), Box::new(describe));
        let mut ring = Ring { directory, describe, writer: None, view: view.clone(), written_bytes: 0, lost_rows: 0 };
        ring.begin_slice(now)?;
        Ok((ring, view))
    }

    fn disk_is_full(&self) -> bool {
        let free = rustix::fs::statvfs(&self.directory).map(|stat| stat.f_bavail * stat.f_frsize);
        free.is_ok_and(|free_bytes| free_bytes < FULL_BELOW_BYTES)
    }

    fn begin_slice(&mut self, now: Moment) -> Result<(), ArchiveError> {
        let number = self.view.lock().figures.slices + 1;
        let path = self.directory.join(format!("slice-{number:06}"));
        let options = WriterOptions {
            reserve_bytes: RESERVE_BYTES,
            size_limit_bytes: Some(2 * self.view.extent.slice_bytes()),
            sync: false,
            ..WriterOptions::default()
        };
        let description = RunDescription { started: now, ..(self.describe)() };
        access::make_directory_in(&path).map_err(|source| ArchiveError::Io {
            path: path.clone(),
            what: "create the directory",
            source,
        })?;
        let mut writer = Writer::create(&path, &description, options).inspect_err(|_| drop(fs::remove_dir(&path)))?;
        let lost = std::mem::take(&mut self.lost_rows);
        if lost > 0 {
            let what = UNWRITTEN_ROWS.name.to_owned();
            writer.event(RunEvent::Loss { what, count: lost, at_ns: now.monotonic_ns });
        }
        self.writer = Some(writer);
        let mut state = self.view.lock();
        state.figures.slices = number;
        if state.failed_ns.take().is_some() {
            state.news.push("recording continues".to_owned());
        }
        state.current = Some(Current { began_ns: now.monotonic_ns, bytes: 0, in_trouble: false });
        Ok(())
    }

    /// Ends the current slice. A slice that cannot be closed is read as cut off.
    fn end_slice(&mut self, now: Moment) {
        let Some(writer) = self.writer.take() else { return };
        self.written_bytes += writer.bytes_written();
        let path = writer.dir().to_owned();
        let closed = writer.close(now);
        let mut state = self.view.lock();
        let Some(current) = state.current.take() else { return };
        let early = now.monotonic_ns.saturating_sub(current.began_ns) < self.view.extent.slice_ns();
        let full = current.in_trouble || current.bytes >= self.view.extent.slice_bytes();
        state.figures.shortened += u64::from(early && full);
        let bytes = closed.as_ref().map_or(current.bytes, |closed| closed.bytes);
        if let Err(error) = closed {
            state.news.push(format!("a slice of the ring is incomplete: {error}"));
        }
        state.slices.push_back(Slice { path, bytes, ended_ns: now.monotonic_ns });
    }

    /// Deletes expired slices and, with `make_room`, at least the oldest: the newest matters more.
    fn trim(&mut self, now: Moment, make_room: bool) {
        let extent = self.view.extent;
        let mut state = self.view.lock();
        if state.pinned {
            return;
        }
        let mut removed = Vec::new();
        let is_old = |slice: &Slice| slice.ended_ns.saturating_add(extent.ring_ns) < now.monotonic_ns;
        while state.slices.front().is_some_and(is_old) {
            removed.extend(state.slices.pop_front());
        }
        let old = removed.len();
        while (make_room && removed.is_empty()) || state.bytes() > extent.ring_bytes {
            let Some(oldest) = state.slices.pop_front() else { break };
            removed.push(oldest);
        }
        if removed.len() > old {
            if state.figures.dropped_early == 0 {
                let text = "slices of the ring are deleted early: there is no room for more (--ring-size, or the disk)";
                state.news.push(text.to_owned());
            }
            state.figures.dropped_early += (removed.len() - old) as u64;
        }
        drop(state);
        for slice in removed {
            if let Err(error) = fs::remove_dir_all(&slice.path) {
                self.view.lock().news.push(format!("{}: cannot remove: {error}", slice.path.display()));
            }
        }
    }
}

impl Sink for Ring {
    fn writer(&mut self) -> Option<&mut Writer> {
        if self.writer.is_none() {
            self.lost_rows += 1;
            self.view.lock().figures.lost_rows += 1;
        }
        self.writer.as_mut()
    }

    /// Always whole: what a slice drops is recorded again in the next one.
    fn flush(&mut self, now: Moment) -> FlushState {
        if let Some(writer) = &mut self.writer {
            let flushed = writer.flush(now);
            let bytes = writer.bytes_on_disk();
            let mut state = self.view.lock();
            if let Some(current) = &mut state.current {
                current.bytes = bytes;
                if flushed != FlushState::Whole && !std::mem::replace(&mut current.in_trouble, true) {
                    state.news.push(format!("a slice of the ring is shortened: {flushed}"));
                }
            }
        }
        self.trim(now, false);
        FlushState::Whole
    }

    /// Rare: a second more or less in the ring does not matter, and each flush costs.
    fn flush_every(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn rotate(&mut self, now: Moment) {
        if let Some(writer) = &mut self.writer {
            writer.event(RunEvent::Ended { at_ns: now.monotonic_ns, how: Ending::Done });
        }
        self.end_slice(now);
        self.trim(now, self.disk_is_full());
        if let Err(error) = self.begin_slice(now) {
            let mut state = self.view.lock();
            state.figures.skipped += 1;
            if state.failed_ns.replace(now.monotonic_ns).is_none() {
                state.news.push(format!("cannot record: {error}"));
            }
        }
        self.view.lock().rotations += 1;
    }

    fn bytes_written(&self) -> u64 {
        self.written_bytes + self.writer.as_ref().map_or(0, Writer::bytes_written)
    }

    fn close(mut self: Box<Self>, now: Moment) -> Result<FlushState, ArchiveError> {
        self.end_slice(now);
        self.view.lock().rotations += 1;
        Ok(FlushState::Whole)
    }
}

impl State {
    fn bytes(&self) -> u64 {
        self.slices.iter().map(|slice| slice.bytes).sum::<u64>() + self.current.as_ref().map_or(0, |now| now.bytes)
    }
}

#[cfg(test)]
mod tests;
