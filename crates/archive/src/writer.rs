//! Writing a run.

mod consolidate;
mod degrade;
mod direct;
mod flush;
mod segment;
mod table_rows;
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::run::RunDescription;
use model::stall::Traced;
use model::time::Moment;

use crate::append::AppendFile;
use crate::directory::{DESCRIPTION_FILE, JOURNAL_FILE};
use crate::disk;
use crate::encode::Encoder;
use crate::error::ArchiveError;
use crate::journal::{Entry, Journal};
use crate::options::{FlushState, WriterOptions};
use crate::space::Space;
use crate::table::{
    DescriptorTable, IntervalTable, MetricTable, OperationTable, Priority, RequestIntervalTable, RequestTable,
    SampleTable, StackTable, StallTable, TaskTable, UsageTable, UserFrameTable, UserStackTable,
};
use segment::Segments;
use table_rows::{AnyTableRows, TableRows};
use trouble::Trouble;

/// zstd level of recent batches: they live for a minute.
const RECENT_LEVEL: i32 = 1;
/// zstd level of segments' batches: written once a minute, kept for good.
const SEGMENT_LEVEL: i32 = 6;
/// Number of tables of a run.
const TABLES: usize = 13;
/// Maximum events between two flushes; more are counted as lost.
const PENDING_EVENTS: usize = 4096;

/// Writes one run directory.
///
/// Rows and events are collected in memory and written by [`Writer::flush`]. A writer that is dropped without
/// [`Writer::close`] leaves a run that reads as cut off.
pub struct Writer {
    dir: PathBuf,
    options: WriterOptions,
    tables: Tables,
    events: Vec<RunEvent>,
    lost_events: u64,
    journal: Journal,
    segments: Segments,
    /// The recent file in use.
    recent: Option<AppendFile>,
    /// Flushes in it.
    recent_flushes: u32,
    /// Recent files whose rows are also still in memory.
    unconsolidated: Vec<AppendFile>,
    /// Number of the last recent file.
    generation: u32,
    flushes: u32,
    space: Space,
    quick: Encoder,
    thorough: Encoder,
    buffer: Vec<u8>,
    trouble: Trouble,
}

/// The rows of each table.
struct Tables {
    descriptors: TableRows<DescriptorTable>,
    samples: TableRows<SampleTable>,
    metrics: TableRows<MetricTable>,
    intervals: TableRows<IntervalTable>,
    operations: TableRows<OperationTable>,
    stalls: TableRows<StallTable>,
    stacks: TableRows<StackTable>,
    requests: TableRows<RequestTable>,
    request_intervals: TableRows<RequestIntervalTable>,
    tasks: TableRows<TaskTable>,
    usage: TableRows<UsageTable>,
    user_stacks: TableRows<UserStackTable>,
    user_frames: TableRows<UserFrameTable>,
}

impl Tables {
    fn new(options: &WriterOptions) -> Tables {
        let (pending_limit, trace_limit) = (options.pending_limit_bytes, options.trace_pending_limit_bytes);
        Tables {
            descriptors: TableRows::new(pending_limit),
            samples: TableRows::new(pending_limit),
            metrics: TableRows::new(pending_limit),
            intervals: TableRows::new(pending_limit),
            operations: TableRows::new(pending_limit),
            stalls: TableRows::new(trace_limit),
            stacks: TableRows::new(trace_limit),
            requests: TableRows::new(trace_limit),
            request_intervals: TableRows::new(trace_limit),
            tasks: TableRows::new(trace_limit),
            usage: TableRows::new(trace_limit),
            user_stacks: TableRows::new(trace_limit),
            user_frames: TableRows::new(trace_limit),
        }
    }

    fn all(&self) -> [&dyn AnyTableRows; TABLES] {
        [
            &self.descriptors,
            &self.samples,
            &self.metrics,
            &self.intervals,
            &self.operations,
            &self.stalls,
            &self.stacks,
            &self.requests,
            &self.request_intervals,
            &self.tasks,
            &self.usage,
            &self.user_stacks,
            &self.user_frames,
        ]
    }

