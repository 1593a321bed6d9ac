//! Slices of one recording become one run.
//!
//! A flight recorder writes its ring as a sequence of slices. Each is a small self-contained run: it begins with all
//! descriptions and all values. The joined run has repeated rows once, numbers samples consecutively, and keeps the
//! losses of the slices. One batch is in memory at a time.

mod metrics;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::mem;
use std::path::Path;

use model::damage::Damage;
use model::event::{Ending, RunEvent};
use model::loss_kind::UNDESCRIBED_METRICS;
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, TaskRecord, Traced};
use model::time::Moment;
use model::user_stack::UserFrameRecord;

use crate::disk::sync_directory;
use crate::error::ArchiveError;
use crate::options::WriterOptions;
use crate::read::run::Run;
use crate::writer::{Closed, Writer};
use metrics::Joined;

/// Less than [`Writer`]'s maximum of pending events.
const EVENTS_AT_ONCE: usize = 1024;

/// Writes the slices, which follow one another in time, as one new run, and closes it at `now`.
///
/// Unreadable data of a slice are left out and become damage of the new run. Each slice is closed once it is copied,
/// which frees the space of a slice that was deleted in between. With [`WriterOptions::sync`] everything is on the disk
/// at the end. An error leaves an unfinished run directory.
pub fn merge(
    slices: impl IntoIterator<Item = Run>,
    dir: &Path,
    description: &RunDescription,
    options: &WriterOptions,
    now: Moment,
) -> Result<Closed, ArchiveError> {
    // Rows come in whole batches that were accepted before, and no caller waits for a single flush.
    let unsynced = WriterOptions {
        sync: false,
        pending_limit_bytes: usize::MAX,
        trace_pending_limit_bytes: usize::MAX,
        ..options.clone()
    };
    let writer = Writer::create(dir, description, unsynced)?;
    let mut copy = Copy { writer, joined: Joined::default(), written: WrittenOnce::default(), now };
    let mut slices = slices.into_iter().peekable();
    while let Some(slice) = slices.next() {
        copy.slice(&slice, slices.peek().is_none());
    }
    copy.writer.event(RunEvent::Ended { at_ns: now.monotonic_ns, how: Ending::Done });
    let closed = copy.writer.close(now)?;
    if options.sync {
        sync_files(dir)?;
    }
    Ok(closed)
}

/// The new run while it is written.
struct Copy {
    writer: Writer,
    joined: Joined,
    written: WrittenOnce,
    now: Moment,
}

/// Rows that each slice repeats and the joined run has once. Their numbers are those of the recording.
#[derive(Default)]
struct WrittenOnce {
    stacks: HashSet<u32>,
    tasks: HashMap<u32, TaskRecord>,
    /// With and without names.
    user_frames: HashSet<(u32, bool)>,
}

impl WrittenOnce {
    fn is_new_stack(&mut self, stack: &StackRecord) -> bool {
        self.stacks.insert(stack.stack)
    }

    fn is_new_frame(&mut self, frame: &UserFrameRecord) -> bool {
        self.user_frames.insert((frame.frame, frame.functions.is_empty()))
    }

    /// A thread id may be reused, and a thread may change its name or cgroup.
    fn is_new_task(&mut self, task: &TaskRecord) -> bool {
        let seen_ns = task.seen_ns;
        let known = self.tasks.get(&task.tid).is_some_and(|known| TaskRecord { seen_ns, ..known.clone() } == *task);
        if !known {
            self.tasks.insert(task.tid, task.clone());
        }
        !known
    }
}

impl Copy {
    fn slice(&mut self, slice: &Run, is_last: bool) {
        self.metrics(slice);
        self.rows(slice.intervals(), |writer, rows| writer.intervals(rows));
        self.rows(slice.operations(), |writer, rows| writer.operations(rows));
        self.traced(slice, is_last);
        for events in slice.events().chunks(EVENTS_AT_ONCE) {
            events.iter().for_each(|event| self.event(event.clone()));
            self.flush();
        }
        for damage in slice.damage() {
            let file = slice.dir().join(&damage.file).display().to_string();
            self.event(RunEvent::Damaged { damage: Damage { file, ..damage } });
        }
        let rest = self.joined.end_slice();
        self.writer.changes(rest.changes);
        if rest.undescribed > 0 {
            let what = UNDESCRIBED_METRICS.name.to_owned();
            self.writer.event(RunEvent::Loss { what, count: rest.undescribed, at_ns: self.now.monotonic_ns });
        }
        self.flush();
    }

