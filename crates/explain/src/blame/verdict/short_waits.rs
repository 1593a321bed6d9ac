//! Waits of the recorded command, or of tasks that are asked about, that are shorter than a slow operation, and that no
//! operation holds. Each of them is harmless; thousands may be all that a program does.

pub(crate) mod of_process;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use model::stall::{Awaits, StallKind};

use crate::blame::culprits::RootBlockers;
use crate::blame::facts::cause::{Cause, CauseTime, Evidence, EvidenceTimes};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::operations::run_queue_waits::PREEMPTED;
use crate::blame::operations::{Operation, PAGE_FAULT, of_row};
use crate::blame::timeline::idleness::drop_idle;
use crate::blame::timeline::timelines::{Built, TaskTimelines};
use crate::blame::verdict::explanation::{Explanation, Part, ShortWaits};
use crate::blame::verdict::part::{Accounted, part};
use crate::hashing::FastSet;

impl Explanation {
    /// The part that shorter waits have of the time in which the recorded command did not idle, 0 to 1.
    pub fn share_of_short_waits(&self) -> f64 {
        let waits = &self.short_waits;
        let slow_ns = self.command.as_ref().map_or(0, |command| command.wall_ns);
        let all_ns = waits.time_ns.saturating_add(waits.running_ns).saturating_add(slow_ns);
        waits.time_ns as f64 / all_ns.max(1) as f64
    }

    /// Whether the recorded command lost much to shorter waits: together as much as a slow operation, and an eighth of
    /// its time. Of other tasks that are asked about they matter where nothing else was slow.
    pub fn short_waits_matter(&self) -> bool {
        let time_ns = self.short_waits.time_ns;
        let is_asked = self.scoped.is_none() || self.slow_operations == 0;
        is_asked && time_ns > 0 && time_ns >= self.slower_than_ns && self.share_of_short_waits() >= 0.125
    }

    /// Whether they cost it far more than its slow operations, which a remedy is sought for else.
    pub fn short_waits_cost_most(&self) -> bool {
        let slow_ns = self.command.as_ref().map_or(0, |command| command.wall_ns);
        self.short_waits_matter() && self.short_waits.time_ns / 2 > slow_ns
    }
}

/// Which waits are meant.
pub(crate) struct Chosen<'a> {
    /// From this length on waits are recorded individually.
    pub(crate) interval_ns: u64,
    pub(crate) slower_than_ns: u64,
    pub(crate) window_ns: (u64, u64),
    /// Of these tasks.
    pub(crate) tids: FastSet<u32>,
    /// Also those of tasks of which not all waits are recorded: they are asked about.
    pub(crate) is_asked: bool,
    /// Times of the operations.
    pub(crate) busy: &'a BusyTimes,
}

impl Chosen<'_> {
    fn is_free(&self, tid: u32, start_ns: u64, end_ns: u64) -> bool {
        let (from_ns, to_ns) = self.window_ns;
        start_ns >= from_ns && end_ns <= to_ns && !self.busy.overlaps(tid, start_ns, end_ns)
    }

    /// Shorter rows say of wakers that they were awake.
    fn is_short(&self, row: &Row) -> bool {
        (self.interval_ns..self.slower_than_ns).contains(&(row.end_ns - row.start_ns))
    }

    fn has(&self, row: &Row) -> bool {
        (row.watched || self.is_asked) && self.tids.contains(&row.tid) && self.is_one(row)
    }

    fn is_one(&self, row: &Row) -> bool {
        row.kind == StallKind::OffCpu
            && !row.is_stopped()
            && self.is_short(row)
            && self.is_free(row.tid, row.start_ns, row.end_ns)
    }

    /// Whether it is a short wait of any task, which perhaps did not idle in it.
    pub(crate) fn may_have(&self, index: &RunIndex, row: &Row) -> bool {
        self.is_one(row) && is_known(index, row)
    }
}

/// What is known so far of the tasks.
pub(crate) struct SoFar<'a> {
    /// Starts and ends of each task's operations.
    pub(crate) covered: &'a HashMap<u32, Vec<(u64, u64)>>,
    /// Timelines by rows alone.
    pub(crate) by_rows: Built,
}

