//! Collects a run's rows and explains its slow operations.

use std::collections::HashMap;

use model::damage::Damage;
use model::event::RunEvent;
use model::operation::{IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{Awaits, RequestRecord, StackRecord, StallRecord, TaskRecord};
use model::usage::UsageRecord;
use model::user_stack::{UserFrameRecord, UserStackRecord};

use crate::blame::facts::losses::LossLog;
use crate::blame::facts::phases::Phases;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::scope::Scope;
use crate::blame::facts::stacks::Stack;
use crate::blame::facts::steal::Steal;
use crate::blame::facts::storage::dirty_limit;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::storage::io_limits;
use crate::blame::facts::storage::mappers::Mappers;
use crate::blame::facts::storage::memory_limits::MemoryLimits;
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::operations::client_requests::{CLIENT_REQUEST, client_requests, drop_parts};
use crate::blame::operations::run_queue_waits::run_queue_waits;
use crate::blame::operations::server_requests::{SERVER_REQUEST, drop_repeated, server_requests};
use crate::blame::operations::unfinished::silent;
use crate::blame::operations::{Operation, OwnOperations, all};
use crate::blame::timeline::children::drop_listed;
use crate::blame::timeline::idleness::drop_idle_but_equal;
use crate::blame::timeline::timelines::{Built, TaskTimelines};
use crate::blame::verdict::accounting::Accounting;
use crate::blame::verdict::conclude::conclude;
use crate::blame::verdict::explanation::Explanation;
use crate::blame::verdict::in_scope;
use crate::blame::verdict::short_waits::of_process::{InOperations, most_short_waits};
use crate::blame::verdict::short_waits::{Chosen, SoFar, short_waits};
use crate::blame::verdict::sleeps::sleeps;
use crate::blame::verdict::totals::{explain, refuse_overflow};
use crate::blame::verdict::untraced::{hides_disk, traces_switches, untraced};
use crate::series::SeriesSet;

/// A request comes at most this many rows before the one above it.
const LOWER_WITHIN: usize = 1024;

/// Collects the rows of a run, in any order with one exception: [`Blame::requests`] keeps only the requests that rows
/// added to [`Blame::stalls`] before name.
#[derive(Debug)]
pub struct Blame {
    index: RunIndex,
    own: OwnOperations,
    phases: Phases,
    log: LossLog,
    untraced: Vec<model::preflight::Untraced>,
    disks: Disks,
    explanation: Explanation,
    damaged: u64,
    sample_interval_ns: u64,
    /// The requests added last.
    last_requests: Vec<RequestRecord>,
    /// Classes whose operations consist of operations of other classes.
    wholes: Vec<String>,
    /// The time in which operations are explained.
    window_ns: (u64, u64),
    /// Operations described individually.
    listed: usize,
    scope: Scope,
}

/// Operations described individually, unless [`Blame::listing`] says otherwise.
const LISTED: usize = 200;
/// The most that are: each takes some KiB.
const MOST_LISTED: usize = 100_000;

impl Blame {
    /// Explains operations of at least `slower_than_ns`; `None`: those that the run recorded. A lower value than the
    /// run's threshold is raised to it and noted in [`Explanation::asked_for_ns`].
    pub fn new(slower_than_ns: Option<u64>, run: &RunDescription) -> Blame {
        let kept_ns = run.slower_than_ns.max(1);
        let wanted_ns = slower_than_ns.unwrap_or(kept_ns);
        let mut index = RunIndex::new(traces_switches(run), Mappers::new(&run.mounts, &run.devices));
        let untraced = run.untraced();
        index.hides_disk = run.trace.is_some() && hides_disk(&untraced);
        Blame {
            index,
            untraced,
            own: OwnOperations::default(),
            phases: Phases::default(),
            log: LossLog::new(&run.preflight),
            disks: Disks::new(&run.mounts, &run.devices),
            explanation: Explanation {
                simulated: run.origin(),
                slower_than_ns: wanted_ns.max(kept_ns),
                asked_for_ns: Some(wanted_ns).filter(|&wanted_ns| wanted_ns < kept_ns),
                trace: run.trace.clone(),
                followed: run.followed.clone(),
                ..Explanation::default()
            },
            damaged: 0,
            last_requests: Vec::new(),
            sample_interval_ns: run.sample_interval_ns,
            wholes: run.recipe.as_ref().map_or_else(Vec::new, |recipe| recipe.wholes.clone()),
            window_ns: (0, u64::MAX),
            listed: LISTED,
            scope: Scope::default(),
        }
    }

    /// Explains only the operations in scope.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Blame {
        Blame { scope, ..self }
    }

    /// Explains only the part of each operation within this time. Rows that overlap the time suffice.
    #[must_use]
    pub fn within(self, from_ns: u64, to_ns: u64) -> Blame {
        Blame { window_ns: (from_ns, to_ns), ..self }
    }

    /// Leaves out a rule, by its id, to see what rests on it.
    #[must_use]
    pub fn without(mut self, rule: &'static str) -> Blame {
        self.index.without = Some(rule);
        self
    }

    /// Describes the `count` longest operations individually, as far as memory is bounded.
    #[must_use]
    pub fn listing(self, count: usize) -> Blame {
        Blame { listed: count.min(MOST_LISTED), ..self }
    }

    /// Adds what of the run's archive is damaged: evidence that is lost explains nothing.
    pub fn damage(&mut self, damage: &[Damage]) {
        damage.iter().for_each(|damage| self.log.damage(damage));
        self.index.lacks_requests |= damage.iter().any(|damage| damage.may_lack("requests"));
    }

    /// Adds rows of the table `stalls`.
    pub fn stalls(&mut self, records: &[StallRecord]) {
        for record in records {
            self.damaged += u64::from(!self.index.insert(record));
        }
    }

    /// Adds rows of the table `operations`.
    pub fn operations(&mut self, records: &[OperationRecord]) {
        for record in records {
            let slow_or_stuck =
                record.kind != OperationKind::Failed || record.duration_ns >= self.explanation.slower_than_ns;
            if slow_or_stuck && !self.wholes.contains(&record.class) && !self.own.insert(record, &mut self.index.names)
            {
                self.damaged += 1;
            }
        }
    }

    /// Adds rows of the table `intervals`, after the events: they give the number of operations and the slowest.
    pub fn intervals(&mut self, records: &[IntervalRecord]) {
        for record in records {
            if self.wholes.contains(&record.class) {
                continue;
            }
            let counts = self.phases.interval(record);
            if let Some(max_ns) = record.max_ns.filter(|_| counts) {
                self.slowest(&record.class, max_ns);
            }
        }
    }

    fn slowest(&mut self, class: &str, ns: u64) {
        if self.explanation.slowest.as_ref().is_none_or(|(_, slowest_ns)| *slowest_ns < ns) {
            self.explanation.slowest = Some((class.to_owned(), ns));
        }
    }

    /// Adds rows of the table `tasks`.
    pub fn tasks(&mut self, records: &[TaskRecord]) {
        for record in records {
            self.index.tasks.insert(record, &mut self.index.names);
        }
    }

    /// Adds the counters [`crate::blame::STEAL`].
    pub fn steal(&mut self, series: &SeriesSet) {
        self.index.steal = Steal::of(series);
    }

    /// Adds the counters of limits of cgroups and of dirty pages ([`crate::blame::is_of_limits`]). A page has so many
    /// bytes.
    pub fn limits(&mut self, series: &SeriesSet, page_bytes: u64) {
        self.index.memory = MemoryLimits::of(series, page_bytes);
        self.index.dirty_limit_bytes = dirty_limit::limit_bytes(series, page_bytes);
        (self.index.io_limits, self.index.idle_disks) = (io_limits::of(series), io_limits::idle(series));
    }

    /// Adds rows of the table `usage`.
    pub fn usage(&mut self, records: &[UsageRecord]) {
        let inserted = records.iter().filter(|record| self.index.usage.insert(record, &mut self.index.names)).count();
        self.damaged += (records.len() - inserted) as u64;
    }

    /// Adds rows of the table `stacks`.
    pub fn stacks(&mut self, records: &[StackRecord]) {
        for record in records {
            let stack = Stack::new(record, &mut self.index.names);
            self.index.stacks.insert(record.stack, stack);
        }
    }

    /// Adds rows of the table `user_stacks`.
    pub fn user_stacks(&mut self, records: &[UserStackRecord]) {
        records.iter().for_each(|record| self.index.user_stacks.insert(record));
    }

    /// Adds rows of the table `user_frames`.
    pub fn user_frames(&mut self, records: &[UserFrameRecord]) {
        records.iter().for_each(|record| self.index.user_stacks.insert_frame(record));
    }

    /// Adds rows of the table `requests`, after all of the table `stalls`, in any number of parts.
    pub fn requests(&mut self, records: &[RequestRecord]) {
        for (at, record) in records.iter().enumerate() {
            if self.index.requests.is_named(record.request) {
                self.index.requests.add(record);
                self.keep_lower(record, &records[..at]);
            }
        }
        let rest = records.len().saturating_sub(LOWER_WITHIN);
        self.last_requests.extend(records[rest..].iter().cloned());
        let rest = self.last_requests.len().saturating_sub(LOWER_WITHIN);
        self.last_requests.drain(..rest);
    }

    /// The requests below one that is kept come before it, with few exceptions.
    fn keep_lower(&mut self, record: &RequestRecord, before: &[RequestRecord]) {
        let mut number = lower_of(record);
        while let Some(wanted) = number {
            let mut before = before.iter().rev().take(LOWER_WITHIN).chain(self.last_requests.iter().rev());
            self.index.requests.name(wanted);
            let is_missing = self.index.requests.get(wanted).is_none();
            let found = before.find(|record| record.request == wanted).filter(|_| is_missing);
            number = found.and_then(lower_of);
            if let Some(found) = found {
                self.index.requests.add(found);
            }
        }
    }

    /// Adds events of the journal, in their order.
    pub fn events(&mut self, events: &[RunEvent]) {
        for event in events {
            self.phases.event(event);
            self.log.event(event, self.sample_interval_ns);
            if let RunEvent::Ended { at_ns, .. } = event {
                self.index.ended_ns = Some(*at_ns);
            }
        }
    }

    /// Explains the rows.
    pub fn finish(self) -> Explanation {
        self.finish_with_accounting().0
    }

    fn take_losses(&mut self) {
        (self.explanation.losses, self.index.lossy) = std::mem::take(&mut self.log).finish();
        self.explanation.losses.damaged = self.damaged;
    }

    /// Explains the rows, and returns the accounting of every operation; an explanation describes only the longest.
    pub fn finish_with_accounting(mut self) -> (Explanation, Accounting) {
        self.take_losses();
        let Blame {
            mut index, own, phases, untraced: missing, disks, mut explanation, window_ns, listed, scope, ..
        } = self;
        explanation.operations = phases.operations();
        conclude(&mut index, &scope, &disks);
        explanation.losses.unknown_requests = index.unknown_requests;
        explanation.containers.clone_from(&index.containers);
        let is_load = explanation.operations.is_some();
        let (mut operations, by_rows) = search(&mut index, own, explanation.slower_than_ns, is_load);
        let found = operations.len();
        operations.retain(|one| phases.is_measured(one.end_ns));
        explanation.outside = (found - operations.len()) as u64;
        clip(&mut operations, window_ns);
        index.has_command |= is_load;
        explanation.command_is_clock = index.command_is_clock;
        let silent = silent(&index, &operations);
        let covered = covered(&operations);
        let (mut short, mut built) = (Vec::new(), Built::default());
        // What the threads of a load do besides its operations is the load's plan.
        if !is_load && !scope.needs_operation() {
            let outside =
                Outside { operations: &operations, scope: &scope, window_ns, covered: &covered, disks: &disks };
            (short, built) = outside.explain(by_rows, &mut index, &mut explanation);
        }
        built = if silent.is_empty() { built } else { Built::default() };
        let mut timelines = TaskTimelines::new(&index, &covered, &silent).with(built);
        if !scope.is_everything() {
            explanation.scoped = Some(in_scope::apply(scope, &index, &disks, &mut timelines, &mut operations));
            // These are of the whole load.
            (explanation.operations, explanation.slowest) = (None, None);
        }
        drop_listed(&index, &mut timelines, &mut operations);
        refuse_overflow(&mut operations, &mut explanation);
        explain(&index, (&mut operations, listed), &mut timelines, &disks, &mut explanation);
        explanation.untraced = untraced(&missing, is_load, &index, &operations, &mut timelines);
        let built = timelines.into_built();
        (explanation, Accounting::new((covered, silent, built), (index, disks), (operations, short)))
    }
}

