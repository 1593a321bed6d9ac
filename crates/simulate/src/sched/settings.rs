//! Parameters, and what is made of them.

use super::elevator::Elevator;
use super::layer::Shape;
use super::mix::Numbers;
use super::pool::Limit;
use super::{bfq, cfq, deadline, fifo};
use crate::parameter::{Kind, Parameter, SettingError, Settings};
use crate::service::Service;

const LEAST_SERVICE_NS: u64 = 1_000;

const OURS: &str = "our choice";
const MQ_DEADLINE: &str = "Linux 6.18, block/mq-deadline.c";
const CFQ: &str = "Linux 3.9, block/cfq-iosched.c";
const BFQ: &str = "Linux 6.18, block/bfq-iosched.c";
const CALIBRATED: &str = "calibrated: 580 requests in the second of the document's slow write, 82 of them writes";

const fn parameter(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    about: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { name, kind, default, about, source }
}

use Kind::{Count, Duration, Size, Word};

/// All of them.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("duration", Duration, "60s", "how long the load runs", OURS),
    parameter("slow_write", Duration, "1s", "a write that takes so long is slow", "the document"),
    parameter("readers", Count, "12", "tasks that read small files, one read at a time", CALIBRATED),
    parameter("reader_think", Duration, "12ms", "mean pause of a reader between two reads", CALIBRATED),
    parameter("writers", Count, "8", "tasks that hand over writeback for as long as they get requests", OURS),
    parameter(
        "run_bios",
        Count,
        "2",
        "mean length of a run of neighbouring bios of writeback, which merge",
        "btt of the document: 1,311,662 merged, 1,016,463 not",
    ),
    parameter("programs", Count, "2", "tasks that call fsync", OURS),
    parameter("program_think", Duration, "500ms", "mean pause of a program between two fsyncs", OURS),
    parameter("journal_buffers", Count, "8", "blocks of a transaction, before its commit record", OURS),
    parameter("nr_requests", Count, "128", "requests, of each direction or in all", "Linux 3.9, BLKDEV_MAX_RQ"),
    parameter(
        "pool",
        Word(&["separate", "shared"]),
        "separate",
        "whether those that nobody waits for have requests of their own",
        "separate: Linux 3.9, get_request; shared: blk-mq",
    ),
    parameter("max_request", Size, "512k", "longest request", "BLK_DEF_MAX_SECTORS of Linux 3.9"),
    parameter("depth", Count, "31", "requests that the device takes", "SATA's native command queueing"),
    parameter("servers", Count, "1", "requests that the device works on at once", "a disk has one arm"),
    parameter("service", Duration, "1700us", "mean time that the device works on one", CALIBRATED),
    parameter(
        "service_form",
        Word(&["exponential", "constant", "uniform"]),
        "exponential",
        "distribution of that time; uniform: from half to three halves of it",
        OURS,
    ),
    parameter("fifo_batch", Count, "16", "mq-deadline: requests by place before it looks up", MQ_DEADLINE),
    parameter("read_expire", Duration, "500ms", "mq-deadline: age that a read is served for", MQ_DEADLINE),
    parameter("write_expire", Duration, "5s", "mq-deadline: age that a write is served for", MQ_DEADLINE),
    parameter("writes_starved", Count, "2", "mq-deadline: batches of reads that pass writes", MQ_DEADLINE),
    parameter("quantum", Count, "8", "CFQ: requests of one task at the device", CFQ),
    parameter("slice_sync", Duration, "100ms", "CFQ: a task's turn", CFQ),
    parameter("slice_async", Duration, "40ms", "CFQ: the turn of all that nobody waits for", CFQ),
    parameter("slice_async_rq", Count, "2", "CFQ: times 8 requests of such a turn", CFQ),
    parameter("slice_idle", Duration, "8ms", "CFQ and BFQ: pause for the next request of a task", CFQ),
    parameter("fifo_expire_sync", Duration, "125ms", "CFQ and BFQ: age that is served first, waited for", CFQ),
    parameter("fifo_expire_async", Duration, "250ms", "CFQ and BFQ: the same, not waited for", CFQ),
    parameter("target_latency", Duration, "300ms", "CFQ: all turns together, with low_latency on", CFQ),
    parameter("budget", Count, "16384", "BFQ: sectors of a budget", BFQ),
    parameter("timeout_sync", Duration, "125ms", "BFQ: how long a budget lasts", BFQ),
    parameter("async_charge", Count, "3", "BFQ: what a sector costs that nobody waits for", BFQ),
    parameter("raised_weight", Count, "30", "BFQ: weight of a task that has just begun; 1: low_latency off", BFQ),
    parameter("raised_time", Duration, "3s", "BFQ: for how long it has just begun, on a fast device", BFQ),
    parameter("begins_again", Duration, "2s", "BFQ: a task without requests for so long begins again", BFQ),
];

