//! Builds each task's [`TaskTimeline`] from its rows.

use std::collections::HashMap;
use std::sync::Arc;

use model::stall::{RequestRecord, StallKind};

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::covered::{Covered, innermost};
use crate::blame::facts::known::{Free, KnownTime};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::lower_device::{Served, is_served, parts};
use crate::blame::graph::path::hands_over;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline};
use crate::blame::operations::Operation;
use crate::blame::operations::client_requests::received_ns;
use crate::blame::timeline::asynchronous::{self, fill};
use crate::blame::timeline::server_requests;
use crate::blame::timeline::short::{Shares, ShortShare};
use crate::blame::timeline::slot::{Did, Others, Slot};
use crate::blame::timeline::way::Way;
use crate::hashing::{FastMap, FastSet};

/// Segments of another operation that are searched for examples.
const EXAMPLES: usize = 256;

/// The timelines of tasks that were built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Built {
    /// By the rows of each task alone; `None` while it is being built.
    own: FastMap<u32, Option<Arc<TaskTimeline>>>,
    /// Tasks whose timeline that of another one needed. Only theirs are kept once the whole one is built: they are as
    /// large.
    needed: FastSet<u32>,
    /// The same, with what other tasks did where it waited for them.
    whole: FastMap<u32, Arc<TaskTimeline>>,
}

/// The timelines of all tasks, built on demand.
pub(crate) struct TaskTimelines<'a> {
    index: &'a RunIndex,
    /// Starts and ends of each task's operations, in which all of its waits are recorded.
    covered: &'a HashMap<u32, Vec<(u64, u64)>>,
    /// The moment after which rows of a task are missing, because its last wait did not end.
    silent: &'a HashMap<u32, u64>,
    built: Built,
    /// Those of asynchronous operations, by row.
    asynchronous: FastMap<u32, Arc<TaskTimeline>>,
}

