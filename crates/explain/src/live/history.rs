//! The rows of a recording that are kept, within bounds of time and memory.

use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::stall::{
    Awaits, RequestIntervalRecord, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, Traced,
};
use model::usage::UsageRecord;
use model::user_stack::{UserFrameRecord, UserStackRecord};

use super::bounds::Bounds;
use super::look::Seen;
use super::samples::Samples;
use super::size::Size;
use super::table::{Table, Timed};
use crate::snapshot::{SnapshotBuilder, Window};

/// Threads, stacks and places in programs are kept for this many rotations: rows refer to those of the same rotation
/// or, around a rotation, the one before.
const ROTATIONS: u64 = 2;
/// Of the memory, those have at most this part: they are named once, and have no time by which they grow old.
const NAMES_PART: usize = 2;
/// And samples at most this part, which have no other bound than their time.
const SAMPLES_PART: usize = 4;
/// Events that are kept: of losses there is one in ten seconds.
const EVENTS: usize = 4096;

/// Drops the first row of a table.
type Drops = fn(&mut History);

/// What is kept of a recording.
#[derive(Debug)]
pub(super) struct History {
    bounds: Bounds,
    samples: Samples,
    operations: Table<OperationRecord>,
    intervals: Table<IntervalRecord>,
    stalls: Table<StallRecord>,
    /// What threads wait for that had not been woken at the last look at /proc.
    lasting: Vec<StallRecord>,
    requests: Table<RequestRecord>,
    request_intervals: Table<RequestIntervalRecord>,
    usage: Table<UsageRecord>,
    user_stacks: Table<UserStackRecord>,
    events: Vec<RunEvent>,
    rotation: u64,
    tasks: Table<Named<TaskRecord>>,
    stacks: Table<Named<StackRecord>>,
    user_frames: Table<Named<UserFrameRecord>>,
    /// End of the last operation of the trace that was slow.
    slow_until_ns: u64,
    /// Since when everything is kept.
    whole_from_ns: u64,
}

/// A row that others refer to, and the rotation in which it came.
#[derive(Debug)]
struct Named<Row> {
    rotation: u64,
    row: Row,
}

impl<Row: Size> Size for Named<Row> {
    fn owned(&self) -> usize {
        self.row.owned()
    }
}

impl History {
    pub(super) fn new(bounds: Bounds) -> History {
        History {
            bounds,
            samples: Samples::default(),
            operations: Table::default(),
            intervals: Table::default(),
            stalls: Table::default(),
            lasting: Vec::new(),
            requests: Table::default(),
            request_intervals: Table::default(),
            usage: Table::default(),
            user_stacks: Table::default(),
            events: Vec::new(),
            rotation: 0,
            tasks: Table::default(),
            stacks: Table::default(),
            user_frames: Table::default(),
            slow_until_ns: 0,
            whole_from_ns: 0,
        }
    }

    pub(super) fn first_ns(&self) -> Option<u64> {
        self.samples.first_ns().map(|first_ns| first_ns.max(self.whole_from_ns))
    }

    pub(super) fn last_ns(&self) -> Option<u64> {
        self.samples.last_ns()
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows_bytes() + self.names_bytes()
    }

    fn rows_bytes(&self) -> usize {
        let load = self.operations.bytes() + self.intervals.bytes();
        let requests = self.requests.bytes() + self.request_intervals.bytes();
        self.samples.bytes() + load + self.stalls.bytes() + requests + self.usage.bytes() + self.user_stacks.bytes()
    }

    fn names_bytes(&self) -> usize {
        self.tasks.bytes() + self.stacks.bytes() + self.user_frames.bytes()
    }

    pub(super) fn sample(&mut self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        self.samples.add(header, descriptors, changes);
        self.trim();
    }

    pub(super) fn traced(&mut self, traced: &Traced, slow_ns: u64) {
        let slow = traced.stalls.iter().filter(|row| is_slow(row, slow_ns)).map(StallRecord::end_ns).max();
        self.slow_until_ns = self.slow_until_ns.max(slow.unwrap_or(0));
        // Those come apart, all of them at a time.
        let ended = traced.stalls.iter().filter(|row| row.kind != StallKind::LastingWait);
        ended.for_each(|row| self.stalls.push(row.clone()));
        self.requests.extend(&traced.requests);
        self.request_intervals.extend(&traced.request_intervals);
        self.usage.extend(&traced.usage);
        self.user_stacks.extend(&traced.user_stacks);
        let rotation = self.rotation;
        traced.tasks.iter().for_each(|row| self.tasks.push(Named { rotation, row: row.clone() }));
        traced.stacks.iter().for_each(|row| self.stacks.push(Named { rotation, row: row.clone() }));
        traced.user_frames.iter().for_each(|row| self.user_frames.push(Named { rotation, row: row.clone() }));
        self.trim();
    }

    pub(super) fn operations(&mut self, records: &[OperationRecord]) {
        self.operations.extend(records);
        self.trim();
    }

    pub(super) fn intervals(&mut self, records: &[IntervalRecord]) {
        self.intervals.extend(records);
        self.trim();
    }

    pub(super) fn events(&mut self, events: &[RunEvent]) {
        self.events.extend(events.iter().cloned());
        let rest = self.events.len().saturating_sub(EVENTS);
        self.events.drain(..rest);
    }

    pub(super) fn lasting_waits(&mut self, rows: Vec<StallRecord>) {
        self.lasting = rows;
    }

    pub(super) fn rotated(&mut self) {
        self.rotation += 1;
        let oldest = self.rotation.saturating_sub(ROTATIONS);
        forget(&mut self.tasks, oldest);
        forget(&mut self.stacks, oldest);
        forget(&mut self.user_frames, oldest);
    }

