//! The rows that the tracer would have recorded of a world.

use explain::blame::{Accounting, Blame, Explanation};
use model::block::{DeviceNumber, Kind};
use model::event::RunEvent;
use model::operation::{IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{
    Awaits, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings, stall_flags,
};
use model::time::Moment;

use crate::clock::Clock;
use crate::plan::{Resource, Subject};
use crate::world::{Span, Wait, What, World};

/// From so many ticks on an operation is slow.
pub(crate) const SLOW: u64 = 5;
/// CPU time before the recording: 0 is unknown.
const USED_NS: u64 = 5_000_011;

pub(crate) const DEVICE: DeviceNumber = DeviceNumber::new(8, 0);

const FUTEX: u32 = 0;
const LOG: u32 = 1;
const JOURNAL: u32 = 2;
const READ: u32 = 3;
const THREAD_READS: u32 = 4;
const THREAD_IDLES: u32 = 5;
const STACKS: [&[&str]; 6] = [
    &["futex_do_wait", "do_futex"],
    &["xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_file_fsync"],
    &["jbd2_log_wait_commit", "ext4_sync_file", "do_fsync"],
    &["folio_wait_bit_common", "filemap_read", "vfs_read"],
    &["folio_wait_bit_common", "jbd2_journal_recover", "kjournald2", "kthread"],
    &["kjournald2", "kthread"],
];

/// How the tasks of a world are called.
#[derive(Debug, Clone)]
pub(crate) struct Naming {
    /// Ids by task; then those of the thread of the logs, and of the task that has the CPU of others.
    pub(crate) tids: Vec<u32>,
    pub(crate) prefix: &'static str,
}

impl Naming {
    pub(crate) fn plain(world: &World) -> Naming {
        Naming { tids: (0..world.lives.len() as u32 + 2).map(|task| 100 + task).collect(), prefix: "task" }
    }

    /// Other ids and names. Of equal times that of a lower id comes first: their order stays the same.
    pub(crate) fn renamed(&self, seed: u64) -> Naming {
        let gaps = self.tids.iter().zip(0..).map(|(_, at)| 1 + (seed >> (at % 60)) as u32 % 16);
        let tids = gaps.scan(7000, |tid, gap| {
            *tid += gap;
            Some(*tid)
        });
        Naming { tids: tids.collect(), prefix: "other" }
    }

    /// The thread of the logs, as a task.
    pub(crate) fn logger(&self) -> usize {
        self.tids.len() - 2
    }

    /// The task that has the CPU that others wait for.
    pub(crate) fn hog(&self) -> usize {
        self.tids.len() - 1
    }

    pub(crate) fn task(&self, tid: u32) -> usize {
        self.tids.iter().position(|of| *of == tid).expect("a task of the world")
    }
}

/// Any order that depends on the seed.
fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for at in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(at, (seed >> 33) as usize % (at + 1));
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) stalls: Vec<StallRecord>,
    pub(crate) operations: Vec<OperationRecord>,
    pub(crate) requests: Vec<RequestRecord>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) stacks: Vec<StackRecord>,
    is_load: bool,
    clock: Clock,
    /// Only this time is explained, in ticks.
    pub(crate) window: Option<(u64, u64)>,
    /// A rule that is left out.
    pub(crate) without: Option<&'static str>,
}

pub(crate) fn rows(world: &World, naming: &Naming) -> Rows {
    let mut rows = Rows {
        stalls: Vec::new(),
        operations: Vec::new(),
        requests: Vec::new(),
        tasks: Vec::new(),
        stacks: Vec::new(),
        is_load: world.subject == Subject::Load,
        clock: world.clock,
        window: None,
        without: None,
    };
    for (task, &tid) in naming.tids.iter().enumerate() {
        rows.tasks.push(thread(tid, format!("{}-{task}", naming.prefix)));
    }
    let frames = |frames: &[&str]| frames.iter().map(|frame| (*frame).to_owned()).collect();
    rows.stacks = STACKS.iter().zip(0..).map(|(of, stack)| StackRecord { stack, frames: frames(of) }).collect();
    for task in 0..world.lives.len() {
        let mut ran = 0;
        let mut last = world.lives[task].waits.first().map_or(0, |wait| wait.start);
        for wait in &world.lives[task].waits {
            ran += wait.start - last;
            last = wait.end;
            let request = rows.request(world, naming, (task, wait));
            let row = StallRecord {
                request,
                cpu_ns: Some(USED_NS + ran * world.clock.tick_ns),
                ..off_cpu(world, naming, task, wait)
            };
            rows.stalls.push(row);
        }
        rows.acts(world, naming, task);
        rows.answers(world, naming, task);
    }
    rows
}

