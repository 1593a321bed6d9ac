//! Rows of a source → a run directory.
//!
//! Times are those of the run's clock, from its start; the wall clock of a sample is the run's start plus its time.
//! Memory stays bounded: rows are written as they come, except open aggregates.

use std::path::Path;

use access::Sharing;
use archive::{ArchiveError, FlushState, Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader};
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{RequestRecord, StackRecord, TaskRecord, Traced};
use model::time::Moment;

use crate::block_requests::BlockRequests;
use crate::rows::{Operation, Wait};
use crate::signals::{Announced, Span};
use crate::tally::Tally;
use crate::waits::Waits;

/// The phase of a source that names none.
const ONLY_PHASE: &str = "run";
/// Flush once this much is pending. Far below the limit of the archive.
const FLUSH_AT_BYTES: usize = 1 << 20;
/// Rows between two checks of what is pending.
const CHECK_EVERY: u32 = 256;

/// Writes what a source reports, in the order in which it ended. The first row creates the run directory: a source that
/// fails before leaves none.
pub struct RunWriter<'a> {
    directory: &'a Path,
    sharing: Sharing,
    description: &'a RunDescription,
    archive: Option<Writer>,
    failure: Option<ArchiveError>,
    state: FlushState,
    now_ns: u64,
    phase: Option<String>,
    /// Start of the current interval.
    interval_start_ns: u64,
    tally: Tally,
    waits: Waits,
    requests: BlockRequests,
    traced: Traced,
    operations: Vec<OperationRecord>,
    stacks: u32,
    values: Vec<Option<i64>>,
    samples: u32,
    rows_since_check: u32,
}

