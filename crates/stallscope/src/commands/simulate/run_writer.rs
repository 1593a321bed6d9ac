//! A simulation → a run directory.
//!
//! Times are the model's, from 0; the wall clock of a sample is the run's start plus its time. Memory stays bounded: rows
//! are written as they come, except open aggregates.

use std::path::Path;

use access::Sharing;
use archive::{ArchiveError, FlushState, Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::metric::{Change, MetricDescriptor, MetricId, SampleHeader};
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::simulation::{Course, Waiter};
use model::stall::{RequestRecord, TaskRecord, Traced};
use model::time::Moment;
use simulate::observer::{Metric, Observer, Operation, Wait};

use super::block_requests::BlockRequests;
use super::tally::Tally;
use super::waits::Waits;

/// The phase of a model that names none.
const ONLY_PHASE: &str = "run";
/// The class of a hung task's operation if the model does not name it.
const HUNG: &str = "wait";
/// Flush once this much is pending. Far below the limit of the archive.
const FLUSH_AT_BYTES: usize = 1 << 20;
/// Rows between two checks of what is pending.
const CHECK_EVERY: u32 = 256;

/// Writes what a model emits. The first row creates the run directory: contradictory settings leave none.
pub(super) struct RunWriter<'a> {
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
    /// Thread ids by name, to find the waiters of a hang.
    tasks: Vec<(String, u32)>,
    values: Vec<Option<i64>>,
    samples: u32,
    rows_since_check: u32,
    /// Tasks whose unfinished operation was recorded.
    unfinished: Vec<u32>,
}

impl<'a> RunWriter<'a> {
    /// For a run with this description, in a directory that does not exist or is empty.
    pub(super) fn new(
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
            tasks: Vec::new(),
            values: Vec::new(),
            samples: 0,
            rows_since_check: 0,
            unfinished: Vec::new(),
        }
    }

    /// Writes the course and closes the run. Returns whether everything is written.
    pub(super) fn close(mut self, course: Course) -> Result<FlushState, ArchiveError> {
        let ended_ns = course.ended_ns.max(self.now_ns);
        self.now_ns = ended_ns;
        self.begin_if_none();
        for waiter in course.hang.iter().flat_map(|hang| &hang.waiters) {
            self.record_hung(waiter, ended_ns);
        }
        self.end_phase(ended_ns);
        self.waits.finish(&mut self.traced);
        self.event(RunEvent::Simulated { at_ns: ended_ns, course });
        self.event(RunEvent::Ended { at_ns: ended_ns, how: Ending::Done });
        self.write();
        let now = self.moment(ended_ns);
        match (self.failure, self.archive) {
            (Some(failure), _) => Err(failure),
            (None, Some(archive)) => archive.close(now).map(|closed| closed.state),
            (None, None) => Ok(self.state),
        }
    }

    /// Records a hung task whose operation the model did not name: only the wait is known.
    fn record_hung(&mut self, waiter: &Waiter, ended_ns: u64) {
        let Some((_, tid)) = self.tasks.iter().find(|(name, _)| *name == waiter.task) else { return };
        if !self.unfinished.contains(tid) {
            let (tid, start_ns) = (*tid, waiter.since_ns);
            self.unfinished(Operation { class: HUNG, tid, start_ns, end_ns: ended_ns, bytes: 0 });
        }
    }

    fn moment(&self, at_ns: u64) -> Moment {
        let started = self.description.started;
        Moment { monotonic_ns: at_ns, wall_ns: started.wall_ns.saturating_add_unsigned(at_ns) }
    }

    fn archive(&mut self) -> Option<&mut Writer> {
        if self.archive.is_none() && self.failure.is_none() {
            // A simulation can be repeated: do not wait for the disk.
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

    fn keep(&mut self, operation: &Operation, kind: OperationKind) {
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

    fn is_slow(&self, operation: &Operation) -> bool {
        operation.end_ns.saturating_sub(operation.start_ns) >= self.description.slower_than_ns
    }
}

impl Observer for RunWriter<'_> {
    fn task(&mut self, tid: u32, name: &str) {
        let seen_ns = self.now_ns;
        self.tasks.push((name.to_owned(), tid));
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

    fn phase(&mut self, name: &str, measured: bool, at_ns: u64) {
        if self.phase.is_some() {
            self.end_phase(at_ns);
        }
        self.advance(at_ns);
        self.interval_start_ns = at_ns;
        self.phase = Some(name.to_owned());
        self.event(RunEvent::PhaseStarted { phase: name.to_owned(), measured, at_ns });
    }

    fn operation(&mut self, operation: Operation) {
        self.begin_if_none();
        self.advance(operation.end_ns);
        self.tally.add(&operation);
        if self.is_slow(&operation) {
            self.keep(&operation, OperationKind::Slow);
        }
    }

    fn unfinished(&mut self, operation: Operation) {
        self.begin_if_none();
        self.advance(operation.end_ns);
        let age_ns = operation.end_ns.saturating_sub(operation.start_ns);
        let is_stuck = self.is_slow(&operation);
        self.tally.add_unfinished(operation.class, age_ns, is_stuck);
        self.unfinished.push(operation.tid);
        if is_stuck {
            self.keep(&operation, OperationKind::Stuck);
        }
    }

    fn wait(&mut self, wait: &Wait) {
        self.now_ns = self.now_ns.max(wait.end_ns);
        let is_recorded = self.waits.add(wait, &mut self.traced);
        if let Some(request) = wait.request.filter(|_| is_recorded) {
            self.requests.wanted(request, &mut self.traced);
        }
        self.row_added();
    }

    fn request(&mut self, request: &RequestRecord) {
        self.advance(request.completed_ns);
        self.requests.add(request, &mut self.traced);
        self.row_added();
    }

    fn metrics(&mut self, metrics: &'static [Metric]) {
        self.values = vec![None; metrics.len()];
        let describe = |(id, metric): (u32, &Metric)| MetricDescriptor {
            id: MetricId(id),
            name: metric.name.to_owned(),
            instance: metric.instance.to_owned(),
            unit: metric.unit,
            semantics: metric.semantics,
            device: None,
        };
        let descriptors: Vec<MetricDescriptor> = (0..).zip(metrics).map(describe).collect();
        if let Some(archive) = self.archive() {
            archive.describe(&descriptors);
        }
    }

    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        self.now_ns = self.now_ns.max(at_ns);
        let sample = self.samples;
        let both = self.values.iter_mut().zip(values).zip(0..);
        let changed = both.filter_map(|((before, &now), id)| {
            let is_new = std::mem::replace(before, now) != now;
            is_new.then_some(Change { sample, metric: MetricId(id), value: now })
        });
        let changes: Vec<Change> = changed.collect();
        let at = self.moment(at_ns);
        if let Some(archive) = self.archive() {
            archive.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 }, &changes);
        }
        self.samples += 1;
        self.row_added();
    }

    fn sample_every_ns(&self) -> u64 {
        self.description.sample_interval_ns
    }

    fn slow_ns(&self) -> u64 {
        self.description.trace.as_ref().map_or(self.description.slower_than_ns, |trace| trace.interval_ns)
    }
}