/// All operations, without waits for tasks that were idle, and none twice; and the timelines that this took, by rows
/// alone.
fn search(index: &mut RunIndex, own: OwnOperations, slower_than_ns: u64, is_load: bool) -> (Vec<Operation>, Built) {
    let mut operations = all(index, own.into_all(), slower_than_ns);
    let of_clients = index.names.insert(CLIENT_REQUEST);
    operations.extend(client_requests(index, &operations, slower_than_ns, of_clients));
    let to_servers = index.names.insert(SERVER_REQUEST);
    if !is_load {
        operations.extend(server_requests(index, slower_than_ns, to_servers));
    }
    // A wait for room is never idle, whatever the reader does.
    let is_unread = |one: &Operation| index.lasting.get(&one.tid).is_some_and(|known| known.bytes.is_some());
    let is_for_room = |one: &Operation| {
        // Of one that is not asked about only where the reader can read nothing.
        let hangs = !one.finished && one.awaits == Some(Awaits::Room);
        hangs || (one.is_of_subject(index) && (one.awaits == Some(Awaits::Room) || (!one.finished && is_unread(one))))
    };
    let (for_room, mut operations): (Vec<Operation>, Vec<Operation>) = operations.into_iter().partition(is_for_room);
    let by_rows = drop_idle_but_equal(index, &mut operations);
    operations.extend(for_room);
    drop_repeated(index, &mut operations, to_servers);
    drop_parts(&mut operations, of_clients);
    let of_command = (!is_load).then(|| run_queue_waits(index, &operations, slower_than_ns));
    operations.extend(of_command.into_iter().flatten());
    (operations, by_rows)
}

