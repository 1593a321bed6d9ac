//! A run's rows, indexed: by task, with stacks and requests.

pub(crate) mod answers;
mod asleep;
mod births;
mod intents;
pub(crate) mod lasting;
pub(crate) mod lock_turns;
mod mapped;
mod of_rows;
mod queue_drains;
mod ran;
mod unlocked;
mod woken;
mod workers;

pub(crate) use unlocked::{ANSWERED, HELD_BY_IO};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use model::block::{DeviceNumber, Operation as BlockOperation};
use model::container::Containers;
use model::detail::Detail;
use model::signal::{Signal, SignalMeaning};
use model::stall::{RequestRecord, StallKind, StallRecord};

use crate::blame::facts::cause::{self, Cause};
use crate::blame::facts::covered::Covered;
use crate::blame::facts::drain::Drain;
use crate::blame::facts::intent::Intents;
use crate::blame::facts::known::KnownTime;
use crate::blame::facts::names::Names;
use crate::blame::facts::releases::Releases;
use crate::blame::facts::rows::Row;
use crate::blame::facts::rows::arrived::Arrived;
use crate::blame::facts::rows::row_order;
use crate::blame::facts::run_index::answers::Answers;
use crate::blame::facts::run_index::lock_turns::LockTurns;
use crate::blame::facts::stack_rules::StackRule;
use crate::blame::facts::stacks::{Stack, Stacks};
use crate::blame::facts::steal::Steal;
use crate::blame::facts::storage::dirty_limit::DirtyDisks;
use crate::blame::facts::storage::mappers::Mappers;
use crate::blame::facts::storage::memory_limits::MemoryLimits;
use crate::blame::facts::storage::queues::Queues;
use crate::blame::facts::storage::requests::Requests;
use crate::blame::facts::storage::usage::Usage;
use crate::blame::facts::tasks::Tasks;
use crate::blame::facts::user_stacks::UserStacks;
use crate::blame::facts::woken::Woken;
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::{DEVICE_LAYERS, RARE_PART};

/// The rows of a run and what they refer to.
#[derive(Debug, Default)]
pub(crate) struct RunIndex {
    pub(crate) names: Names,
    pub(crate) tasks: Tasks,
    pub(crate) usage: Usage,
    pub(crate) steal: Steal,
    pub(crate) memory: MemoryLimits,
    /// The machine's limit of dirty pages.
    pub(crate) dirty_limit_bytes: Option<u64>,
    pub(crate) dirty_disks: DirtyDisks,
    /// When the recording ended; `None` where it was cut off.
    pub(crate) ended_ns: Option<u64>,
    pub(crate) io_limits: BTreeMap<(String, &'static str), Option<u64>>,
    /// Disks, by identity and name, that had no request whenever the counters were read.
    pub(crate) idle_disks: BTreeSet<String>,
    pub(crate) mappers: Mappers,
    /// Names of disks.
    pub(crate) disk_names: HashMap<DeviceNumber, String>,
    pub(crate) stacks: Stacks,
    pub(crate) user_stacks: UserStacks,
    /// Rows with a request that is not recorded, once the rows are sorted.
    pub(crate) unknown_requests: u64,
    /// Requests that rows name.
    pub(crate) requests: Requests,
    /// Made when it is needed.
    queues: OnceLock<Queues>,
    /// By task, made when it is needed.
    pub(crate) known: Mutex<HashMap<u32, KnownTime>>,
    /// What threads still waited for at the end.
    pub(crate) lasting: FastMap<u32, StallRecord>,
    /// Until they are put in order.
    pub(crate) arrived: Arrived,
    /// Ordered by task and start.
    pub(crate) rows: Vec<Row>,
    /// What rules conclude of their sleeps.
    pub(crate) intents: Intents,
    /// For each row, its main cause, and the latest end of this and earlier rows of its task. Chains read both very
    /// often.
    causes: Vec<Cause>,
    latest_ends_ns: Vec<u64>,
    /// The starts of the rows, for searches: few of them share a line of the cache with others of the task.
    starts_ns: Vec<u64>,
    by_task: FastMap<u32, Range<usize>>,
    /// Rows of asynchronous operations, by process and start.
    asynchronous: FastMap<u32, Vec<u32>>,
    /// Sleeps of the workers of each loop device, and of the server of each disk of the network; ordered and disjoint.
    workers: HashMap<DeviceNumber, Vec<Covered>>,
    /// Who released what others had tried in vain.
    pub(crate) releases: Releases,
    /// Tasks that ended waits which had begun before them: the latest begin of such a wait.
    /// Tasks that began while others waited for them: after which moment, and who started each (0: unknown).
    births: FastMap<u32, (u64, u32)>,
    /// Who froze a request queue, and when.
    pub(crate) queue_drains: Vec<Drain>,
    /// Who held which lock when.
    pub(crate) lock_turns: LockTurns,
    /// Which threads of servers answered whom.
    pub(crate) answers: Answers,
    /// Made when it is needed.
    woken: OnceLock<Woken>,
    /// Processes, and those that they asked, made when it is needed.
    asked: OnceLock<FastSet<(u32, u32)>>,
    /// Processes whose threads take up what another one began, found when it is needed.
    pub(crate) sharing_work: OnceLock<FastSet<u32>>,
    /// Times in which the tracer lost rows; ordered and disjoint.
    pub(crate) lossy: Vec<(u64, u64)>,
    /// Requests that rows name may be lost with a part of the archive.
    pub(crate) lacks_requests: bool,
    /// Context switches were traced.
    pub(crate) traced: bool,
    /// Block requests were not traced: what happened at the disk is unknown.
    pub(crate) hides_disk: bool,
    /// A rule that is left out, to see what rests on it.
    pub(crate) without: Option<&'static str>,
    /// A command was recorded, or a load was run.
    pub(crate) has_command: bool,
    /// Names of containers.
    pub(crate) containers: Containers,
    /// The recorded command only slept for a time, such as `sleep 10`, or waited for a child that did: then nobody asks
    /// about the command, but about the machine.
    pub(crate) command_is_clock: bool,
    /// Threads of the recorded command.
    pub(crate) of_command: FastSet<u32>,
    /// Threads whose waits matter whatever the others do: those of the recorded command, and those that are asked
    /// about.
    pub(crate) subjects: FastSet<u32>,
}

/// Moments of a request at most ([`RequestRecord::moments`]).
const MOMENTS: usize = 8;

impl RunIndex {
    pub(crate) fn new(traced: bool, mappers: Mappers) -> RunIndex {
        RunIndex { traced, mappers, ..RunIndex::default() }
    }

