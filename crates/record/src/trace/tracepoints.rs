//! The tracer's sources: which tracepoints each needs, and what it shows. Those of signals come from the model's table.

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

/// What tasks do: time off the CPU, and system calls.
const TASKS: [TraceSource; 2] = [
    TraceSource::always(
        "tracing: scheduler",
        "Sleeps and run-queue waits of tasks, with stacks and wakers",
        &[
            program("sched_switch", "sched_switch", 3),
            program("sched_waking", "sched_waking", 1),
            program("sched_process_fork", "sched_process_fork", 2),
            program("sched_process_exit", "sched_process_exit", 1),
        ],
    ),
    TraceSource::always(
        "tracing: system calls",
        "Slow operations of every program",
        &[program("sys_enter", "sys_enter", 2), program("sys_exit", "sys_exit", 2)],
    ),
];

/// Block requests. Tracepoints that only add a moment are sources of their own.
const REQUESTS: [TraceSource; 3] = [
    TraceSource::always(
        "tracing: block requests",
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
            "tracing: block request issues",
            "Issue times of requests, for devices without a scheduler or without the kernel's own timestamps",
            &[program("block_rq_issue", "block_rq_issue", 1)],
        )
    },
    TraceSource {
        when: When::EachRequest,
        ..TraceSource::always(
            "tracing: block request starts",
            "Allocation times and submitters of requests that are plugged",
            &[program("block_io_start", "block_io_start", 1)],
        )
    },
];

/// All sources, in the order of findings: file systems, which may be modules, come last.
pub(super) fn all() -> Vec<TraceSource> {
    let (modules, kernel): (Vec<&SignalSource>, Vec<_>) = SOURCES.iter().partition(|source| source.module.is_some());
    let of_signals = |sources: Vec<&SignalSource>| sources.into_iter().map(TraceSource::of_signals).collect::<Vec<_>>();
    [TASKS.to_vec(), of_signals(kernel), REQUESTS.to_vec(), of_signals(modules)].concat()
}