/// What the recorded command did outside of its operations.
struct Outside<'a> {
    operations: &'a [Operation],
    scope: &'a Scope,
    window_ns: (u64, u64),
    covered: &'a HashMap<u32, Vec<(u64, u64)>>,
    disks: &'a Disks,
}

impl Outside<'_> {
    /// Returns the shorter waits that are recorded individually, and the timelines of all tasks, as if none fell
    /// silent.
    fn explain(&self, by_rows: Built, index: &mut RunIndex, explanation: &mut Explanation) -> (Vec<Operation>, Built) {
        let slower_than_ns = explanation.slower_than_ns;
        let busy = BusyTimes::of(self.operations.iter().map(|of| (of.tid, of.start_ns, of.end_ns)));
        let in_scope = |row: &Row| self.scope.has_task(index, row.tid, row.end_ns);
        explanation.sleeps = sleeps(index, &busy, slower_than_ns, &in_scope);
        // Of tasks that are asked about, only waits in calls that may need storage are recorded individually.
        let is_asked = !self.scope.is_everything();
        let own = index.rows.iter().filter(|row| (row.watched || is_asked) && in_scope(row));
        let tids = own.map(|row| row.tid).collect();
        let interval_ns = explanation.trace.as_ref().map_or(0, |trace| trace.interval_ns);
        let chosen = Chosen { interval_ns, slower_than_ns, window_ns: self.window_ns, tids, is_asked, busy: &busy };
        let so_far = SoFar { covered: self.covered, by_rows };
        let (sums, waits, built) = short_waits(index, &chosen, so_far, self.disks);
        explanation.short_waits = sums;
        if !is_asked && (!index.has_command || index.command_is_clock) {
            let longer_ns = (interval_ns, slower_than_ns);
            let known = InOperations { busy: &busy, covered: self.covered };
            explanation.most_short_waits = most_short_waits(index, longer_ns, self.window_ns, &known, self.disks);
        }
        (waits, built)
    }
}

/// Leaves what of the operations lies within the window.
fn clip(operations: &mut Vec<Operation>, (from_ns, to_ns): (u64, u64)) {
    for operation in &mut *operations {
        operation.finished &= operation.end_ns <= to_ns;
        operation.start_ns = operation.start_ns.max(from_ns);
        operation.end_ns = operation.end_ns.min(to_ns);
    }
    operations.retain(|operation| operation.start_ns < operation.end_ns);
}

/// Starts and ends of each task's operations.
fn covered(operations: &[Operation]) -> HashMap<u32, Vec<(u64, u64)>> {
    let mut covered: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for operation in operations.iter().filter(|operation| !operation.has_gaps) {
        covered.entry(operation.tid).or_default().push((operation.start_ns, operation.end_ns));
    }
    covered
}

fn lower_of(record: &RequestRecord) -> Option<u32> {
    record.parts.as_deref()?.lower
}