    /// Puts the rows in order. Call after the last row.
    pub(crate) fn sort(&mut self, disk_names: HashMap<DeviceNumber, String>) {
        self.disk_names = disk_names;
        self.add_lasting_waits();
        self.find_requests();
        self.rows = std::mem::take(&mut self.arrived).in_order();
        self.number_rows();
        self.releases = Releases::new(&self.rows);
        self.find_births();
        self.find_queue_drains();
        self.find_held_flushes();
        self.tasks.sort();
        self.containers = self.tasks.containers(&self.names);
        self.usage.sort();
        self.user_stacks.sort();
        self.of_command = self.rows.iter().filter(|row| row.watched).map(|row| row.tid).collect();
        self.has_command = !self.of_command.is_empty();
        self.subjects.clone_from(&self.of_command);
    }

    fn number_rows(&mut self) {
        let mut from = 0;
        for rows in self.rows.chunk_by(|a, b| a.tid == b.tid) {
            self.by_task.insert(rows[0].tid, from..from + rows.len());
            from += rows.len();
            self.latest_ends_ns.extend(row_order::latest_ends_ns(rows));
            self.starts_ns.extend(rows.iter().map(|row| row.start_ns));
        }
        for (row, at) in self.rows.iter_mut().zip(0..) {
            row.at = at;
        }
    }

    /// What follows from the rows once it is known what their sleeps were for.
    pub(crate) fn derive(&mut self) {
        self.find_submitters();
        self.find_asynchronous();
        self.find_workers();
        self.find_waiters();
        self.lock_turns = LockTurns::new(&self.rows, &self.names, &self.releases, |row| self.whom(row));
        self.dirty_disks = DirtyDisks::new(&self.rows, &self.names);
        self.answers = Answers::new(&self.rows, |row| self.intent(row));
    }

    /// Kernel threads that submit what others gave to them: by the cgroup that their writes count for, or, where the
    /// kernel does not keep that (6.12), because they use what lies below a mapped device that does not pass bios on
    /// itself. File systems use the device above.
    fn find_submitters(&mut self) {
        let by_cgroup = self.tasks.submitters(self.usage.all_writers(), &self.names);
        let users: FastSet<u32> = self.mappers.lower_devices().flat_map(|disk| self.usage.users_of(disk)).collect();
        let is_kernels = |row: &Row| self.stack(row.stack.get()).is_some_and(|stack| stack.kernel_thread);
        let of_mappers = self.rows.iter().filter(|row| users.contains(&row.tid) && is_kernels(row)).map(|row| row.tid);
        let of_mappers: FastSet<u32> = of_mappers.collect();
        self.tasks.know_submitters(by_cgroup.into_iter().chain(of_mappers));
    }