fn thread(tid: u32, name: String) -> TaskRecord {
    TaskRecord {
        tid,
        pid: tid,
        name,
        cgroup: None,
        io_cgroup: None,
        started_by: None,
        role: None,
        container: None,
        seen_ns: 0,
    }
}

/// A time off the CPU, but for its request and CPU time.
fn off_cpu(world: &World, naming: &Naming, task: usize, wait: &Wait) -> StallRecord {
    let tid = |task: usize| naming.tids[task];
    let is_late = wait.woken < wait.end;
    let is_of_command = world.subject == Subject::Command && task < world.clients;
    let is_journal = task >= world.clients && world.resources[task - world.clients] == Resource::Journal;
    let served = world.lives[task].served.iter().find(|one| !is_journal && (one.taken..one.sent).contains(&wait.start));
    let row = StallRecord {
        state: Some(2),
        woken_ns: Some(world.clock.ns(wait.woken)),
        waker_tid: Some(wait.waker.map_or(0, tid)),
        behind_tid: is_late.then(|| tid(naming.hog())),
        flags: is_of_command.then_some(stall_flags::WATCHED),
        // Of a server that works on a request, when it received that.
        asked_ns: served.map(|served| world.clock.ns(served.taken)),
        ..StallRecord::new(StallKind::OffCpu, tid(task), world.clock.ns(wait.start), world.clock.ns(wait.end))
    };
    let call = |call: &str| Some(call.to_owned());
    let in_call = world.lives[task].acts.iter().find(|act| act.is_call && (act.start..act.end).contains(&wait.start));
    match wait.what {
        What::Cpu => StallRecord { state: Some(0), woken_ns: None, waker_tid: None, ..row },
        What::Lock { resource, found } if world.resources[resource].is_kernel_lock() => StallRecord {
            tracepoint: call("contention_begin"),
            call_start_ns: in_call.map(|act| world.clock.ns(act.start)),
            lock: Some(resource as u32),
            holder_tid: Some(tid(found)),
            ..row
        },
        What::Lock { .. } => {
            StallRecord { state: Some(1), call: call("futex"), stack: Some(FUTEX), awaits: Some(Awaits::Lock), ..row }
        }
        What::Answer { .. } => StallRecord {
            state: Some(1),
            call: call("recvfrom"),
            awaits: Some(Awaits::Answer),
            asked_ns: Some(world.clock.ns(wait.start)),
            ..row
        },
        What::Disk { .. } => StallRecord { stack: Some(if is_journal { THREAD_READS } else { READ }), ..row },
        What::Commit { .. } => StallRecord { stack: Some(JOURNAL), ..row },
        What::Message if is_journal => StallRecord { state: Some(1), stack: Some(THREAD_IDLES), ..row },
        What::Log { journal } => {
            let stack = Some(if journal { JOURNAL } else { LOG });
            StallRecord { stack, waker_tid: Some(tid(naming.logger())), ..row }
        }
        What::Message => {
            let awaits = if wait.waker.is_some() { Awaits::Message } else { Awaits::Interrupt };
            StallRecord { state: Some(1), call: call("recvfrom"), awaits: Some(awaits), ..row }
        }
    }
}

impl Rows {
    fn request(&mut self, world: &World, naming: &Naming, (task, wait): (usize, &Wait)) -> Option<u32> {
        let What::Disk { before, queue, throttled } = wait.what else { return None };
        let request = self.requests.len() as u32;
        self.requests.push(RequestRecord {
            request,
            device: DEVICE,
            sector: 0,
            bytes: 4096,
            kind: Kind::from_rwbs(b"R").expect("letters"),
            tid: naming.tids[task],
            merges: 0,
            queued_ns: Some(world.clock.ns(wait.start + if throttled { before } else { 0 })),
            got_ns: None,
            inserted_ns: Some(world.clock.ns(wait.start + before)),
            issued_ns: Some(world.clock.ns(wait.start + before + queue)),
            completed_ns: world.clock.ns(wait.woken),
            errno: None,
            throttled,
            parts: None,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        });
        Some(request)
    }

