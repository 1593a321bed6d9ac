//! Parameters, and the settings as numbers.

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
const CALIBRATED: &str = "calibrated: 580 requests, 82 of them writes, in the second of Gorman's slow write";

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

/// The parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("duration", Duration, "60s", "simulated time to run", OURS),
    parameter("slow_write", Duration, "1s", "latency above which a write is slow", "M. Gorman, linux-ext4, 2013-04"),
    parameter("readers", Count, "12", "tasks that read small files, one read at a time", CALIBRATED),
    parameter("reader_think", Duration, "12ms", "mean think time of a reader", CALIBRATED),
    parameter("writers", Count, "8", "writeback tasks, which submit while tags are available", OURS),
    parameter(
        "run_bios",
        Count,
        "2",
        "mean length of a run of contiguous writeback bios, which merge",
        "btt in Gorman's report: 1,311,662 merged, 1,016,463 not",
    ),
    parameter("programs", Count, "2", "tasks that call fsync", OURS),
    parameter("program_think", Duration, "500ms", "mean think time of a program between two fsyncs", OURS),
    parameter("journal_buffers", Count, "8", "blocks of a transaction, without its commit record", OURS),
    parameter(
        "nr_requests",
        Count,
        "128",
        "requests (tags) for sync and for async each, or in total (pool)",
        "Linux 3.9, BLKDEV_MAX_RQ",
    ),
    parameter(
        "pool",
        Word(&["separate", "shared"]),
        "separate",
        "whether async requests have a separate pool of tags",
        "separate: Linux 3.9, get_request; shared: blk-mq",
    ),
    parameter("max_request", Size, "512k", "maximum request size", "BLK_DEF_MAX_SECTORS of Linux 3.9"),
    parameter("depth", Count, "31", "queue depth of the device", "SATA's native command queueing"),
    parameter("servers", Count, "1", "requests that the device serves at once", "a disk has one arm"),
    parameter("service", Duration, "1700us", "mean service time", CALIBRATED),
    parameter(
        "service_form",
        Word(&["exponential", "constant", "uniform"]),
        "exponential",
        "distribution of the service time; uniform: from 0.5 to 1.5 of the mean",
        OURS,
    ),
    parameter("fifo_batch", Count, "16", "mq-deadline: requests of a batch in sector order", MQ_DEADLINE),
    parameter("read_expire", Duration, "500ms", "mq-deadline: deadline of a read", MQ_DEADLINE),
    parameter("write_expire", Duration, "5s", "mq-deadline: deadline of a write", MQ_DEADLINE),
    parameter("writes_starved", Count, "2", "mq-deadline: read batches that may pass writes", MQ_DEADLINE),
    parameter("quantum", Count, "8", "CFQ: requests of one task at the device", CFQ),
    parameter("slice_sync", Duration, "100ms", "CFQ: time slice of a task", CFQ),
    parameter("slice_async", Duration, "40ms", "CFQ: time slice of all async requests", CFQ),
    parameter("slice_async_rq", Count, "2", "CFQ: async requests per slice, in units of 8", CFQ),
    parameter("slice_idle", Duration, "8ms", "CFQ and BFQ: idle time for the next request of a task", CFQ),
    parameter("fifo_expire_sync", Duration, "125ms", "CFQ and BFQ: age from which a sync request is served first", CFQ),
    parameter(
        "fifo_expire_async",
        Duration,
        "250ms",
        "CFQ and BFQ: age from which an async request is served first",
        CFQ,
    ),
    parameter("target_latency", Duration, "300ms", "CFQ: target of all slices together, with low_latency on", CFQ),
    parameter("budget", Count, "16384", "BFQ: sectors of a budget", BFQ),
    parameter("timeout_sync", Duration, "125ms", "BFQ: maximum duration of a budget", BFQ),
    parameter("async_charge", Count, "3", "BFQ: cost factor of an async sector", BFQ),
    parameter("raised_weight", Count, "30", "BFQ: weight during weight raising; 1: low_latency off", BFQ),
    parameter("raised_time", Duration, "3s", "BFQ: duration of weight raising, on a fast device", BFQ),
    parameter("begins_again", Duration, "2s", "BFQ: idle time after which weight raising starts again", BFQ),
];

/// The scheduler of a policy, with or without promotion.
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

/// The layer's parameters.
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
    // A device without service time would complete requests for ever at one instant.
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

/// The mix's parameters.
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

/// The distribution of service times.
pub(super) fn service(settings: &Settings) -> Service {
    let mean_ns = settings.whole("service");
    match settings.word("service_form") {
        "constant" => Service::Constant(mean_ns),
        "uniform" => Service::Uniform(mean_ns / 2, mean_ns + mean_ns / 2),
        "exponential" => Service::Exponential(mean_ns),
        other => unreachable!("service_form is a word of the table, not {other}"),
    }
}