    /// A task that waits for a device's request is known to use the device, also where a kernel worker submits for it.
    /// A request that completes with those of another device may be taken for one of these, which is seldom. Its
    /// requests also show which disk is below a loop device.
    fn find_waiters(&mut self) {
        // A pause of a writer, or a sleep for another task, is not ended by the request that completed right before.
        let waits_for_request = |row: &Row| {
            let cause = self.find_main_cause(row);
            cause == Cause::Unexplained || cause.has(cause::traits::ENDS_WITH_REQUEST)
        };
        let waits = self.rows.iter().filter_map(|row| Some((row, self.request(row)?)));
        let waits = waits.filter(|(row, _)| waits_for_request(row));
        let mut waiters: FastMap<(u32, DeviceNumber), (u64, bool)> = FastMap::default();
        for (row, request) in waits {
            let pid = self.tasks.process_of(row.tid, row.end_ns);
            let (count, reads) = waiters.entry((pid, request.device)).or_default();
            *count += 1;
            *reads |= request.kind.operation() == BlockOperation::Read;
        }
        let pairs = self.rows.iter().filter_map(|row| self.request(row));
        // In a damaged run a request may be below itself.
        let pairs =
            pairs.flat_map(|upper| std::iter::successors(Some(upper), |upper| self.lower(upper)).take(DEVICE_LAYERS));
        let pairs = pairs.filter_map(|upper| Some((upper.device, self.lower(upper)?.device)));
        let above: FastSet<(DeviceNumber, DeviceNumber)> = pairs.chain(self.below_workers()).collect();
        let mut most: FastMap<u32, u64> = FastMap::default();
        waiters.iter().for_each(|(&(pid, _), &(count, _))| {
            let most = most.entry(pid).or_default();
            *most = count.max(*most);
        });
        waiters.retain(|(pid, _), (count, _)| *count * RARE_PART >= most[pid]);
        for ((pid, device), (_, reads)) in waiters {
            self.usage.know(device, pid);
            if reads {
                self.usage.know_reader(device, pid);
            }
        }
        above.into_iter().for_each(|(upper, lower)| self.usage.put_above(upper, lower));
    }

    fn find_asynchronous(&mut self) {
        for (row, at) in self.rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::Asynchronous) {
            let pid = self.tasks.process_of(row.tid, row.end_ns);
            self.asynchronous.entry(pid).or_default().push(at);
        }
        let rows = &self.rows;
        self.asynchronous.values_mut().for_each(|all| all.sort_by_key(|&at| rows[at as usize].start_ns));
    }

    /// A task's rows with their numbers, by start.
    pub(crate) fn rows_of(&self, tid: u32) -> impl DoubleEndedIterator<Item = (u32, &Row)> {
        let (rows, first) = self.slice_of(tid);
        rows.iter().enumerate().map(move |(at, row)| (first + at as u32, row))
    }

    /// The same, and the number of the first.
    pub(crate) fn slice_of(&self, tid: u32) -> (&[Row], u32) {
        let range = self.by_task.get(&tid).cloned().unwrap_or_default();
        (&self.rows[range.clone()], range.start as u32)
    }

