//! Builds each task's [`TaskTimeline`] from its rows.

use std::collections::HashMap;
use std::rc::Rc;

use model::stall::{RequestRecord, StallKind};

use super::cause::{Cause, Evidence};
use super::rows::Row;
use super::run_index::RunIndex;
use super::short::{ShortShare, shares};
use super::slot::Slot;
use super::timeline::{Covered, NO_ROW, Segment, TaskTimeline, innermost};

/// Depth to which waits for threads that wait for threads are followed.
const DEPTH: usize = 8;
/// Segments of the other thread that are searched for examples.
const EXAMPLES: usize = 256;

/// The timelines of all tasks, built on demand.
pub(super) struct TaskTimelines<'a> {
    index: &'a RunIndex,
    /// Starts and ends of each task's operations.
    borders: HashMap<u32, Vec<u64>>,
    /// The moment after which rows of a task are missing, because its last wait did not end.
    silent: HashMap<u32, u64>,
    /// `None` while a timeline is being built.
    built: HashMap<u32, Option<Rc<TaskTimeline>>>,
}

impl<'a> TaskTimelines<'a> {
    pub(super) fn new(
        index: &'a RunIndex,
        borders: HashMap<u32, Vec<u64>>,
        silent: HashMap<u32, u64>,
    ) -> TaskTimelines<'a> {
        TaskTimelines { index, borders, silent, built: HashMap::new() }
    }

    /// The timeline of a task, from the first to the last moment of its rows and operations.
    pub(super) fn get(&mut self, tid: u32) -> Rc<TaskTimeline> {
        self.build(tid, 0).unwrap_or_default()
    }

    /// `None` while it is being built: the task waits for itself through others.
    fn build(&mut self, tid: u32, depth: usize) -> Option<Rc<TaskTimeline>> {
        if let Some(built) = self.built.get(&tid) {
            return built.clone();
        }
        self.built.insert(tid, None);
        let timeline = Rc::new(self.assemble(tid, depth));
        self.built.insert(tid, Some(timeline.clone()));
        Some(timeline)
    }

    fn assemble(&mut self, tid: u32, depth: usize) -> TaskTimeline {
        let index = self.index;
        let of = |kind: StallKind| -> Vec<Covered> {
            let rows = index.rows_of(tid).filter(|(_, row)| row.kind == kind);
            innermost(rows.map(|(at, row)| (row.start_ns, row.end_ns, at)).collect())
        };
        let spans = index.rows_of(tid).filter(|(_, row)| row.kind == StallKind::Span && row.announced.is_some());
        let spans = innermost(spans.map(|(at, row)| (row.start_ns, row.end_ns, at)).collect());
        let layers = [of(StallKind::OffCpu), spans, of(StallKind::Blocked)];
        let borders = self.borders_of(tid, &layers);
        let mut cursors = layers.each_ref().map(|layer| Cursor { layer, at: 0 });
        let mut slots = Vec::with_capacity(borders.len());
        for pair in borders.windows(2) {
            let [off, span, blocked] = cursors.each_mut().map(|cursor| cursor.row_at(pair[0]));
            slots.push(self.slot(pair[0], pair[1], off, span, blocked, depth));
        }
        let short = shares(index, tid, &borders, &slots);
        let silent_ns = self.silent.get(&tid).copied().unwrap_or(u64::MAX);
        let mut segments = Vec::with_capacity(slots.len());
        for (at, slot) in slots.iter().enumerate() {
            let free = index.traced && borders[at] < silent_ns && !index.is_lossy(borders[at]);
            lay_out(slot, borders[at], borders[at + 1], &short[at], free, &mut segments);
        }
        TaskTimeline::new(segments)
    }

    /// All moments at which the state may change, in order.
    fn borders_of(&self, tid: u32, layers: &[Vec<Covered>; 3]) -> Vec<u64> {
        let index = self.index;
        let mut borders = self.borders.get(&tid).cloned().unwrap_or_default();
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
        at_ns: u64,
        to_ns: u64,
        off: Option<u32>,
        span: Option<u32>,
        blocked: Option<u32>,
        depth: usize,
    ) -> Slot {
        let index = self.index;
        let span = span.and_then(|row| Some((index.row(row).announced?.cause, row)));
        let Some(off) = off else {
            return match (span, blocked) {
                (Some((cause, row)), _) => Slot::OnCpuIn(cause, row),
                (None, Some(row)) => {
                    let (cause, evidence) = index.asleep(index.row(row), at_ns);
                    Slot::Is(cause, evidence, row, NO_ROW)
                }
                (None, None) => Slot::Free,
            };
        };
        let row = index.row(off);
        if at_ns >= row.runnable_ns {
            return Slot::Is(Cause::CpuWait, Evidence::Event, off, NO_ROW);
        }
        if let Some((cause, by)) = span {
            return Slot::Is(cause, Evidence::Event, off, by);
        }
        if index.stack(row.stack).is_some_and(|stack| stack.on_thread)
            && let Some(slot) = self.others(row, off, at_ns, to_ns, depth)
        {
            return slot;
        }
        let (cause, evidence) = index.asleep(row, at_ns);
        Slot::Is(cause, evidence, off, NO_ROW)
    }

    /// A sleep until another thread releases it takes the causes of that thread during the sleep.
    fn others(&mut self, row: &Row, off: u32, from_ns: u64, to_ns: u64, depth: usize) -> Option<Slot> {
        let index = self.index;
        let by_interrupt = index.stack(row.waker_stack).is_some_and(|stack| stack.interrupt);
        let waker = row.waker_tid.filter(|&tid| tid != 0 && tid != row.tid && !by_interrupt && depth < DEPTH)?;
        let timeline = self.build(waker, depth + 1)?;
        let mut sums = timeline.sums(from_ns, to_ns);
        let beyond_ns = (to_ns - from_ns) - sums.total_ns();
        if index.traced {
            sums.add(Cause::Running, Evidence::Event, beyond_ns);
        } else {
            sums.add(Cause::Unexplained, Evidence::None, beyond_ns);
        }
        let mut examples: HashMap<Cause, (u64, u32)> = HashMap::new();
        for segment in timeline.between(from_ns, to_ns).take(EXAMPLES) {
            let Some(example) = segment.row() else { continue };
            let longest = examples.entry(segment.cause).or_default();
            *longest = (*longest).max((segment.ns(), example));
        }
        Some(Slot::Others(Box::new(sums), off, examples.into_iter().map(|(cause, (_, row))| (cause, row)).collect()))
    }
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

/// Appends the segments of one piece. Causes that share the piece follow one another: only their lengths are meaningful.
fn lay_out(slot: &Slot, from_ns: u64, to_ns: u64, short: &[ShortShare], traced: bool, segments: &mut Vec<Segment>) {
    let mut now_ns = from_ns;
    let mut put = |ns: u64, cause, evidence, off, by| {
        let end_ns = now_ns.saturating_add(ns).min(to_ns);
        if end_ns > now_ns {
            segments.push(Segment { start_ns: now_ns, end_ns, cause, evidence, off, by });
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
        Slot::Others(sums, off, examples) => {
            for (cause, evidence, ns) in sums.parts() {
                put(ns, cause, evidence, *off, examples.get(&cause).copied().unwrap_or(NO_ROW));
            }
        }
        Slot::OnCpuIn(cause, row) => put(whole_ns, *cause, Evidence::Event, NO_ROW, *row),
        Slot::Free if traced => put(whole_ns, Cause::Running, Evidence::Event, NO_ROW, NO_ROW),
        Slot::Free => put(whole_ns, Cause::Unexplained, Evidence::None, NO_ROW, NO_ROW),
    }
}
