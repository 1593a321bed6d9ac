//! The waits of slow operations with what is behind them: a wait for a lock becomes the waits of the task that held it.

mod follower;
mod of_requests;

use std::collections::{BTreeMap, BTreeSet};

use model::block::{DeviceNumber, Kind, Operation};
use model::stall::Awaits;
use model::wait_kind::WaitKind;

use crate::blame::culprits::blamed_disk;
use crate::blame::culprits::dirtying::dirtying;
use crate::blame::culprits::loops;
use crate::blame::culprits::pinned::are_pinned;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::storage::request;
use crate::blame::graph::chain::{chain_row, other_thread};
use crate::blame::graph::follow::{Bounds, Follower, follow};
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::intents::interruptions::stops;
use crate::blame::intents::lasting::hangs;
use crate::blame::operations::Operation as SlowOperation;
use crate::blame::operations::sync_calls;
use crate::blame::operations::unfinished::reads;
use crate::blame::timeline::counted_again::Served;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::wording;
use crate::thresholds::CLOSED_LOOP_WITHIN_NS;
use crate::waits::{IoLimit, KernelThreads, Numbers, Path, Step, Waiting, Waits};

/// Operations that are kept; of more, every n-th.
const KEPT: usize = 20_000;

/// The waits of these operations, which are ordered by start.
pub(crate) fn waits<'a>(
    (index, disks): (&'a RunIndex, &'a Disks),
    operations: &[SlowOperation],
    timelines: &mut TaskTimelines<'a>,
    slower_than_ns: u64,
) -> Waits {
    let stands_for = operations.len().div_ceil(KEPT).max(1);
    let served = Served::of(index, operations.iter(), timelines);
    let mut graph = Graph::new((index, disks), timelines);
    let kept = operations.iter().step_by(stands_for);
    let waiting: Vec<Waiting> = kept.map(|operation| graph.waiting(operation, &served)).collect();
    let limited = limited(&mut graph, operations, &waiting, stands_for);
    let deadlock = graph.deadlock || graph.tasks.keys().any(|tid| hangs::circle(index, *tid).is_some());
    Waits {
        operations: waiting,
        stands_for: stands_for as u64,
        slower_than_ns,
        quota_cgroups: quota_cgroups(index, graph.paths.values()),
        stopped: stops::stopped(index, graph.paths.values()),
        paths: graph.paths.into_values(),
        names: graph.names.into_values(),
        roles: roles(index, &graph.tasks),
        sqlite: sync_calls::sqlite(index, graph.tasks.keys().copied()),
        keep_sizes: sync_calls::keep_sizes(index, graph.tasks.keys().copied()),
        tasks: graph.tasks,
        command: command(index),
        kernel_threads: kernel_threads(index),
        servers: graph.servers,
        device_ns: device_ns(index),
        pinned: are_pinned(index, operations),
        io_limits: index.io_limits.keys().cloned().collect(),
        limit_cgroups: limit_cgroups(index),
        limited,
        memory: index.memory.with_usage(&index.usage, &index.names, |pid| other(index, pid)),
        memory_sampled: index.memory.sampled().clone(),
        deadlock,
        dirtying: dirtying(index, operations),
        ..Waits::default()
    }
}

fn command(index: &RunIndex) -> BTreeSet<u32> {
    index.of_command.iter().map(|tid| index.tasks.process_of(*tid, u64::MAX)).collect()
}

fn kernel_threads(index: &RunIndex) -> KernelThreads {
    let is_kernels = |row: &&Row| index.stack(row.stack.get()).is_some_and(|stack| stack.kernel_thread);
    KernelThreads {
        kernel: index.rows.iter().filter(is_kernels).map(|row| row.tid).collect(),
        programs: index.rows.iter().filter(|row| row.call.is_some()).map(|row| row.tid).collect(),
    }
}

fn roles(index: &RunIndex, tasks: &BTreeMap<u32, String>) -> BTreeMap<u32, String> {
    let role = |tid: u32| index.tasks.role(index.tasks.process_of(tid, u64::MAX));
    tasks.keys().filter_map(|tid| Some((*tid, index.names.get(role(*tid)?).to_owned()))).collect()
}