    fn all_mut(&mut self) -> [&mut dyn AnyTableRows; TABLES] {
        [
            &mut self.descriptors,
            &mut self.samples,
            &mut self.metrics,
            &mut self.intervals,
            &mut self.operations,
            &mut self.stalls,
            &mut self.stacks,
            &mut self.requests,
            &mut self.request_intervals,
            &mut self.tasks,
            &mut self.usage,
            &mut self.user_stacks,
            &mut self.user_frames,
        ]
    }
}

/// Contents of a closed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Rows on disk, by table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Size of the directory's files.
    pub bytes: u64,
    /// Whether everything passed to the writer is on disk.
    pub state: FlushState,
}

impl Writer {
    /// Creates a run in a directory, which must be empty or not exist: one that exists keeps its access, and decides
    /// that of the files; a new one is the owner's alone. An error leaves nothing behind.
    pub fn create(dir: &Path, description: &RunDescription, options: WriterOptions) -> Result<Writer, ArchiveError> {
        let is_new = !dir.exists();
        if is_new {
            disk::make_directory(dir).map_err(ArchiveError::io(dir, "create the directory"))?;
        }
        let mut present = fs::read_dir(dir).map_err(ArchiveError::io(dir, "list the directory"))?;
        if present.next().is_some() {
            return Err(ArchiveError::NotEmpty { path: dir.to_owned() });
        }
        Writer::begin(dir, description, options).inspect_err(|_| abandon(dir, is_new))
    }

    fn begin(dir: &Path, description: &RunDescription, options: WriterOptions) -> Result<Writer, ArchiveError> {
        let mut space = Space::reserve(dir, &options)?;
        let path = dir.join(JOURNAL_FILE);
        let text = encoded(description).map_err(ArchiveError::io(dir, "encode the description"))?;
        let begun = Entry::Begun { length: text.len() as u64, crc32c: crc32c::crc32c(&text) };
        let journal = Journal::create(dir, options.sync, &mut space)
            .and_then(|mut journal| journal.write(&[begun], &mut space).map(|()| journal))
            .map_err(ArchiveError::io(&path, "begin the journal"))?;
        let mut writer = Writer {
            dir: dir.to_owned(),
            tables: Tables::new(&options),
            events: Vec::new(),
            lost_events: 0,
            journal,
            segments: Segments::new(dir, options.sync),
            recent: None,
            recent_flushes: 0,
            unconsolidated: Vec::new(),
            generation: 0,
            flushes: 0,
            space,
            quick: Encoder::new(RECENT_LEVEL),
            thorough: Encoder::new(SEGMENT_LEVEL),
            buffer: Vec::new(),
            trouble: Trouble::default(),
            options,
        };
        let has_trace = description.trace.is_some() || writer.options.is_polled;
        writer.open_segments(has_trace).map_err(ArchiveError::io(dir, "open the tables"))?;
        write_description(dir, &text)?;
        Ok(writer)
    }

    /// Adds metrics. A metric must be described no later than in the flush of its first change.
    pub fn describe(&mut self, descriptors: &[MetricDescriptor]) {
        self.tables.descriptors.extend(descriptors.iter().cloned());
    }

    /// Adds a sample.
    pub fn sample(&mut self, header: SampleHeader, changes: &[MetricChange]) {
        self.tables.samples.extend([header]);
        self.tables.metrics.extend(changes.iter().copied());
    }

    /// Adds changes of samples that are added separately.
    pub fn changes(&mut self, changes: impl IntoIterator<Item = MetricChange>) {
        self.tables.metrics.extend(changes);
    }

    /// Adds the operations of an interval, summed by class.
    pub fn intervals(&mut self, records: impl IntoIterator<Item = IntervalRecord>) {
        self.tables.intervals.extend(records);
    }