impl<'a> TaskTimelines<'a> {
    pub(crate) fn new(
        index: &'a RunIndex,
        covered: &'a HashMap<u32, Vec<(u64, u64)>>,
        silent: &'a HashMap<u32, u64>,
    ) -> TaskTimelines<'a> {
        TaskTimelines { index, covered, silent, built: Built::default(), asynchronous: FastMap::default() }
    }

    /// With those that were built before from the same operations.
    pub(crate) fn with(self, built: Built) -> TaskTimelines<'a> {
        TaskTimelines { built, ..self }
    }

    /// Those of tasks. Those of asynchronous operations are many, and soon made again.
    pub(crate) fn into_built(self) -> Built {
        self.built
    }

    /// The timeline that an operation's time is taken from.
    pub(crate) fn of(&mut self, operation: &Operation) -> Arc<TaskTimeline> {
        match operation.asynchronous {
            Some(row) => self.of_asynchronous(row),
            None => self.get(operation.tid),
        }
    }

    fn of_asynchronous(&mut self, row: u32) -> Arc<TaskTimeline> {
        if let Some(built) = self.asynchronous.get(&row) {
            return built.clone();
        }
        let timeline = if self.index.row(row).kind == StallKind::ServerRequest {
            Arc::new(server_requests::timeline(self.index, row, |tid| self.own(tid)))
        } else {
            let worker = self.index.row(row).worker_tid.get().and_then(|worker| self.need(worker));
            let timeline = asynchronous::timeline(self.index, row, worker.as_deref());
            Arc::new(self.with_lower_requests(timeline, row))
        };
        self.asynchronous.insert(row, timeline.clone());
        timeline
    }

    /// The time of an asynchronous operation, in which its request at a loop device takes the causes of what is below
    /// it.
    fn with_lower_requests(&mut self, timeline: TaskTimeline, row: u32) -> TaskTimeline {
        let index = self.index;
        let Some(request) = index.request(index.row(row)).filter(|request| is_served(request)) else { return timeline };
        let mut segments = Vec::with_capacity(timeline.segments().len());
        for segment in timeline.segments() {
            let is_own = segment.cause == Cause::Device && segment.off == row;
            let parts = if is_own { parts(index, request, segment.start_ns, segment.end_ns) } else { Vec::new() };
            if parts.is_empty() {
                segments.push(*segment);
            }
            for part in parts {
                let piece = Segment { start_ns: part.from_ns, end_ns: part.to_ns, ..*segment };
                match part.by {
                    Served::Lower(cause, _) => segments.push(Segment { cause, ..piece }),
                    Served::Worker(worker) => {
                        let worker = self.need(index.row(worker).tid).unwrap_or_default();
                        fill(&worker, piece, &mut segments);
                    }
                    Served::Device => segments.push(piece),
                }
            }
        }
        TaskTimeline::new(segments)
    }

    /// The timeline of a task, from the first to the last moment of its rows and operations.
    pub(crate) fn get(&mut self, tid: u32) -> Arc<TaskTimeline> {
        if let Some(whole) = self.built.whole.get(&tid) {
            return whole.clone();
        }
        let own = self.build(tid).unwrap_or_default();
        if !own.segments().iter().any(|segment| hands_over(self.index, segment)) {
            self.built.whole.insert(tid, own.clone());
            return own;
        }
        let mut segments = Vec::with_capacity(own.segments().len());
        let mut way = Way::default();
        for segment in own.segments() {
            if hands_over(self.index, segment) {
                if !way.is_of(segment.off) {
                    way = Way::of(self.index, segment.off, |tid| self.own(tid));
                }
                let did = way.timeline.between(segment.start_ns, segment.end_ns);
                segments.extend(did.map(|did| Segment { off: segment.off, ..did }));
            } else {
                segments.push(*segment);
            }
        }
        let whole = Arc::new(TaskTimeline::new(segments));
        self.built.whole.insert(tid, whole.clone());
        // Built again from what it needed, which is kept, it would be the same.
        if !self.built.needed.contains(&tid) {
            self.built.own.remove(&tid);
        }
        whole
    }

    fn own(&mut self, tid: u32) -> Arc<TaskTimeline> {
        self.need(tid).unwrap_or_default()
    }

    /// For the timeline of another one.
    fn need(&mut self, tid: u32) -> Option<Arc<TaskTimeline>> {
        self.built.needed.insert(tid);
        self.build(tid)
    }

    /// `None` while it is being built: tasks may wait for each other's asynchronous operations and requests.
    fn build(&mut self, tid: u32) -> Option<Arc<TaskTimeline>> {
        if let Some(own) = self.built.own.get(&tid) {
            return own.clone();
        }
        self.built.own.insert(tid, None);
        let own = Arc::new(self.assemble(tid));
        self.built.own.insert(tid, Some(own.clone()));
        Some(own)
    }

    fn assemble(&mut self, tid: u32) -> TaskTimeline {
        let index = self.index;
        let of = |kind: StallKind| -> Vec<Covered> {
            let rows = index.rows_of(tid).filter(|(_, row)| row.kind == kind && !index.is_poll_of_stop(row));
            innermost(rows.map(|(at, row)| (row.start_ns, row.end_ns, at)).collect())
        };
        let spans = index.rows_of(tid).filter(|(_, row)| row.kind == StallKind::Span && row.announced.is_some());
        let spans = innermost(spans.map(|(at, row)| (row.start_ns, row.end_ns, at)).collect());
        let layers = [of(StallKind::OffCpu), spans, of(StallKind::Blocked)];
        let known = KnownTime::new(index.slice_of(tid), self.covered.get(&tid).map_or(&[], Vec::as_slice), &layers[0]);
        let borders = self.borders_of(tid, &layers, &known);
        let mut cursors = layers.each_ref().map(|layer| Cursor { layer, at: 0 });
        let (mut slots, mut others) = (Vec::with_capacity(borders.len()), Others::default());
        for pair in borders.windows(2) {
            let rows = cursors.each_mut().map(|cursor| cursor.row_at(pair[0]));
            slots.push(self.slot((pair[0], pair[1]), rows, &mut others));
        }
        let mut short = Shares::new(index, tid, &borders, &slots);
        let silent_ns = self.silent.get(&tid).copied().unwrap_or(u64::MAX);
        let mut segments = Vec::with_capacity(slots.len());
        for (at, slot) in slots.iter().enumerate() {
            let is_recorded = index.traced && borders[at] < silent_ns && !index.is_lossy(borders[at]);
            let free = if is_recorded { known.at(borders[at]) } else { Free::Unknown };
            lay_out((slot, &others), (borders[at], borders[at + 1]), short.of(at, slot), free, &mut segments);
        }
        TaskTimeline::new(segments)
    }

    /// All moments at which the state may change, in order.
    fn borders_of(&self, tid: u32, layers: &[Vec<Covered>; 3], known: &KnownTime) -> Vec<u64> {
        let index = self.index;
        let operations = self.covered.get(&tid).into_iter().flatten();
        let mut borders: Vec<u64> = operations.flat_map(|&(start_ns, end_ns)| [start_ns, end_ns]).collect();
        borders.extend(known.borders());
        borders.extend(layers.iter().flatten().flat_map(|&(start_ns, end_ns, _)| [start_ns, end_ns]));
        for &(start_ns, end_ns, row) in &layers[0] {
            let row = index.row(row);
            let moments = index.request(row).into_iter().flat_map(RequestRecord::moments);
            borders.extend(moments.chain([row.runnable_ns]).filter(|at| (start_ns..end_ns).contains(at)));
        }
        let is_sum = |row: &Row| {
            use StallKind::{ShortCpuWaits, ShortRequestWaits, ShortSleeps, ShortSpans};
            matches!(row.kind, ShortCpuWaits | ShortRequestWaits | ShortSleeps | ShortSpans)
        };
        let sums = index.rows_of(tid).filter(|(_, row)| is_sum(row));
        borders.extend(sums.flat_map(|(_, row)| [row.start_ns, row.end_ns]));
        borders.extend(index.rows_of(tid).filter_map(|(_, row)| received_ns(index, row)));
        borders.extend(self.silent.get(&tid));
        borders.sort_unstable();
        borders.dedup();
        self.lossy_borders(&mut borders);
        borders
    }

    fn lossy_borders(&self, borders: &mut Vec<u64>) {
        let (Some(&first), Some(&last)) = (borders.first(), borders.last()) else { return };
        let lossy = self.index.lossy.iter().flat_map(|&(from, to)| [from, to]);
        let before = borders.len();
        borders.extend(lossy.filter(|at| (first..last).contains(at)));
        if borders.len() > before {
            borders.sort_unstable();
            borders.dedup();
        }
    }

    fn slot(
        &mut self,
        (at_ns, to_ns): (u64, u64),
        [off, span, blocked]: [Option<u32>; 3],
        others: &mut Others,
    ) -> Slot {
        let index = self.index;
        let span = span.and_then(|row| Some((index.row(row).announced?.cause, row)));
        let Some(off) = off else {
            return match (span, blocked) {
                (Some((cause, row)), _) => Slot::OnCpuIn(cause, row),
                (None, Some(row)) => asleep(index, row, at_ns),
                (None, None) => Slot::Free,
            };
        };
        let row = index.row(off);
        if at_ns >= row.runnable_ns {
            return Slot::Is(row.runnable_cause(), Evidence::Event, off, NO_ROW);
        }
        if let Some((cause, by)) = span {
            return Slot::Is(cause, Evidence::Event, off, by);
        }
        let (cause, evidence) = index.asleep(row, at_ns);
        let other = match cause {
            Cause::IoWorker => self.awaited(row, at_ns, to_ns),
            Cause::Device => self.lower_requests(row, at_ns, to_ns),
            Cause::WritebackWait => self.written_back(row, at_ns, to_ns),
            _ => None,
        };
        other.map_or(Slot::Is(cause, evidence, off, NO_ROW), |did| others.put(off, did))
    }

    /// A wait for completions takes the causes of the operation that completes.
    fn awaited(&mut self, row: &Row, from_ns: u64, to_ns: u64) -> Option<Did> {
        let operation = asynchronous::awaited(self.index, row)?;
        let timeline = self.of_asynchronous(operation);
        let mut did = Did::default();
        timeline.times(from_ns, to_ns, &mut did.times);
        let rest_ns = (to_ns - from_ns) - did.total_ns();
        did.add(Cause::IoWorker, Evidence::Event, rest_ns);
        add_examples(&mut did, &timeline, from_ns, to_ns);
        Some(did)
    }

    /// A wait for a task that writes pages back, mostly the flusher, takes the causes of its waits. Its other time is
    /// that of writeback.
    fn written_back(&mut self, row: &Row, from_ns: u64, to_ns: u64) -> Option<Did> {
        let index = self.index;
        let is_for_task =
            index.stack(row.stack.get()).and_then(|stack| stack.rule).is_some_and(|rule| !rule.on_request);
        let timeline = self.need(index.waker(row).filter(|_| is_for_task)?)?;
        let mut did = Did::default();
        timeline.times(from_ns, to_ns, &mut did.times);
        did.times.retain(|time| time.0.is_wait());
        let rest_ns = (to_ns - from_ns) - did.total_ns();
        did.add(Cause::WritebackWait, Evidence::Stack, rest_ns);
        add_examples(&mut did, &timeline, from_ns, to_ns);
        Some(did)
    }

    /// Time of a request at a loop device takes the causes of what is below it.
    fn lower_requests(&mut self, row: &Row, from_ns: u64, to_ns: u64) -> Option<Did> {
        let index = self.index;
        let request = index.request(row).filter(|_| index.is_of_request(row, Cause::Device))?;
        let (mut did, mut times) = (Did::default(), Vec::new());
        let parts = parts(index, request, from_ns, to_ns);
        for part in &parts {
            let ns = part.to_ns - part.from_ns;
            let worker = match part.by {
                Served::Worker(worker) => self.need(index.row(worker).tid).map(|built| (worker, built)),
                Served::Lower(cause, _) => {
                    did.add(cause, Evidence::Event, ns);
                    continue;
                }
                Served::Device => None,
            };
            let Some((worker, timeline)) = worker else {
                did.add(Cause::Device, Evidence::Event, ns);
                continue;
            };
            timeline.times(part.from_ns, part.to_ns, &mut times);
            for (cause, evidence, ns) in times.drain(..) {
                did.add(cause, evidence, ns);
                did.add_example(cause, ns, worker);
            }
        }
        (!parts.is_empty()).then_some(did)
    }
}

