//! The tracer's sources: which tracepoints each needs, and what it shows. Those of signals come from the model's table.

use model::preflight::capability;
use model::signal::{SOURCES, SignalSource, TracepointProgram};

/// Programs that work only together. Of programs on the same tracepoint the first that fits is loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceSource {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    pub(super) programs: &'static [TracepointProgram],
    /// The kernel module that may hold the tracepoints.
    pub(super) module: Option<&'static str>,
    /// When it is attached.
    pub(super) when: When,
}

/// When a source's programs are attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Only when all requests are recorded.
    EachRequest,
    /// Once a device needs it.
    Wanted,
    /// Never: its programs visit all tasks when asked to.
    Asked,
}

impl TraceSource {
    const fn always(name: &'static str, purpose: &'static str, programs: &'static [TracepointProgram]) -> TraceSource {
        TraceSource { name, purpose, programs, module: None, when: When::Always }
    }

    fn of_signals(source: &SignalSource) -> TraceSource {
        let SignalSource { name, purpose, module, programs, .. } = *source;
        TraceSource { name, purpose, programs, module, when: When::Always }
    }
}

const fn program(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
    TracepointProgram::at_least(name, tracepoint, arguments)
}

const fn exactly(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
    TracepointProgram::exactly(name, tracepoint, arguments)
}

/// Sources that every kernel has which can be traced.
const WORKQUEUES: &str = "tracing: workqueues";
const SCHEDULER: &str = capability::SCHEDULER;
const SYSTEM_CALLS: &str = capability::SYSTEM_CALLS;
const TASK_ITERATORS: &str = "tracing: waits at the begin and the end";
const BLOCK_REQUESTS: &str = capability::BLOCK_REQUESTS;
const ISSUES: &str = "tracing: block request issues";
const RETRIES: &str = "tracing: block request retries";
const FUSE_SERVERS: &str = "tracing: FUSE servers";

/// What tasks do: time off the CPU, and system calls.
const TASKS: [TraceSource; 8] = [
    TraceSource::always(
        WORKQUEUES,
        "The requests that kernel workers complete for others",
        &[program("workqueue_queue_work", "workqueue_queue_work", 3)],
    ),
    TraceSource::always(
        SCHEDULER,
        "Sleeps and run-queue waits of tasks, with stacks and wakers",
        &[
            program("sched_switch", "sched_switch", 3),
            program("sched_waking", "sched_waking", 1),
            program("sched_process_fork", "sched_process_fork", 2),
            program("sched_process_exit", "sched_process_exit", 1),
        ],
    ),
    TraceSource::always(
        "tracing: stop signals",
        "Who stopped a task",
        &[program("signal_generate", "signal_generate", 3)],
    ),
    TraceSource::always(
        "tracing: frozen cgroups",
        "Who froze a task's cgroup (v2)",
        &[program("cgroup_freeze", "cgroup_freeze", 1)],
    ),
    TraceSource::always(
        SYSTEM_CALLS,
        "Slow operations of every program",
        &[program("sys_enter", "sys_enter", 2), program("sys_exit", "sys_exit", 2)],
    ),
    TraceSource {
        when: When::Asked,
        ..TraceSource::always(
            TASK_ITERATORS,
            "Waits that began before the recording, and those that had not ended with it",
            &[
                program(TASKS_AT_START, TASKS_AT_START, 0),
                program(LONG_WAITS, LONG_WAITS, 0),
                program(TASKS_AT_END, TASKS_AT_END, 0),
            ],
        )
    },
    TraceSource {
        when: When::Asked,
        ..TraceSource::always(
            "tracing: use by processes",
            "What each process read, made dirty and has in memory",
            &[program("look_at_usage", "look_at_usage", 0)],
        )
    },
    TraceSource {
        when: When::Asked,
        ..TraceSource::always(
            "tracing: followed tasks",
            "Every wait of the tasks that --follow names",
            &[program(FOLLOW, FOLLOW, 0)],
        )
    },
];

/// The programs that visit all tasks, at the begin and at the end.
pub(super) const TASKS_AT_START: &str = "tasks_at_start";
pub(super) const LONG_WAITS: &str = "long_waits";
pub(super) const TASKS_AT_END: &str = "tasks_at_end";
/// The program that marks the processes in the map of that name.
pub(super) const FOLLOW: &str = "follow_tasks";
pub(super) const FOLLOWED: &str = "followed";
/// Operations that one system call submits, and that complete separately.
const IO_URING: [TraceSource; 1] = [TraceSource::always(
    "tracing: io_uring",
    "Slow operations of io_uring, from submission to completion",
    &[program("io_uring_submit_req", "io_uring_submit_req", 1), program("io_uring_complete", "io_uring_complete", 3)],
)];

/// Begins the name of a kernel's function where a program lies at its begin, instead of at a tracepoint.
pub(super) const FUNCTION: &str = "fentry:";

/// Servers in user space.
const SERVERS: [TraceSource; 1] = [TraceSource {
    module: Some("fuse"),
    ..TraceSource::always(
        FUSE_SERVERS,
        "What the servers of FUSE file systems wait for",
        &[program("fuse_request_end", "fuse_request_end", 1)],
    )
}];

/// Journals of file systems, which may be modules.
const JOURNALS: [TraceSource; 2] = [
    TraceSource {
        module: Some("jbd2"),
        ..TraceSource::always(
            "tracing: jbd2 handles",
            "Who fills the journal of ext4",
            &[program("jbd2_handle_stats", "jbd2_handle_stats", 8)],
        )
    },
    TraceSource {
        module: Some("xfs"),
        ..TraceSource::always(
            "tracing: XFS transactions",
            "Who fills the log of XFS",
            &[
                program("xfs_log_ticket_ungrant", "xfs_log_ticket_ungrant", 2),
                program("xfs_log_ticket_regrant", "xfs_log_ticket_regrant", 2),
            ],
        )
    },
];