/// The scheduler of a policy, which may be with or without promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduler {
    Cfq,
    Deadline,
    Bfq,
    None,
}

impl Scheduler {
    pub(super) fn of_policy(policy: &str) -> Result<Scheduler, SettingError> {
        match policy {
            "cfq" | "cfq-promote" => Ok(Scheduler::Cfq),
            "deadline" | "deadline-promote" => Ok(Scheduler::Deadline),
            "bfq" | "bfq-promote" => Ok(Scheduler::Bfq),
            "none" => Ok(Scheduler::None),
            other => Err(SettingError::unknown_policy("sched", other)),
        }
    }
}

/// The scheduler with its tunables.
pub(super) fn elevator(scheduler: Scheduler, settings: &Settings) -> Box<dyn Elevator> {
    let whole = |name: &str| settings.whole(name);
    let expire_ns = [whole("fifo_expire_sync"), whole("fifo_expire_async")];
    match scheduler {
        Scheduler::Cfq => Box::new(cfq::Cfq::new(cfq::Tunables {
            quantum: whole("quantum"),
            slice_sync_ns: whole("slice_sync"),
            slice_async_ns: whole("slice_async"),
            slice_async_rq: whole("slice_async_rq"),
            slice_idle_ns: whole("slice_idle"),
            fifo_expire_sync_ns: expire_ns[0],
            fifo_expire_async_ns: expire_ns[1],
            target_latency_ns: whole("target_latency"),
        })),
        Scheduler::Deadline => Box::new(deadline::Deadline::new(deadline::Tunables {
            fifo_batch: whole("fifo_batch"),
            read_expire_ns: whole("read_expire"),
            write_expire_ns: whole("write_expire"),
            writes_starved: whole("writes_starved"),
        })),
        Scheduler::Bfq => Box::new(bfq::Bfq::new(bfq::Tunables {
            budget_sectors: whole("budget"),
            timeout_ns: whole("timeout_sync"),
            slice_idle_ns: whole("slice_idle"),
            async_charge: whole("async_charge"),
            raised_weight: whole("raised_weight").max(1),
            raised_ns: whole("raised_time"),
            begins_again_ns: whole("begins_again"),
            fifo_expire_ns: expire_ns,
        })),
        Scheduler::None => Box::new(fifo::Fifo::default()),
    }
}

/// The layer's numbers.
pub(super) fn shape(settings: &Settings) -> Result<Shape, SettingError> {
    let count = |name: &str| match u32::try_from(settings.whole(name)) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(SettingError::Contradiction(format!("{name}: write a number from 1 to {}", u32::MAX))),
    };
    let requests = count("nr_requests")?;
    let limit = match settings.word("pool") {
        "shared" => Limit::Shared(requests, requests),
        "separate" => Limit::Separate(requests),
        other => unreachable!("pool is a word of the table, not {other}"),
    };
    // A device that takes no time is asked for more and more within one moment, for ever.
    if settings.whole("service") < LEAST_SERVICE_NS {
        return Err(SettingError::Contradiction("service: write at least 1us".to_owned()));
    }
    Ok(Shape {
        limit,
        depth: count("depth")?,
        servers: count("servers")?,
        max_sectors: u32::try_from(settings.whole("max_request") / 512).unwrap_or(u32::MAX),
        slow_ns: settings.whole("slow_write"),
        wake_ns: 0,
    })
}

/// The mix's numbers.
pub(super) fn numbers(policy: &str, settings: &Settings) -> Result<Numbers, SettingError> {
    let whole = |name: &str| settings.whole(name);
    let tasks = whole("readers").saturating_add(whole("writers")).saturating_add(whole("programs"));
    if tasks == 0 || tasks > 100_000 {
        let why = format!("readers, writers and programs: {tasks} tasks; write 1 to 100000 in all");
        return Err(SettingError::Contradiction(why));
    }
    Ok(Numbers {
        readers: whole("readers"),
        writers: whole("writers"),
        programs: whole("programs"),
        reader_think_ns: whole("reader_think"),
        program_think_ns: whole("program_think"),
        run_bios: whole("run_bios"),
        journal_buffers: whole("journal_buffers").max(1),
        promote: policy.ends_with("-promote"),
    })
}

/// How long the device works on a request.
pub(super) fn service(settings: &Settings) -> Service {
    let mean_ns = settings.whole("service");
    match settings.word("service_form") {
        "constant" => Service::Constant(mean_ns),
        "uniform" => Service::Uniform(mean_ns / 2, mean_ns + mean_ns / 2),
        "exponential" => Service::Exponential(mean_ns),
        other => unreachable!("service_form is a word of the table, not {other}"),
    }
}