/// Sums up the waits of all chosen tasks. With those of them that are recorded individually, ordered by start, and the
/// timelines of all tasks, as if none fell silent.
pub(crate) fn short_waits(
    index: &mut RunIndex,
    chosen: &Chosen<'_>,
    so_far: SoFar<'_>,
    disks: &Disks,
) -> (ShortWaits, Vec<Operation>, Built) {
    let (preempted, page_fault) = (index.names.insert(PREEMPTED), index.names.insert(PAGE_FAULT));
    let index = &*index;
    let rows: Vec<&Row> = index.rows.iter().filter(|row| chosen.has(row)).collect();
    let faults = |row: &Row| index.stack(row.stack.get()).is_some_and(|stack| stack.faults);
    let unnamed = |row: &Row| if faults(row) { page_fault } else { preempted };
    let of_row = |row: &Row| Operation { awaits: index.awaits(row), ..of_row(row, unnamed(row)) };
    let waits = rows.iter().filter(|row| is_known(index, row)).map(|row| of_row(row));
    // Like a slow one, a wait for room is never idle, whatever the reader does.
    let (for_room, mut waits): (Vec<Operation>, Vec<Operation>) =
        waits.partition(|wait| wait.awaits == Some(Awaits::Room) && wait.is_of_subject(index));
    drop_idle(index, &mut waits, so_far.by_rows);
    waits.extend(for_room);
    // Sums that exceed the range of a clock come from damaged rows.
    let mut wall_ns: u64 = 0;
    waits.retain(|wait| wall_ns.checked_add(wait.ns()).map(|sum_ns| wall_ns = sum_ns).is_some());
    let silent = HashMap::new();
    let mut timelines = TaskTimelines::new(index, so_far.covered, &silent);
    let blockers = RootBlockers::new(index, &waits, &mut timelines, disks);
    let part = part(index, &Accounted::new(&waits, &mut timelines), |_| true, blockers.of(|_| true));
    let longest_ns = waits.iter().map(Operation::ns).max().unwrap_or(0);
    let shortest_ns = waits.iter().map(Operation::ns).min().unwrap_or(0);
    let slept_ns: u64 = rows.iter().map(|row| row.end_ns - row.start_ns).fold(0, u64::saturating_add);
    let unknown = (rows.len() - waits.len()) as u64;
    let unknown_ns = slept_ns.saturating_sub(wall_ns);
    let mut sums = Sums { ns: wall_ns, unknown, unknown_ns, ..Sums::default() };
    for &tid in &chosen.tids {
        sums.add_task(index, chosen, tid, timelines.get(tid).segments());
    }
    waits.sort_by_key(|wait| (wait.start_ns, wait.end_ns, wait.tid));
    (sums.into_short_waits(part, (shortest_ns, longest_ns)), waits, timelines.into_built())
}

/// Whether it is known that a task did not idle in a row.
fn is_known(index: &RunIndex, row: &Row) -> bool {
    match index.awaits(row) {
        // The child's own waits count.
        Some(Awaits::Child) => false,
        Some(awaits) => awaits.is_asked(),
        None if index.awaits_task(row) => row.runnable_ns == row.start_ns,
        None => {
            !row.interruptible || row.runnable_ns == row.start_ns || index.asleep(row, row.start_ns).1 != Evidence::None
        }
    }
}

/// Of the waits that are not recorded individually.
#[derive(Debug, Default)]
struct Sums {
    seen: FastSet<u32>,
    count: u64,
    /// With those that are.
    ns: u64,
    running_ns: u64,
    unknown: u64,
    unknown_ns: u64,
    causes: BTreeMap<Cause, (u64, EvidenceTimes)>,
}

impl Sums {
    fn add_task(&mut self, index: &RunIndex, chosen: &Chosen<'_>, tid: u32, segments: &[Segment]) {
        for segment in segments.iter().filter(|segment| segment.off == NO_ROW) {
            if !chosen.is_free(tid, segment.start_ns, segment.end_ns) {
                continue;
            }
            match segment.row().map(|by| (by, index.row(by))) {
                None if segment.cause == Cause::Running => {
                    self.running_ns = self.running_ns.saturating_add(segment.ns());
                }
                Some((by, row)) if row.kind != StallKind::Span || chosen.is_short(row) => self.add(by, row, segment),
                _ => {}
            }
        }
    }

    fn add(&mut self, by: u32, row: &Row, segment: &Segment) {
        let count = if self.seen.insert(by) { u64::from(row.count) } else { 0 };
        if segment.cause == Cause::Unexplained {
            self.unknown = self.unknown.saturating_add(count);
            self.unknown_ns = self.unknown_ns.saturating_add(segment.ns());
            return;
        }
        let Some(ns) = self.ns.checked_add(segment.ns()) else { return };
        self.ns = ns;
        self.count = self.count.saturating_add(count);
        let (waits, times) = self.causes.entry(segment.cause).or_default();
        *waits = waits.saturating_add(count.max(u64::from(*waits == 0)));
        times.add(segment.evidence, segment.ns());
    }

    /// With those that are recorded individually.
    fn into_short_waits(self, part: Part, (shortest_ns, longest_ns): (u64, u64)) -> ShortWaits {
        let mut causes = self.causes;
        let mut most_of: BTreeMap<Cause, u64> = BTreeMap::new();
        for time in &part.causes {
            let (waits, times) = causes.entry(time.cause).or_default();
            *waits = waits.saturating_add(time.operations);
            Evidence::ALL.into_iter().for_each(|evidence| times.add(evidence, time.evidence.of(evidence)));
            most_of.insert(time.cause, time.most_of);
        }
        let mut causes: Vec<CauseTime> = causes
            .into_iter()
            .map(|(cause, (operations, evidence))| CauseTime {
                cause,
                time_ns: evidence.total_ns(),
                operations,
                most_of: most_of.get(&cause).copied().unwrap_or(0),
                evidence,
                again: EvidenceTimes::default(),
            })
            .collect();
        causes.sort_by_key(|time| Reverse(time.time_ns));
        ShortWaits {
            count: part.operations + self.count,
            time_ns: self.ns,
            recorded: part.operations,
            shortest_ns,
            longest_ns,
            running_ns: self.running_ns,
            causes,
            calls: part.classes,
            culprits: part.culprits,
            unknown: self.unknown,
            unknown_ns: self.unknown_ns,
        }
    }
}