    /// A task's rows that began before `to_ns`, the latest first, until no remaining row ends after `from_ns`.
    pub(crate) fn rows_between(&self, tid: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (u32, &Row)> {
        let range = self.by_task.get(&tid).cloned().unwrap_or_default();
        let end = range.start + self.starts_ns[range.clone()].partition_point(|start_ns| *start_ns < to_ns);
        let rows = (range.start..end).rev().take_while(move |&at| self.latest_ends_ns[at] > from_ns);
        rows.map(|at| (at as u32, &self.rows[at]))
    }

    /// The rows of each task in turn, and the latest end of each row and those before it.
    pub(crate) fn tasks_rows(&self) -> impl Iterator<Item = (&[Row], &[u64])> {
        let mut latest_ends_ns = &self.latest_ends_ns[..];
        self.rows.chunk_by(|a, b| a.tid == b.tid).map(move |rows| {
            let (its, rest) = latest_ends_ns.split_at(rows.len());
            latest_ends_ns = rest;
            (rows, its)
        })
    }

    /// The asynchronous operations of a process: their rows.
    pub(crate) fn asynchronous_of(&self, pid: u32) -> &[u32] {
        self.asynchronous.get(&pid).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn row(&self, row: u32) -> &Row {
        &self.rows[row as usize]
    }

    pub(crate) fn stack(&self, stack: Option<u32>) -> Option<&Stack> {
        self.stacks.get(&stack?)
    }

    /// Whether a process asked another one, and was answered.
    pub(crate) fn asks(&self, client: u32, server: u32) -> bool {
        let process = |tid: u32, at_ns: u64| self.tasks.process_of(tid, at_ns);
        let pairs = || {
            let of = self.answers.pairs();
            of.map(|one| (process(one.client, one.sent_ns), process(one.server, one.sent_ns))).collect()
        };
        self.asked.get_or_init(pairs).contains(&(client, server))
    }

    /// The name of a disk, also of one that came after the recording had begun, where its number says it.
    pub(crate) fn disk_name(&self, device: DeviceNumber) -> Option<String> {
        self.disk_names.get(&device).cloned().or_else(|| device.registered_name())
    }

    /// The requests of each disk, by time.
    pub(crate) fn queues(&self) -> &Queues {
        self.queues.get_or_init(|| Queues::new(self.requests.all()))
    }

    /// The request of the disk below that completed a request.
    pub(crate) fn lower(&self, request: &RequestRecord) -> Option<&RequestRecord> {
        self.requests.get(request.parts.as_deref()?.lower?)
    }

    /// Whether the system call of a row does any of that.
    pub(crate) fn does(&self, row: &Row, any: u32) -> bool {
        row.call.is_some_and(|call| self.names.traits(call).has(any))
    }

    /// What is known of a row beside its times.
    pub(crate) fn detail(&self, row: &Row) -> Option<&Detail> {
        row.detail.map(|detail| self.names.detail(detail))
    }

    /// The announcement of a wait, unless the stack belongs to another wait: an announced wait need not happen.
    pub(crate) fn announced(&self, row: &Row) -> Option<&'static SignalMeaning> {
        let agrees = |announced: &&SignalMeaning| {
            row.kind != StallKind::OffCpu
                || self.stack(row.stack.get()).is_none_or(|stack| stack.agrees_with(announced))
        };
        let is_of_io = |announced: &&SignalMeaning| announced.cause == Cause::Lock && self.is_held_by_io(row);
        row.announced
            .filter(|announced| agrees(announced) && !is_of_io(announced) && self.is_of_another(row, announced))
    }

    /// A folder is a lock if another task made or removed it: many programs only see to it that there is one. Who is
    /// refused a connection and tries another address does not wait for the first one.
    fn is_of_another(&self, row: &Row, announced: &SignalMeaning) -> bool {
        let is_released = || row.lock.get().and_then(|lock| self.releases.first_after(lock, row.start_ns)).is_some();
        match announced.signal {
            Signal::FolderTaken => row.holder_tid.get().is_some() || is_released(),
            Signal::ConnectionRefused => row.kind != StallKind::OffCpu || is_released() || self.is_tried_again(row),
            _ => true,
        }
    }

    /// The rule that its stack meets.
    pub(crate) fn rule(&self, row: &Row) -> Option<&'static StackRule> {
        let rule = self.stack(row.stack.get()).and_then(|stack| stack.rule);
        rule.filter(|rule| rule.cause != Cause::Lock || !self.is_held_by_io(row))
    }

    /// Whether time of that cause is a stage in the lifecycle of the request that ended the row.
    pub(crate) fn is_of_request(&self, row: &Row, cause: Cause) -> bool {
        let (rule, announced) = (self.rule(row), self.announced(row));
        cause.has(cause::traits::STAGE)
            && rule.is_none_or(|rule| rule.on_request)
            && announced.is_none_or(|announced| announced.on_request)
    }

    /// The cause of most of a row's time.
    pub(crate) fn main_cause(&self, row: u32) -> Cause {
        self.causes[row as usize]
    }

    pub(crate) fn find_main_cause(&self, row: &Row) -> Cause {
        if let (StallKind::Span, Some(announced)) = (row.kind, row.announced) {
            return announced.cause;
        }
        // No list of its own: this is asked of every row.
        let (mut borders, mut count) = ([row.start_ns; 2 + MOMENTS], 2);
        borders[1] = row.runnable_ns;
        let moments = self.request(row).into_iter().flat_map(RequestRecord::moments);
        let moments = moments.filter(|at| (row.start_ns..row.runnable_ns).contains(at));
        for (border, at_ns) in borders[2..].iter_mut().zip(moments) {
            *border = at_ns;
            count += 1;
        }
        let borders = &mut borders[..count];
        borders.sort_unstable();
        let stages = borders.windows(2).map(|pair| (pair[1] - pair[0], self.asleep(row, pair[0]).0));
        let runnable = (row.end_ns - row.runnable_ns, row.runnable_cause());
        stages.chain([runnable]).max_by_key(|stage| stage.0).map_or(Cause::Unexplained, |stage| stage.1)
    }
}
