//! A run's rows, indexed: by task, with stacks and requests.

use std::collections::HashMap;
use std::ops::Range;

use model::signal::SignalMeaning;
use model::stall::{RequestRecord, StallKind};

use super::cause::{Cause, Evidence};
use super::names::Names;
use super::request;
use super::rows::Row;
use super::stacks::{Stack, Stacks};
use super::tasks::Tasks;

/// The rows of a run and what they refer to.
#[derive(Debug, Default)]
pub(super) struct RunIndex {
    pub(super) names: Names,
    pub(super) tasks: Tasks,
    pub(super) stacks: Stacks,
    /// Requests that rows name; `None` until they are added.
    pub(super) requests: HashMap<u32, Option<Box<RequestRecord>>>,
    /// Ordered by task and start.
    pub(super) rows: Vec<Row>,
    /// For each row, its main cause, and the latest end of this and earlier rows of its task. Chains read both very often.
    causes: Vec<Cause>,
    latest_ends_ns: Vec<u64>,
    by_task: HashMap<u32, Range<usize>>,
    /// Times in which the tracer lost rows; ordered and disjoint.
    pub(super) lossy: Vec<(u64, u64)>,
    /// Context switches were traced.
    pub(super) traced: bool,
}

impl RunIndex {
    pub(super) fn new(traced: bool) -> RunIndex {
        RunIndex { traced, ..RunIndex::default() }
    }

    /// Call after the last row.
    pub(super) fn sort(&mut self) {
        self.drop_partial_rows();
        // Also by end and kind: the result does not depend on the order of arrival.
        self.rows.sort_by_key(|row| (row.tid, row.start_ns, row.end_ns, row.kind.name()));
        self.tasks.sort();
        let mut from = 0;
        for rows in self.rows.chunk_by(|a, b| a.tid == b.tid) {
            self.by_task.insert(rows[0].tid, from..from + rows.len());
            from += rows.len();
            let latest_end_ns = |latest_ns: &mut u64, row: &Row| {
                *latest_ns = row.end_ns.max(*latest_ns);
                Some(*latest_ns)
            };
            self.latest_ends_ns.extend(rows.iter().scan(0, latest_end_ns));
        }
        self.causes = self.rows.iter().map(|row| self.find_main_cause(row)).collect();
    }

    /// A wait reported several times while it lasts is one wait: its longest row covers it.
    fn drop_partial_rows(&mut self) {
        let mut ends: HashMap<(u32, u64), u64> = HashMap::new();
        for row in self.rows.iter().filter(|row| row.kind == StallKind::Blocked) {
            let end_ns = ends.entry((row.tid, row.start_ns)).or_default();
            *end_ns = row.end_ns.max(*end_ns);
        }
        self.rows.retain(|row| {
            row.kind != StallKind::Blocked
                || ends.get_mut(&(row.tid, row.start_ns)).is_some_and(|end_ns| {
                    let whole = *end_ns == row.end_ns;
                    // Keep one of several equal rows.
                    *end_ns = if whole { 0 } else { *end_ns };
                    whole
                })
        });
    }

    /// A task's rows with their numbers, by start.
    pub(super) fn rows_of(&self, tid: u32) -> impl DoubleEndedIterator<Item = (u32, &Row)> {
        let range = self.by_task.get(&tid).cloned().unwrap_or_default();
        self.rows[range.clone()].iter().enumerate().map(move |(at, row)| ((range.start + at) as u32, row))
    }

    /// A task's rows that began before `to_ns`, the latest first, until no remaining row ends after `from_ns`.
    pub(super) fn rows_between(&self, tid: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (u32, &Row)> {
        let range = self.by_task.get(&tid).cloned().unwrap_or_default();
        let end = range.start + self.rows[range.clone()].partition_point(|row| row.start_ns < to_ns);
        let rows = (range.start..end).rev().take_while(move |&at| self.latest_ends_ns[at] > from_ns);
        rows.map(|at| (at as u32, &self.rows[at]))
    }

    pub(super) fn row(&self, row: u32) -> &Row {
        &self.rows[row as usize]
    }

    pub(super) fn stack(&self, stack: Option<u32>) -> Option<&Stack> {
        self.stacks.get(&stack?)
    }

    pub(super) fn request(&self, row: &Row) -> Option<&RequestRecord> {
        self.requests.get(&row.request?)?.as_deref()
    }

    /// The announcement of a wait, unless the stack belongs to another wait: an announced wait need not happen.
    pub(super) fn announced(&self, row: &Row) -> Option<&'static SignalMeaning> {
        let agrees = |announced: &&SignalMeaning| {
            row.kind != StallKind::OffCpu || self.stack(row.stack).is_none_or(|stack| stack.agrees_with(announced))
        };
        row.announced.filter(agrees)
    }