/// The name of a process, unless it is of the recorded command.
fn other(index: &RunIndex, pid: u32) -> Option<String> {
    if index.of_command.contains(&pid) { None } else { index.tasks.process(pid, u64::MAX, &index.names).name }
}

fn limit_cgroups(index: &RunIndex) -> BTreeMap<DeviceNumber, String> {
    let cgroups = index.usage.limit_cgroups();
    cgroups.map(|(device, cgroup)| (device, index.names.get(cgroup).to_owned())).collect()
}

/// By the rows of the threads that a quota held.
fn quota_cgroups(index: &RunIndex, paths: &[Path]) -> BTreeMap<u32, String> {
    let held = paths.iter().flatten().filter(|step| step.cause == Cause::CpuThrottle).map(|step| step.tid);
    let tids: BTreeSet<u32> = held.collect();
    let cgroup = |tid: u32| {
        let mut rows = index.rows_between(tid, 0, u64::MAX);
        rows.find_map(|(_, row)| Some(index.detail(row)?.cpu_quota()?.cgroup.clone()))
    };
    tids.into_iter().filter_map(|tid| Some((tid, cgroup(tid)?))).collect()
}

/// Of a sample of the operations no loops are known.
fn limited(graph: &mut Graph, operations: &[SlowOperation], waiting: &[Waiting], stands_for: usize) -> Vec<IoLimit> {
    if stands_for > 1 {
        return Vec::new();
    }
    let holders = loops::holders(graph.paths.values(), waiting);
    let behind: BTreeSet<u32> = graph.tasks.keys().copied().filter(|tid| !holders.contains(tid)).collect();
    let limited = loops::limited((graph.index, graph.disks), operations, &behind, &holders);
    for (tid, end_ns) in limited
        .iter()
        .flat_map(|limit| &limit.loops)
        .filter_map(|each| each.turns.last().map(|turn| (each.tid, turn.end_ns())))
    {
        graph.name(tid, end_ns);
    }
    limited
}

/// Median time of requests at their device.
fn device_ns(index: &RunIndex) -> Option<u64> {
    let requests = index.requests.all();
    let mut times: Vec<u64> = requests.filter_map(request::device_ns).collect();
    let middle = times.len() / 2;
    (!times.is_empty()).then(|| *times.select_nth_unstable(middle).1)
}

struct Graph<'a, 'b> {
    index: &'a RunIndex,
    disks: &'a Disks,
    timelines: &'b mut TaskTimelines<'a>,
    paths: Numbers<Path>,
    names: Numbers<String>,
    tasks: BTreeMap<u32, String>,
    servers: BTreeSet<String>,
    /// The thread of the operation.
    of: u32,
    /// A task waited for a lock whose holder waited for one of its own at that time.
    deadlock: bool,
    /// The waits that led to where the way is now.
    path: Path,
    /// How long the path was before each of the tasks that it leads through.
    lengths: Vec<usize>,
    /// Time by path, of the operation.
    pieces: BTreeMap<u32, u64>,
    /// The same of what its clients have too, and which part of what is added this is.
    again: BTreeMap<u32, f64>,
    again_share: f64,
}

impl<'a, 'b> Graph<'a, 'b> {
    fn new((index, disks): (&'a RunIndex, &'a Disks), timelines: &'b mut TaskTimelines<'a>) -> Graph<'a, 'b> {
        let (paths, names) = (Numbers::new(), Numbers::new());
        Graph {
            index,
            disks,
            timelines,
            paths,
            names,
            tasks: BTreeMap::new(),
            servers: BTreeSet::new(),
            of: 0,
            deadlock: false,
            path: Path::new(),
            lengths: Vec::new(),
            pieces: BTreeMap::new(),
            again: BTreeMap::new(),
            again_share: 0.0,
        }
    }