    fn metrics(&mut self, slice: &Run) {
        for descriptors in slice.descriptors() {
            if let Some(descriptors) = self.readable(descriptors) {
                let new = self.joined.describe(descriptors);
                self.writer.describe(&new);
            }
        }
        let headers: Vec<_> = slice.samples().filter_map(|batch| self.readable(batch)).flatten().collect();
        for header in self.joined.begin_slice(headers) {
            self.writer.sample(header, &[]);
        }
        for changes in slice.changes() {
            let changes = self.readable(changes);
            let joined = self.joined.changes(changes.unwrap_or_default());
            self.writer.changes(joined);
            self.flush();
        }
    }

    /// What lasts when a slice ends may have ended in the next one.
    fn traced(&mut self, slice: &Run, is_last: bool) {
        self.rows(slice.stalls(), |writer, mut stalls| {
            stalls.retain(|row| is_last || row.kind != StallKind::LastingWait);
            writer.traced(&mut Traced { stalls, ..Traced::default() });
        });
        self.rows(slice.requests(), |writer, requests| writer.traced(&mut Traced { requests, ..Traced::default() }));
        self.rows(slice.request_intervals(), |writer, request_intervals| {
            writer.traced(&mut Traced { request_intervals, ..Traced::default() });
        });
        self.rows(slice.usage(), |writer, usage| writer.traced(&mut Traced { usage, ..Traced::default() }));
        self.rows(slice.user_stacks(), |writer, user_stacks| {
            writer.traced(&mut Traced { user_stacks, ..Traced::default() });
        });
        let mut written = mem::take(&mut self.written);
        self.rows(slice.stacks(), |writer, mut stacks| {
            stacks.retain(|stack| written.is_new_stack(stack));
            writer.traced(&mut Traced { stacks, ..Traced::default() });
        });
        self.rows(slice.tasks(), |writer, mut tasks| {
            tasks.retain(|task| written.is_new_task(task));
            writer.traced(&mut Traced { tasks, ..Traced::default() });
        });
        self.rows(slice.user_frames(), |writer, mut user_frames| {
            user_frames.retain(|frame| written.is_new_frame(frame));
            writer.traced(&mut Traced { user_frames, ..Traced::default() });
        });
        self.written = written;
    }

    /// Copies a table.
    fn rows<Row>(
        &mut self,
        batches: impl Iterator<Item = Result<Vec<Row>, ArchiveError>>,
        mut write: impl FnMut(&mut Writer, Vec<Row>),
    ) {
        for rows in batches {
            if let Some(rows) = self.readable(rows) {
                write(&mut self.writer, rows);
                self.flush();
            }
        }
    }

    fn event(&mut self, event: RunEvent) {
        let event = match event {
            // The end of a slice is not the end of the run.
            RunEvent::Ended { .. } => return,
            RunEvent::LateSample { sample, late_ns } => {
                RunEvent::LateSample { sample: self.joined.sample(sample), late_ns }
            }
            // The next slice has the table again.
            RunEvent::TableDropped { table, why, at_ns } => {
                RunEvent::Note { at_ns, text: format!("temporarily not recorded: {table} ({why})") }
            }
            other => other,
        };
        self.writer.event(event);
    }

    /// The rows of a batch. The slice notes a damaged one, with the time that it covers.
    fn readable<Row>(&mut self, batch: Result<Vec<Row>, ArchiveError>) -> Option<Vec<Row>> {
        match batch {
            Ok(rows) => return Some(rows),
            Err(ArchiveError::Damaged { .. }) => {}
            Err(error) => {
                self.writer.event(RunEvent::Note { at_ns: self.now.monotonic_ns, text: error.to_string() });
            }
        }
        None
    }

    fn flush(&mut self) {
        // The close reports the state of the disk.
        let _ = self.writer.flush(self.now);
    }
}

fn sync_files(dir: &Path) -> Result<(), ArchiveError> {
    let listed = std::fs::read_dir(dir).map_err(ArchiveError::io(dir, "list the directory"))?;
    for entry in listed.flatten() {
        let path = entry.path();
        File::open(&path).and_then(|file| file.sync_all()).map_err(ArchiveError::io(&path, "sync"))?;
    }
    sync_directory(dir).map_err(ArchiveError::io(dir, "sync the directory"))
}