    /// Whether time of that cause is a stage in the lifecycle of the request that ended the row.
    pub(super) fn is_of_request(&self, row: &Row, cause: Cause) -> bool {
        let rule = self.stack(row.stack).and_then(|stack| stack.rule);
        let announced = self.announced(row);
        matches!(cause, Cause::Device | Cause::SchedulerQueue | Cause::IoThrottle | Cause::RequestWait)
            && rule.is_none_or(|rule| rule.on_request)
            && announced.is_none_or(|announced| announced.on_request)
    }

    /// The cause of most of a row's time.
    pub(super) fn main_cause(&self, row: u32) -> Cause {
        self.causes[row as usize]
    }

    fn find_main_cause(&self, row: &Row) -> Cause {
        if let (StallKind::Span, Some(announced)) = (row.kind, row.announced) {
            return announced.cause;
        }
        let mut borders = vec![row.start_ns, row.runnable_ns];
        let moments = self.request(row).into_iter().flat_map(RequestRecord::moments);
        borders.extend(moments.filter(|at| (row.start_ns..row.runnable_ns).contains(at)));
        borders.sort_unstable();
        let stages = borders.windows(2).map(|pair| (pair[1] - pair[0], self.asleep(row, pair[0]).0));
        let runnable = (row.end_ns - row.runnable_ns, Cause::CpuWait);
        stages.chain([runnable]).max_by_key(|stage| stage.0).map_or(Cause::Unexplained, |stage| stage.1)
    }

    /// Why a task slept at a moment of an off-CPU row that no span covers.
    pub(super) fn asleep(&self, row: &Row, at_ns: u64) -> (Cause, Evidence) {
        let stack = self.stack(row.stack);
        let rule = stack.and_then(|stack| stack.rule);
        if row.stopped {
            return (Cause::Unexplained, Evidence::None);
        }
        let announced = self.announced(row);
        if let Some(announced) = announced.filter(|announced| !announced.on_request) {
            let frozen = rule.is_some_and(|rule| rule.cause == Cause::Frozen);
            let cause = if announced.cause == Cause::Lock && frozen { Cause::Frozen } else { announced.cause };
            return (cause, Evidence::Event);
        }
        if let Some(rule) = rule.filter(|rule| !rule.on_request) {
            return (rule.cause, Evidence::Stack);
        }
        match self.request(row) {
            Some(request) => {
                if let Some(cause) = request::cause_at(request, at_ns) {
                    return (cause, Evidence::Event);
                }
            }
            None if row.request.is_some() => return (Cause::Device, Evidence::Event),
            None => {}
        }
        match (announced, rule) {
            (Some(announced), _) => (announced.cause, Evidence::Event),
            (None, Some(rule)) => (rule.cause, Evidence::Stack),
            (None, None) => (Cause::Unexplained, Evidence::None),
        }
    }

    /// The cause of a sum of short waits; `None` for other rows.
    pub(super) fn short(&self, row: &Row) -> Option<(Cause, Evidence)> {
        match row.kind {
            StallKind::ShortCpuWaits => Some((Cause::CpuWait, Evidence::Correlation)),
            StallKind::ShortSpans => Some((row.announced?.cause, Evidence::Correlation)),
            StallKind::ShortSleeps | StallKind::ShortRequestWaits => {
                // The request is the last of many. Its longest stage stands for all of them.
                match self.request(row).map(request::main_cause) {
                    Some(cause) => Some((cause, Evidence::Correlation)),
                    None if row.kind == StallKind::ShortRequestWaits => Some((Cause::Device, Evidence::Correlation)),
                    None => match self.asleep(row, row.end_ns) {
                        (cause, Evidence::None) => Some((cause, Evidence::None)),
                        (cause, _) => Some((cause, Evidence::Correlation)),
                    },
                }
            }
            _ => None,
        }
    }

    /// Whether the tracer lost rows at a moment.
    pub(super) fn is_lossy(&self, at_ns: u64) -> bool {
        let after = self.lossy.partition_point(|&(_, end_ns)| end_ns <= at_ns);
        self.lossy.get(after).is_some_and(|&(start_ns, _)| start_ns <= at_ns)
    }
}