    /// What the subject does, as far as it is slow: operations of a load, else system calls.
    fn acts(&mut self, world: &World, naming: &Naming, task: usize) {
        let slow = |act: &&Span| act.end - act.start >= SLOW && (self.is_load || act.is_call);
        for (number, act) in world.lives[task].acts.iter().filter(slow).enumerate() {
            let (tid, start_ns, end_ns) = (naming.tids[task], world.clock.ns(act.start), world.clock.ns(act.end));
            // Each has a class of its own, of which the root blockers are known.
            let class = format!("act-{task}-{number}");
            if !self.is_load {
                let call = StallRecord::new(StallKind::SystemCall, tid, start_ns, end_ns);
                let flags = (world.subject == Subject::Command).then_some(stall_flags::WATCHED);
                self.stalls.push(StallRecord { call: Some(class), flags, ..call });
                continue;
            }
            self.operations.push(OperationRecord {
                kind: OperationKind::Slow,
                class,
                tid,
                start_ns,
                duration_ns: end_ns - start_ns,
                bytes: None,
                errno: None,
                path: None,
                offset_bytes: None,
                fault: None,
            });
        }
    }

    /// The requests that a server answered, as those of its clients.
    fn answers(&mut self, world: &World, naming: &Naming, server: usize) {
        let is_server = server >= world.clients && world.resources[server - world.clients] == Resource::Server;
        for served in world.lives[server].served.iter().filter(|_| is_server) {
            let of_client = |wait: &&Wait| wait.start == served.asked && matches!(wait.what, What::Answer { .. });
            let wait = world.lives[served.client].waits.iter().find(of_client).expect("a client that waits");
            let row = StallRecord::new(
                StallKind::ServerRequest,
                naming.tids[served.client],
                world.clock.ns(served.asked),
                world.clock.ns(wait.end),
            );
            self.stalls.push(StallRecord {
                awaits: Some(Awaits::Answer),
                asked_ns: Some(world.clock.ns(served.asked)),
                woken_ns: Some(world.clock.ns(served.sent)),
                waker_tid: Some(naming.tids[server]),
                ..row
            });
        }
    }

    pub(crate) fn shuffle(&mut self, seed: u64) {
        shuffle(&mut self.stalls, seed);
        shuffle(&mut self.operations, seed);
        shuffle(&mut self.requests, seed);
        shuffle(&mut self.tasks, seed);
        shuffle(&mut self.stacks, seed);
    }

    pub(crate) fn explain(&self) -> (Explanation, Accounting) {
        let tick_ns = self.clock.tick_ns;
        let slow_ns = SLOW * tick_ns;
        let run = RunDescription {
            sample_interval_ns: tick_ns,
            slower_than_ns: slow_ns,
            trace: Some(TraceSettings { slow_ns, interval_ns: tick_ns, all_requests: false }),
            ..RunDescription::new("reference", Moment::default())
        };
        let mut blame = Blame::new(None, &run).listing(1000);
        if let Some((from, to)) = self.window {
            blame = blame.within(self.clock.ns(from), self.clock.ns(to));
        }
        if let Some(rule) = self.without {
            blame = blame.without(rule);
        }
        if self.is_load {
            let phase = "measured".to_owned();
            blame.events(&[RunEvent::PhaseStarted { phase: phase.clone(), measured: true, at_ns: 0 }]);
            blame.intervals(&[interval(phase, self.operations.len() as u64)]);
        }
        blame.stalls(&self.stalls);
        blame.operations(&self.operations);
        blame.tasks(&self.tasks);
        blame.stacks(&self.stacks);
        blame.requests(&self.requests);
        blame.finish_with_accounting()
    }
}

/// That there is a load.
fn interval(phase: String, count: u64) -> IntervalRecord {
    IntervalRecord {
        phase,
        class: "act".to_owned(),
        start_ns: 0,
        end_ns: u64::MAX,
        count,
        errors: 0,
        bytes: 0,
        sum_ns: 0,
        max_ns: None,
        buckets: Vec::new(),
        stuck: 0,
        oldest_running_ns: None,
    }
}