    fn waiting(&mut self, operation: &SlowOperation, served: &Served<'_>) -> Waiting {
        let (from_ns, to_ns) = (operation.start_ns, operation.end_ns);
        self.of = operation.tid;
        self.name(operation.tid, to_ns);
        let timeline = self.timelines.of(operation);
        let is_of_server = served.is_of_server(operation);
        let (mut first_throttled_ns, mut unknown_requests) = (None, 0);
        for segment in timeline.between(from_ns, to_ns) {
            if segment.cause == Cause::IoThrottle {
                first_throttled_ns.get_or_insert(segment.start_ns);
                unknown_requests += u32::from(self.device_time_is_unknown(&segment));
            }
            self.servers.extend(self.server(&segment));
            let again_ns = if is_of_server { served.within_segment(operation, &segment) } else { 0 };
            self.again_share = again_ns as f64 / segment.ns().max(1) as f64;
            self.follow(&segment, operation.tid);
        }
        let since_throttled_ns = first_throttled_ns.and_then(|first_ns| {
            let mut before = timeline.latest(first_ns.saturating_sub(CLOSED_LOOP_WITHIN_NS), first_ns);
            let last = before.find(|segment| segment.cause == Cause::IoThrottle)?;
            Some(first_ns - last.end_ns)
        });
        let names = &self.index.names;
        let name = self.index.tasks.process(operation.tid, to_ns, names).name;
        let cgroup = self.index.tasks.cgroup(operation.tid, to_ns).map(|name| names.get(name).to_owned());
        Waiting {
            tid: operation.tid,
            start_ns: from_ns,
            class: self.names.of(&names.get(operation.class).to_owned()),
            task: name.map(|name| self.names.of(&name)),
            cgroup: cgroup.map(|cgroup| self.names.of(&cgroup)),
            pieces: std::mem::take(&mut self.pieces).into_iter().collect(),
            again: std::mem::take(&mut self.again).into_iter().map(|(path, ns)| (path, ns.round() as u64)).collect(),
            since_throttled_ns,
            unknown_requests,
        }
    }

    /// The process whose answer the task awaits there, unless it is of the recorded command.
    fn server(&self, segment: &Segment) -> Option<String> {
        let index = self.index;
        let row = (segment.off != NO_ROW).then(|| index.row(segment.off))?;
        let awaits_answer = matches!(index.awaits(row), Some(Awaits::Answer | Awaits::PartOfAnswer));
        let waker = index.waker(row).filter(|_| awaits_answer)?;
        let process = index.tasks.process(waker, row.runnable_ns, &index.names);
        process.name.filter(|_| !index.of_command.contains(&process.tid))
    }

    fn device_time_is_unknown(&self, segment: &Segment) -> bool {
        let request = segment.row().and_then(|row| self.index.request(self.index.row(row)));
        request.is_none_or(|request| request.issued_ns.is_none())
    }

    /// Enters a segment of a task's time, with all that its time consists of.
    fn follow(&mut self, segment: &Segment, tid: u32) {
        self.push(segment, tid);
        follow(self.index, self, segment, Bounds::SHARES);
        self.leave();
    }

    /// Adds the steps of a segment to the path.
    fn push(&mut self, segment: &Segment, tid: u32) {
        let index = self.index;
        let tid = other_thread(index, segment).unwrap_or(tid);
        self.name(tid, segment.end_ns);
        let kind = self.kind(segment, tid);
        let syncs = segment.row().is_some_and(|row| sync_calls::is_in_sync(index, row));
        let is_limited = segment.cause == Cause::IoThrottle;
        let is_first = self.path.is_empty();
        let blamed = if is_first || is_limited { blamed_disk(index, self.disks, segment) } else { None };
        // A limit is one on the disk below, where that is a loop device's.
        let device = blamed.filter(|_| is_limited).or_else(|| self.device(segment));
        self.lengths.push(self.path.len());
        let (cause, blamed) = (segment.cause, blamed.filter(|_| is_first));
        let occasion = segment.row().and_then(|row| wording::occasion(index, index.row(row), cause));
        self.path.push(Step { cause, kind, device, blamed, tid, syncs, occasion });
        let limit = self.limit_on_writeback(segment, self.path[0].blamed);
        self.path.extend(limit);
    }