/// A row for each cause in that time.
fn add_examples(did: &mut Did, timeline: &TaskTimeline, from_ns: u64, to_ns: u64) {
    for segment in timeline.between(from_ns, to_ns).take(EXAMPLES) {
        if let Some(example) = segment.row() {
            did.add_example(segment.cause, segment.ns(), example);
        }
    }
}

/// A task that polls saw asleep.
fn asleep(index: &RunIndex, row: u32, at_ns: u64) -> Slot {
    let (cause, evidence) = index.asleep(index.row(row), at_ns);
    Slot::Is(cause, evidence, row, NO_ROW)
}

/// A position in a layer that only advances.
struct Cursor<'a> {
    layer: &'a [Covered],
    at: usize,
}

impl Cursor<'_> {
    fn row_at(&mut self, at_ns: u64) -> Option<u32> {
        while self.layer.get(self.at).is_some_and(|&(_, end_ns, _)| end_ns <= at_ns) {
            self.at += 1;
        }
        self.layer.get(self.at).filter(|&&(start_ns, ..)| start_ns <= at_ns).map(|&(.., row)| row)
    }
}

/// Appends the segments of one piece. Causes that share the piece follow one another: only their lengths are
/// meaningful.
fn lay_out(
    (slot, others): (&Slot, &Others),
    (from_ns, to_ns): (u64, u64),
    short: &[ShortShare],
    free: Free,
    segments: &mut Vec<Segment>,
) {
    let mut now_ns = from_ns;
    let mut put = |ns: u64, cause, evidence, off, by| {
        let end_ns = now_ns.saturating_add(ns).min(to_ns);
        if end_ns > now_ns {
            segments.push(Segment { start_ns: now_ns, end_ns, cause, evidence, off, by, ran: 0, via: None });
            now_ns = end_ns;
        }
    };
    let whole_ns = to_ns - from_ns;
    for share in short {
        let ns = ((u128::from(whole_ns) * u128::from(share.part) + (1 << 31)) >> 32) as u64;
        put(ns, share.cause, share.evidence, NO_ROW, share.row);
    }
    match slot {
        Slot::Is(cause, evidence, off, by) => put(whole_ns, *cause, *evidence, *off, *by),
        Slot::Others(off, range) => {
            for &((cause, evidence, ns), example) in others.of(range) {
                put(ns, cause, evidence, *off, example);
            }
        }
        Slot::OnCpuIn(cause, row) => put(whole_ns, *cause, Evidence::Event, NO_ROW, *row),
        Slot::Free => {
            let running_ns = match free {
                Free::Running => whole_ns,
                Free::Part(part) => ((u128::from(whole_ns) * u128::from(part)) >> 32) as u64,
                Free::Unknown => 0,
            };
            put(running_ns, Cause::Running, Evidence::Event, NO_ROW, NO_ROW);
            put(whole_ns, Cause::Unexplained, Evidence::None, NO_ROW, NO_ROW);
        }
    }
}