impl<'a> RunWriter<'a> {
    /// For a run with this description, in a directory that does not exist or is empty. Operations of `slower_than_ns`
    /// and more are recorded individually, and waits of `trace.interval_ns`; of block requests all, or those that are
    /// slow or waited for.
    pub fn new(
        directory: &'a Path,
        sharing: Sharing,
        description: &'a RunDescription,
        all_requests: bool,
    ) -> RunWriter<'a> {
        let least_ns = description.trace.as_ref().map_or(u64::MAX, |trace| trace.interval_ns);
        RunWriter {
            directory,
            sharing,
            description,
            archive: None,
            failure: None,
            state: FlushState::Whole,
            now_ns: 0,
            phase: None,
            interval_start_ns: 0,
            tally: Tally::default(),
            waits: Waits::new(least_ns),
            requests: BlockRequests::new(description.slower_than_ns, all_requests),
            traced: Traced::default(),
            operations: Vec::new(),
            stacks: 0,
            values: Vec::new(),
            samples: 0,
            rows_since_check: 0,
        }
    }

    /// The run's description.
    pub fn description(&self) -> &RunDescription {
        self.description
    }

    /// A task starts. Its `tid` is not 0, and unique.
    pub fn task(&mut self, tid: u32, name: &str) {
        let seen_ns = self.now_ns;
        self.traced.tasks.push(TaskRecord {
            tid,
            pid: tid,
            name: name.to_owned(),
            cgroup: None,
            started_by: None,
            role: None,
            container: None,
            io_cgroup: None,
            seen_ns,
        });
        self.row_added();
    }

    /// A phase of the run begins; the one before it has ended. `measured`: its operations count.
    pub fn phase(&mut self, name: &str, measured: bool, at_ns: u64) {
        if self.phase.is_some() {
            self.end_phase(at_ns);
        }
        self.advance(at_ns);
        self.interval_start_ns = at_ns;
        self.phase = Some(name.to_owned());
        self.event(RunEvent::PhaseStarted { phase: name.to_owned(), measured, at_ns });
    }

    /// An operation has ended.
    pub fn operation(&mut self, operation: &Operation<'_>) {
        self.begin_if_none();
        self.advance(operation.end_ns);
        self.tally.add(operation);
        if self.is_slow(operation) {
            self.keep(operation, OperationKind::Slow);
        }
    }

    /// An operation is still in progress when the run ends, which is its end.
    pub fn unfinished(&mut self, operation: &Operation<'_>) {
        self.begin_if_none();
        self.advance(operation.end_ns);
        let age_ns = operation.end_ns.saturating_sub(operation.start_ns);
        let is_stuck = self.is_slow(operation);
        self.tally.add_unfinished(operation.class, age_ns, is_stuck);
        if is_stuck {
            self.keep(operation, OperationKind::Stuck);
        }
    }

    /// A stack, innermost function first, that waits may have: its number. Name each stack once.
    pub fn stack(&mut self, frames: Vec<String>) -> u32 {
        let stack = self.stacks;
        self.stacks += 1;
        self.traced.stacks.push(StackRecord { stack, frames });
        stack
    }

    /// A wait of a task has ended, or is still in progress when the run ends.
    pub fn wait(&mut self, wait: &Wait) {
        self.wait_for(wait, None);
    }

    /// The same, and what it was announced to be for.
    pub(crate) fn wait_for(&mut self, wait: &Wait, announced: Option<Announced>) {
        self.now_ns = self.now_ns.max(wait.end_ns);
        let is_recorded = self.waits.add(wait, announced, &mut self.traced);
        if let Some(request) = wait.request.filter(|_| is_recorded) {
            self.requests.wanted(request, &mut self.traced);
        }
        self.row_added();
    }

    /// A task was between two events that say what it did.
    pub(crate) fn span(&mut self, span: Span) {
        self.now_ns = self.now_ns.max(span.end_ns);
        self.waits.add_span(span, &mut self.traced);
        self.row_added();
    }

    /// A block request has completed.
    pub fn request(&mut self, request: &RequestRecord) {
        self.advance(request.completed_ns);
        self.requests.add(request, &mut self.traced);
        self.row_added();
    }

    /// The gauges and counters that [`RunWriter::sample`] takes, numbered from 0.
    pub fn metrics(&mut self, metrics: &[MetricDescriptor]) {
        self.values = vec![None; metrics.len()];
        if let Some(archive) = self.archive() {
            archive.describe(metrics);
        }
    }

    /// The value of each metric, in the order of [`RunWriter::metrics`]. `None`: no value.
    pub fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        self.now_ns = self.now_ns.max(at_ns);
        let sample = self.samples;
        let both = self.values.iter_mut().zip(values).zip(0..);
        let changed = both.filter_map(|((before, &now), id)| {
            let is_new = std::mem::replace(before, now) != now;
            is_new.then_some(MetricChange { sample, metric: MetricId(id), value: now })
        });
        let changes: Vec<MetricChange> = changed.collect();
        let at = self.moment(at_ns);
        if let Some(archive) = self.archive() {
            archive.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 }, &changes);
        }
        self.samples += 1;
        self.row_added();
    }

    /// Closes the run, after events about it as a whole. Returns whether everything is written.
    ///
    /// # Errors
    ///
    /// The directory cannot be made, or not be written.
    pub fn close(mut self, ended_ns: u64, events: Vec<RunEvent>) -> Result<FlushState, ArchiveError> {
        let ended_ns = ended_ns.max(self.now_ns);
        self.now_ns = ended_ns;
        self.begin_if_none();
        self.end_phase(ended_ns);
        self.waits.finish(&mut self.traced);
        events.into_iter().for_each(|event| self.event(event));
        self.event(RunEvent::Ended { at_ns: ended_ns, how: Ending::Done });
        self.write();
        let now = self.moment(ended_ns);
        match (self.failure, self.archive) {
            (Some(failure), _) => Err(failure),
            (None, Some(archive)) => archive.close(now).map(|closed| closed.state),
            (None, None) => Ok(self.state),
        }
    }

    fn moment(&self, at_ns: u64) -> Moment {
        let started = self.description.started;
        Moment { monotonic_ns: at_ns, wall_ns: started.wall_ns.saturating_add_unsigned(at_ns) }
    }

    fn archive(&mut self) -> Option<&mut Writer> {
        if self.archive.is_none() && self.failure.is_none() {
            // The source can be read again: do not wait for the disk.
            let options = WriterOptions { sync: false, reserve_bytes: 0, ..WriterOptions::default() };
            let made = self.sharing.make_directory(self.directory).map_err(|source| ArchiveError::Io {
                path: self.directory.to_owned(),
                what: "create the directory",
                source,
            });
            match made.and_then(|_| Writer::create(self.directory, self.description, options)) {
                Ok(archive) => self.archive = Some(archive),
                Err(error) => self.failure = Some(error),
            }
        }
        self.archive.as_mut()
    }

    fn event(&mut self, event: RunEvent) {
        if let Some(archive) = self.archive() {
            archive.event(event);
        }
    }

    /// Writes the pending rows every `CHECK_EVERY` rows.
    fn row_added(&mut self) {
        self.rows_since_check += 1;
        if self.rows_since_check >= CHECK_EVERY {
            self.rows_since_check = 0;
            self.write();
        }
    }

    fn write(&mut self) {
        let now = self.moment(self.now_ns);
        let mut traced = std::mem::take(&mut self.traced);
        let mut operations = std::mem::take(&mut self.operations);
        if let Some(archive) = self.archive() {
            archive.traced(&mut traced);
            archive.operations(operations.drain(..));
            if archive.pending_bytes() >= FLUSH_AT_BYTES {
                self.state = archive.flush(now);
            }
        }
        (self.traced, self.operations) = (traced, operations);
    }

    /// Closes the intervals that end before a moment. An event at an interval's end belongs to it.
    fn advance(&mut self, to_ns: u64) {
        self.now_ns = self.now_ns.max(to_ns);
        let every_ns = self.description.sample_interval_ns;
        loop {
            let border_ns = (self.interval_start_ns / every_ns + 1).saturating_mul(every_ns);
            if border_ns >= to_ns {
                break;
            }
            self.close_interval(border_ns);
        }
    }

    fn close_interval(&mut self, end_ns: u64) {
        let start_ns = std::mem::replace(&mut self.interval_start_ns, end_ns);
        self.requests.close(start_ns, end_ns, &mut self.traced);
        let Some(phase) = &self.phase else { return };
        let records = self.tally.close(phase, start_ns, end_ns);
        if let Some(archive) = self.archive() {
            archive.intervals(records);
        }
        // A histogram can be large.
        self.write();
    }

    fn begin_if_none(&mut self) {
        if self.phase.is_none() {
            self.phase(ONLY_PHASE, true, 0);
        }
    }

    fn end_phase(&mut self, at_ns: u64) {
        self.advance(at_ns);
        if at_ns > self.interval_start_ns || !self.tally.is_empty() {
            self.close_interval(at_ns);
        }
        let bytes = std::mem::take(&mut self.tally).bytes();
        if let Some(phase) = self.phase.take() {
            self.event(RunEvent::PhaseEnded { phase, at_ns, bytes });
        }
    }

    fn keep(&mut self, operation: &Operation<'_>, kind: OperationKind) {
        self.operations.push(OperationRecord {
            kind,
            class: operation.class.to_owned(),
            tid: operation.tid,
            start_ns: operation.start_ns,
            duration_ns: operation.end_ns.saturating_sub(operation.start_ns),
            bytes: (operation.bytes > 0).then_some(operation.bytes),
            errno: None,
            path: None,
            offset_bytes: None,
            fault: None,
        });
        self.row_added();
    }

    fn is_slow(&self, operation: &Operation<'_>) -> bool {
        operation.end_ns.saturating_sub(operation.start_ns) >= self.description.slower_than_ns
    }
}