    /// Adds individually recorded operations.
    pub fn operations(&mut self, records: impl IntoIterator<Item = OperationRecord>) {
        self.tables.operations.extend(records);
    }

    /// Adds the tracer's rows and drains the lists, which can be filled again.
    pub fn traced(&mut self, traced: &mut Traced) {
        self.tables.stalls.extend(traced.stalls.drain(..));
        self.tables.stacks.extend(traced.stacks.drain(..));
        self.tables.requests.extend(traced.requests.drain(..));
        self.tables.request_intervals.extend(traced.request_intervals.drain(..));
        self.tables.tasks.extend(traced.tasks.drain(..));
        self.tables.usage.extend(traced.usage.drain(..));
        self.tables.user_stacks.extend(traced.user_stacks.drain(..));
        self.tables.user_frames.extend(traced.user_frames.drain(..));
    }

    /// Memory of the rows that no flush has written yet. A caller that adds many rows per second flushes when it is
    /// large.
    pub fn pending_bytes(&self) -> usize {
        self.tables.all().iter().map(|rows| rows.pending_weight()).sum()
    }

    /// Adds an event.
    pub fn event(&mut self, event: RunEvent) {
        if self.events.len() < PENDING_EVENTS {
            self.events.push(event);
        } else {
            self.lost_events += 1;
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Bytes written so far, deleted files included.
    pub fn bytes_written(&self) -> u64 {
        self.space.written_bytes()
    }

    /// Current size of the directory's files, without the reserve.
    pub fn bytes_on_disk(&self) -> u64 {
        self.space.used_bytes()
    }

    /// Writes the remaining rows, ends each table's Arrow stream, and frees the reserve.
    ///
    /// After an error the run is readable but reads as cut off.
    pub fn close(mut self, now: Moment) -> Result<Closed, ArchiveError> {
        let _ = self.flush(now);
        self.space.release_all();
        self.report_losses(now);
        self.consolidate(now);
        self.flush_events(now);
        let finished = self.segments.finish(&mut self.space);
        let closed = finished.and_then(|()| self.journal.write(&[Entry::Closed { at: now }], &mut self.space));
        self.journal.close_recent();
        closed.map_err(ArchiveError::io(&self.dir, "close the run"))?;
        let rows = self.tables.all().iter().map(|rows| (rows.name(), rows.total())).collect();
        Ok(Closed { rows, bytes: self.space.used_bytes(), state: self.trouble.state() })
    }

    /// Opens the tables that the run will have. Tables of an unannounced tracer are opened with their first row.
    fn open_segments(&mut self, traced: bool) -> io::Result<()> {
        let expected = |rows: &&dyn AnyTableRows| traced || rows.priority() != Priority::Trace;
        for rows in self.tables.all().into_iter().filter(expected) {
            self.segments.ensure(rows, &mut self.thorough, &mut self.journal, &mut self.space)?;
        }
        Ok(())
    }
}

/// Removes the files of a run that failed to begin, and the directory if it is new. It was empty before.
fn abandon(dir: &Path, is_new: bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let _ = disk::remove(&entry.path());
    }
    if is_new {
        let _ = fs::remove_dir(dir);
    }
}

/// The text of `run.json`.
fn encoded(description: &RunDescription) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(description)?;
    text.push(b'\n');
    Ok(text)
}

/// Writes `run.json` last and atomically: a directory is a run if and only if it has one.
fn write_description(dir: &Path, text: &[u8]) -> Result<(), ArchiveError> {
    let path = dir.join(DESCRIPTION_FILE);
    let unfinished = dir.join("run.json.new");
    let write = || {
        let file = disk::create(&unfinished)?;
        disk::write_at(&file, text, 0)?;
        disk::sync_all(&file)?;
        disk::rename(&unfinished, &path)?;
        disk::sync_directory(dir)?;
        dir.parent().map_or(Ok(()), disk::sync_directory)
    };
    write().map_err(ArchiveError::io(&path, "write the description"))
}