    /// Adds time to the path.
    fn put(&mut self, ns: u64) {
        if ns > 0 {
            let path = self.paths.of(&self.path);
            *self.pieces.entry(path).or_default() += ns;
            if self.again_share > 0.0 {
                *self.again.entry(path).or_default() += ns as f64 * self.again_share;
            }
        }
    }

    /// Writers are paused at the pace of writeback. Where a limit delays the requests of that, they wait for the limit.
    fn limit_on_writeback(&self, segment: &Segment, disk: Option<DeviceNumber>) -> Option<Step> {
        let device = disk.filter(|_| segment.cause == Cause::DirtyThrottle)?;
        let is_limited = self.index.usage.throttles_writes(device, segment.start_ns, segment.end_ns);
        let tid = self.of;
        is_limited.then_some(Step {
            cause: Cause::IoThrottle,
            kind: Some(WaitKind::Write),
            device: Some(device),
            blamed: None,
            tid,
            syncs: false,
            occasion: None,
        })
    }

    fn name(&mut self, tid: u32, at_ns: u64) {
        let process = || self.index.tasks.process(tid, at_ns, &self.index.names).to_string();
        self.tasks.entry(tid).or_insert_with(process);
    }

    /// What kind of wait of its cause a segment is, or whose work.
    fn kind(&self, segment: &Segment, tid: u32) -> Option<WaitKind> {
        if segment.cause == Cause::Running {
            let is_own = self.tasks.get(&tid) == self.tasks.get(&self.of);
            return Some(if is_own { WaitKind::OwnWork } else { WaitKind::WorkOfAnother });
        }
        let row = self.index.row(segment.row()?);
        let is_of_commit = self.path.iter().any(|step| step.cause == Cause::Journal);
        let stack = self.index.stack(row.stack.get());
        let (rule, is_direct) = (self.index.rule(row), || stack.is_some_and(|stack| stack.direct));
        if is_of_commit && rule.is_some_and(|rule| rule.kind == WaitKind::PagesUnderWriteback) {
            return Some(WaitKind::OrderedData);
        }
        match segment.cause {
            cause @ (Cause::Lock | Cause::Journal) => Some(wording::kind(self.index, row, cause)),
            Cause::Stopped => stops::kind(self.index, row),
            Cause::ReclaimThrottle if rule.is_some_and(|rule| rule.kind == WaitKind::AboveMemoryHigh) => {
                Some(WaitKind::AboveMemoryHigh)
            }
            cause => match self.index.request(row) {
                Some(request) if direction(request.kind, cause).is_some() => direction(request.kind, cause),
                _ if cause != Cause::IoThrottle && is_direct() => Some(WaitKind::DirectIo),
                // It had not ended with the recording.
                None if cause == Cause::IoThrottle => {
                    Some(if reads(self.index, row) { WaitKind::Read } else { WaitKind::Write })
                }
                _ => None,
            },
        }
    }

    fn device(&self, segment: &Segment) -> Option<DeviceNumber> {
        let row = self.index.row(chain_row(self.index, segment)?);
        self.index.request(row).filter(|_| self.index.is_of_request(row, segment.cause)).map(|request| request.device)
    }
}

/// The direction of a request that a limit delays: limits on reads and writes are separate. A limit on writes delays
/// discards too, and what writes zeroes or flushes a cache (op_is_write() of the kernel), which have no letter of their
/// own.
fn direction(kind: Kind, cause: Cause) -> Option<WaitKind> {
    match (cause, kind.operation()) {
        (Cause::IoThrottle, Operation::Read) => Some(WaitKind::Read),
        (Cause::IoThrottle, Operation::Write | Operation::None) => Some(WaitKind::Write),
        (_, Operation::Discard) => Some(WaitKind::Discard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_writes_delays_all_but_reads() {
        let of = |operation| direction(Kind::of(operation), Cause::IoThrottle);
        let all = [Operation::Read, Operation::Write, Operation::None, Operation::Discard].map(of);
        use WaitKind::{Discard, Read, Write};
        assert_eq!(all, [Read, Write, Write, Discard].map(Some));
        assert_eq!(direction(Kind::of(Operation::Write), Cause::Device), None);
    }
}