/// Block requests. Tracepoints that only add a moment are sources of their own.
const REQUESTS: [TraceSource; 5] = [
    TraceSource::always(
        BLOCK_REQUESTS,
        "Block requests that tasks wait for, by stage",
        &[
            program("block_rq_insert", "block_rq_insert", 1),
            program("block_rq_merge", "block_rq_merge", 1),
            program("block_rq_complete", "block_rq_complete", 3),
        ],
    ),
    TraceSource {
        when: When::Wanted,
        ..TraceSource::always(
            ISSUES,
            "Issue times of requests, for devices without a scheduler or without the kernel's own timestamps",
            &[program("block_rq_issue", "block_rq_issue", 1)],
        )
    },
    TraceSource::always(
        RETRIES,
        "Requests that failed at the device and were issued again",
        &[program("block_rq_requeue", "block_rq_requeue", 1)],
    ),
    TraceSource {
        when: When::EachRequest,
        ..TraceSource::always(
            "tracing: block request starts",
            "Allocation times and submitters of requests that are plugged",
            &[program("block_io_start", "block_io_start", 1)],
        )
    },
    TraceSource::always(
        "tracing: dirty inodes",
        "The tasks that writeback works for",
        &[
            program("dirty_inode", "writeback_dirty_inode_enqueue", 1),
            program("changed_inode", "writeback_dirty_inode_start", 1),
        ],
    ),
];

/// All sources, in the order of findings: file systems, which may be modules, come last.
pub(super) fn all() -> Vec<TraceSource> {
    let (modules, kernel): (Vec<&SignalSource>, Vec<_>) = SOURCES.iter().partition(|source| source.module.is_some());
    let of_signals = |sources: Vec<&SignalSource>| sources.into_iter().map(TraceSource::of_signals).collect::<Vec<_>>();
    let modules = [of_signals(modules), JOURNALS.to_vec(), SERVERS.to_vec()].concat();
    [TASKS.to_vec(), IO_URING.to_vec(), of_signals(kernel), REQUESTS.to_vec(), modules].concat()
}

/// The programs of `bpf/early.bpf.c`, by the name of the source that they stand for. They need no more of the kernel
/// than Linux 5.8 and 5.9 brought.
const EARLY: [(&str, &[TracepointProgram]); 7] = [
    (WORKQUEUES, &[program("workqueue_queue_work", "workqueue_queue_work", 3)]),
    (
        SCHEDULER,
        &[
            program("sched_switch", "sched_switch", 3),
            program("sched_waking", "sched_waking", 1),
            program("sched_process_fork", "sched_process_fork", 2),
            program("sched_process_exit", "sched_process_exit", 1),
        ],
    ),
    (SYSTEM_CALLS, &[program("sys_enter", "sys_enter", 2), program("sys_exit", "sys_exit", 2)]),
    (TASK_ITERATORS, &[program(TASKS_AT_START, TASKS_AT_START, 0), program(TASKS_AT_END, TASKS_AT_END, 0)]),
    (
        BLOCK_REQUESTS,
        &[
            exactly("block_rq_insert", "block_rq_insert", 1),
            exactly("block_rq_insert_2", "block_rq_insert", 2),
            program("block_rq_complete", "block_rq_complete", 3),
        ],
    ),
    (ISSUES, &[exactly("block_rq_issue", "block_rq_issue", 1), exactly("block_rq_issue_2", "block_rq_issue", 2)]),
    (
        RETRIES,
        &[exactly("block_rq_requeue", "block_rq_requeue", 1), exactly("block_rq_requeue_2", "block_rq_requeue", 2)],
    ),
];

/// Programs at functions, for kernels without the tracepoints of the source of that name.
const AT_FUNCTIONS: [(&str, &[TracepointProgram]); 1] =
    [(FUSE_SERVERS, &[program("fuse_answered", "fentry:fuse_request_end", 1)])];

/// The functions that sources may have programs at.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    let programs = AT_FUNCTIONS.iter().flat_map(|(_, programs)| programs.iter());
    programs.filter_map(|program| program.tracepoint.strip_prefix(FUNCTION))
}

/// The same sources, with programs at functions where the kernel has these, but not the tracepoints. `has` says what it
/// has.
pub(super) fn at_functions(sources: &[TraceSource], has: impl Fn(&str) -> bool) -> Vec<TraceSource> {
    let has_all = |programs: &[TracepointProgram]| programs.iter().all(|program| has(program.tracepoint));
    let instead = |source: &TraceSource| {
        let (_, programs) = AT_FUNCTIONS.iter().find(|(name, _)| *name == source.name)?;
        (!has_all(source.programs) && has_all(programs)).then_some(*programs)
    };
    sources
        .iter()
        .map(|source| TraceSource { programs: instead(source).unwrap_or(source.programs), ..*source })
        .collect()
}

/// The sources that an early kernel has, and those that it lacks.
pub(super) fn early(sources: &[TraceSource]) -> (Vec<TraceSource>, Vec<TraceSource>) {
    let programs_of = |source: &TraceSource| EARLY.iter().find(|(name, _)| *name == source.name);
    let (had, lacked): (Vec<TraceSource>, Vec<_>) = sources.iter().partition(|source| programs_of(source).is_some());
    // These programs count nothing that shows whether issues are needed.
    let when = |source: &TraceSource| if source.when == When::Wanted { When::Always } else { source.when };
    let with_programs = |source: TraceSource| {
        programs_of(&source).map(|(_, programs)| TraceSource { programs, when: when(&source), ..source })
    };
    (had.into_iter().filter_map(with_programs).collect(), lacked)
}