    pub(super) fn has_slow_since(&self, at_ns: u64, slow_ns: u64) -> bool {
        let is_recent = |record: &OperationRecord| record.ended_ns() >= at_ns;
        let lasts = |row: &StallRecord| row.end_ns() >= at_ns && is_asked_for_long(row, slow_ns);
        self.slow_until_ns >= at_ns || self.operations.last().is_some_and(is_recent) || self.lasting.iter().any(lasts)
    }

    /// The rows that matter in a window.
    pub(super) fn see(&self, mut builder: SnapshotBuilder, window: Window) -> Seen {
        let Window { to_ns, .. } = window;
        let (history_ns, reach_ns) = (window.history_from_ns(), window.reach_from_ns());
        builder.events(&self.events);
        for row in self.intervals.iter().filter(|row| row.end_ns > history_ns && row.start_ns < to_ns) {
            builder.intervals(std::slice::from_ref(row));
        }
        for row in self.request_intervals.iter().filter(|row| row.end_ns > history_ns && row.start_ns < to_ns) {
            builder.request_intervals(std::slice::from_ref(row));
        }
        self.operations.iter().for_each(|row| builder.operations(std::slice::from_ref(row)));
        for row in self.stalls.iter().filter(|row| row.end_ns() >= reach_ns && row.start_ns < to_ns) {
            builder.stalls(std::slice::from_ref(row));
        }
        builder.lasting_waits(&self.lasting);
        for row in self.requests.iter().filter(|row| row.completed_ns >= reach_ns) {
            builder.requests(std::slice::from_ref(row));
        }
        for row in self.usage.iter().filter(|row| row.end_ns > reach_ns && row.start_ns < to_ns) {
            builder.usage(std::slice::from_ref(row));
        }
        for row in self.user_stacks.iter().filter(|row| row.end_ns > reach_ns && row.start_ns < to_ns) {
            builder.user_stacks(std::slice::from_ref(row));
        }
        self.user_frames.iter().for_each(|frame| builder.user_frames(std::slice::from_ref(&frame.row)));
        builder.tasks(self.tasks.iter().map(|task| &task.row));
        builder.stacks(self.stacks.iter().map(|stack| &stack.row));
        Seen { builder, series: self.samples.series(to_ns) }
    }

    /// Drops rows that are too old or have no room, the oldest first.
    fn trim(&mut self) {
        let oldest_ns = self.last_ns().unwrap_or(0).saturating_sub(self.bounds.time_ns);
        let most_bytes = self.bounds.bytes / SAMPLES_PART;
        while self.samples.first_ns().is_some_and(|at_ns| at_ns < oldest_ns || self.samples.bytes() > most_bytes) {
            self.samples.pop();
        }
        while let Some((ended_ns, pop)) = self.oldest() {
            let has_room = self.rows_bytes() <= self.bounds.bytes - self.bounds.bytes / NAMES_PART;
            if has_room && ended_ns >= oldest_ns {
                break;
            }
            if !has_room {
                self.whole_from_ns = self.whole_from_ns.max(ended_ns);
            }
            pop(self);
        }
        while self.names_bytes() > self.bounds.bytes / NAMES_PART {
            let names = [self.tasks.bytes(), self.stacks.bytes(), self.user_frames.bytes()];
            match names.into_iter().enumerate().max_by_key(|(_, bytes)| *bytes) {
                Some((0, _)) => drop(self.tasks.pop()),
                Some((1, _)) => drop(self.stacks.pop()),
                _ => drop(self.user_frames.pop()),
            }
        }
    }

    /// The end of the row that came first of those that ended first, and how to drop it.
    fn oldest(&self) -> Option<(u64, Drops)> {
        let rows: [(Option<u64>, Drops); 7] = [
            (self.stalls.first().map(Timed::ended_ns), |all| drop(all.stalls.pop())),
            (self.operations.first().map(Timed::ended_ns), |all| drop(all.operations.pop())),
            (self.intervals.first().map(Timed::ended_ns), |all| drop(all.intervals.pop())),
            (self.requests.first().map(Timed::ended_ns), |all| drop(all.requests.pop())),
            (self.request_intervals.first().map(Timed::ended_ns), |all| drop(all.request_intervals.pop())),
            (self.usage.first().map(Timed::ended_ns), |all| drop(all.usage.pop())),
            (self.user_stacks.first().map(Timed::ended_ns), |all| drop(all.user_stacks.pop())),
        ];
        rows.into_iter().filter_map(|(ended_ns, pop)| Some((ended_ns?, pop))).min_by_key(|(ended_ns, _)| *ended_ns)
    }
}

fn forget<Row: Size>(table: &mut Table<Named<Row>>, oldest: u64) {
    while table.first().is_some_and(|named| named.rotation < oldest) {
        table.pop();
    }
}

/// Whether a row is a slow operation, or the wait of one that lasts: other rows are parts of one.
fn is_slow(row: &StallRecord, slow_ns: u64) -> bool {
    let is_whole = matches!(
        row.kind,
        StallKind::SystemCall | StallKind::Asynchronous | StallKind::Blocked | StallKind::StillBlocked
    );
    is_whole && row.end_ns().saturating_sub(row.start_ns) >= slow_ns
}

/// Whether a thread has waited so long for an answer, a lock or room, not for something to do.
fn is_asked_for_long(row: &StallRecord, slow_ns: u64) -> bool {
    let is_asked = row.awaits.is_some_and(|awaits| awaits != Awaits::Message);
    is_asked && row.end_ns().saturating_sub(row.start_ns) >= slow_ns
}
