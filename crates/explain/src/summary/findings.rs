//! The findings of a summary. Unknown is `None`, never zero.

use model::event::{Ending, Member, RunEvent};
use model::operation::{IntervalRecord, OperationRecord, ROUND};
use model::preflight::Finding;
use model::run::{Limits, RecipeAsRun};
use model::simulation::{Course, Origin, Simulation};

use super::cgroups::CgroupFigures;
use super::failures::FailureCount;
use statistics::Distribution;
use statistics::{RateSummary, TimedAmount};

/// The class of operations that each create a file. Their rate covers the whole phases that create files, because
/// making them durable may follow after the last creation.
const CREATE: &str = "create";

/// What happened in a run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The workload's name.
    pub workload: String,
    /// The simulation; `None` for a run on a machine.
    pub simulated: Option<Simulated>,
    /// One line on the machine, as every comparison needs it: kernel, CPUs, memory.
    pub host: String,
    /// The recipe and its values; `None` without a load.
    pub recipe: Option<RecipeAsRun>,
    /// Directories under test, as given by the user.
    pub directories: Vec<String>,
    /// Start of the run on the monotonic clock, ns.
    pub started_ns: u64,
    /// Length of the measured phases or, without a load, of the recording; ns.
    pub duration_ns: u64,
    /// Length of the warm-up, ns.
    pub warmup_ns: u64,
    /// How the run ended; `None`: it is still being written, or was truncated.
    pub ending: Option<Ending>,
    /// The threshold that makes an operation slow, ns.
    pub slower_than_ns: u64,
    /// Limits on the load.
    pub limits: Limits,
    /// Phases in order.
    pub phases: Vec<PhaseSummary>,
    /// Operation classes of the measured phases, in order of first appearance.
    pub operations: Vec<OperationSummary>,
    /// Rates by name, without the `_per_s`: `work`, `alloc_stalls`, ...
    pub rates: Vec<(String, RateSummary)>,
    /// What these rates are of: amounts over time, on the monotonic clock.
    pub amounts: Vec<(String, Vec<TimedAmount>)>,
    /// Figures that a recorded command printed, by name.
    pub printed: Vec<(String, f64)>,
    /// Slow operations by class.
    pub slow: Vec<SlowCount>,
    /// The worst operations, longest first, including unfinished ones.
    pub worst: Vec<OperationRecord>,
    /// Failed operations, the first few.
    pub failed: Vec<OperationRecord>,
    /// All failures by kind, including those of unmeasured phases.
    pub failures: Vec<FailureCount>,
    /// Pressure stall information (PSI).
    pub pressure: Vec<Pressure>,
    /// Counters of the memory cgroup.
    pub memory_cgroup: Option<MemoryCgroupFigures>,
    /// The busiest and most stalled cgroups.
    pub cgroups: Vec<CgroupFigures>,
    /// Some figures over time.
    pub timeline: Vec<TimelineRow>,
    /// What recording cost and lost.
    pub recording: Recording,
    /// Losses, late samples, clock steps and notes, in order.
    pub remarks: Vec<RunEvent>,
    /// What the machine does not support.
    pub missing: Vec<Finding>,
}

/// A simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The model.
    pub origin: Origin,
    /// What was simulated.
    pub simulation: Simulation,
    /// Its course; `None` while it runs, or if it was truncated.
    pub course: Option<Course>,
}

/// A phase of the load.
#[derive(Debug, Clone)]
pub struct PhaseSummary {
    /// The recipe's name for it.
    pub name: String,
    /// Whether its operations count.
    pub measured: bool,
    /// Start since the run's start, ns.
    pub start_ns: u64,
    /// End since the run's start, ns; `None` while it lasts or if it was truncated.
    pub end_ns: Option<u64>,
    /// Bytes moved, known at its end.
    pub bytes: Option<u64>,
    /// Its operations by class, in order of first appearance, measured or not.
    pub operations: Vec<OperationSummary>,
    /// Operations and bytes over time.
    pub progress: Vec<Progress>,
    /// The threads that started together and ended individually.
    pub job_threads: Vec<Member>,
}

/// Operations that ended in one report interval of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Start since the run's start, ns.
    pub start_ns: u64,
    /// End since the run's start, ns.
    pub end_ns: u64,
    /// Operations that ended, without rounds.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Files created, without those whose creation failed.
    pub files: u64,
}

/// One class of operations over the measured phases.
#[derive(Debug, Clone)]
pub struct OperationSummary {
    /// The class.
    pub class: String,
    /// Its finished operations.
    pub latencies: Distribution,
    /// Unfinished operations older than the threshold at the end of the measurement.
    pub stuck: u64,
    /// Age of the oldest of those, ns.
    pub stuck_oldest_ns: Option<u64>,
}

impl Summary {
    /// The thread of a job that did an operation in its share of a phase; `None` where it is none, or more than one has
    /// its thread id: nodes have threads of their own.
    pub fn member_of(&self, operation: &OperationRecord) -> Option<&Member> {
        let did = |member: &&Member| {
            member.tid == operation.tid && (member.start_ns..=member.end_ns).contains(&operation.start_ns)
        };
        let mut members = self.phases.iter().flat_map(|phase| &phase.job_threads).filter(did);
        members.next().filter(|_| members.next().is_none())
    }
}

impl PhaseSummary {
    /// Adds an interval. `started_ns` is the run's start.
    pub(super) fn add(&mut self, record: &IntervalRecord, started_ns: u64) {
        OperationSummary::add_to(&mut self.operations, record);
        if record.class == ROUND {
            return;
        }
        let since = |at_ns: u64| at_ns.saturating_sub(started_ns);
        let (start_ns, end_ns) = (since(record.start_ns), since(record.end_ns));
        if self.progress.last().is_none_or(|last| last.end_ns != end_ns) {
            self.progress.push(Progress { start_ns, end_ns, ..Progress::default() });
        }
        let last = self.progress.last_mut().expect("one was pushed if there was none");
        last.operations += record.count;
        last.bytes += record.bytes;
        if record.class == CREATE {
            last.files += record.count.saturating_sub(record.errors);
        }
    }

    /// Items per second of all threads of the job, from the common start to the end of the last one; `None` without
    /// any.
    pub fn items_per_s(&self) -> Option<f64> {
        let start_ns = self.job_threads.iter().map(|member| member.start_ns).min()?;
        let end_ns = self.job_threads.iter().map(|member| member.end_ns).max()?;
        let items: u64 = self.job_threads.iter().map(|member| member.items).sum();
        (end_ns > start_ns).then(|| items as f64 * 1e9 / (end_ns - start_ns) as f64)
    }

    /// The sum of the members' rates, each over its own time, as tools without a common end compute it: at least
    /// [`PhaseSummary::items_per_s`], and higher the less evenly the members ended.
    pub fn sum_of_own_items_per_s(&self) -> Option<f64> {
        let own = |member: &Member| match member.end_ns.saturating_sub(member.start_ns) {
            0 => 0.0,
            took_ns => member.items as f64 * 1e9 / took_ns as f64,
        };
        (!self.job_threads.is_empty()).then(|| self.job_threads.iter().map(own).sum())
    }

    /// Files created over its time, including intervals without any; empty if the phase creates no files. `started_ns`
    /// is the run's start.
    pub(super) fn files_created(&self, started_ns: u64) -> Vec<TimedAmount> {
        if self.progress.iter().all(|progress| progress.files == 0) {
            return Vec::new();
        }
        let mut amounts = Vec::new();
        let mut until_ns = self.start_ns;
        let mut add = |from_ns: u64, to_ns: u64, files: u64| {
            let (from_ns, to_ns) = (started_ns.saturating_add(from_ns), started_ns.saturating_add(to_ns));
            if to_ns > from_ns {
                amounts.push(TimedAmount { from_ns, to_ns, amount: files as f64 });
            }
        };
        let end = self.end_ns.map(|end_ns| Progress { start_ns: end_ns, end_ns, ..Progress::default() });
        for progress in self.progress.iter().copied().chain(end) {
            add(until_ns, progress.start_ns, 0);
            add(progress.start_ns, progress.end_ns, progress.files);
            until_ns = progress.end_ns;
        }
        amounts
    }
}

impl OperationSummary {
    /// Adds an interval's operations to their class; new classes are appended.
    pub(super) fn add_to(operations: &mut Vec<OperationSummary>, record: &IntervalRecord) {
        let class = match operations.iter_mut().find(|operation| operation.class == record.class) {
            Some(class) => class,
            None => {
                operations.push(OperationSummary {
                    class: record.class.clone(),
                    latencies: Distribution::default(),
                    stuck: 0,
                    stuck_oldest_ns: None,
                });
                operations.last_mut().expect("it was just pushed")
            }
        };
        class.latencies.add(record);
        // The last interval decides: operations stuck earlier that finished since are in the distribution.
        class.stuck = record.stuck;
        class.stuck_oldest_ns = record.oldest_running_ns.filter(|_| record.stuck > 0);
    }
}

/// Number of operations of a class above the threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowCount {
    /// The class.
    pub class: String,
    /// Count, from the histogram: complete even if individual records were lost.
    pub count: u64,
}

/// One kind of pressure (`/proc/pressure`).
#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    /// `memory`, `io` or `cpu`.
    pub resource: String,
    /// `some`: at least one task stalled. `full`: all non-idle tasks stalled.
    pub extent: String,
    /// Share of the measured time, 0 to 1.
    pub share: f64,
}

/// Counters of the memory cgroup in the measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryCgroupFigures {
    /// The limit.
    pub limit_bytes: u64,
    /// Maximum usage in a sample.
    pub max_usage_bytes: Option<u64>,
    /// Allocations that hit the limit, per second.
    pub limit_hits_per_s: Option<f64>,
    /// Starts of reclaim in memory cgroups, per second (by tracepoint, of all memory cgroups on the machine).
    pub reclaims_per_s: Option<f64>,
}

/// A figure in equal steps over the measured time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRow {
    /// Name with unit: `write p99, ms`.
    pub name: String,
    /// The values; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// What recording cost and lost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// Samples taken.
    pub samples: u64,
    /// Metrics seen.
    pub metrics: u64,
    /// Samples taken late by more than a tenth of the interval.
    pub late_samples: u64,
    /// Planned samples that were never taken.
    pub missing_samples: u64,
    /// Lost events of any kind.
    pub lost_events: u64,
    /// Late samples and gaps counted but not listed.
    pub remarks_left_out: u64,
    /// Cost of tracing; `None` without a trace, or if the run ended before the first report.
    pub trace: Option<TraceCosts>,
    /// CPU time of the sampling thread per sample, ms.
    pub cpu_ms_per_sample: Option<f64>,
    /// Archive bytes per sample, of the tables of samples and metrics only.
    pub bytes_per_sample: Option<f64>,
    /// Total archive bytes.
    pub archive_bytes: Option<u64>,
}

/// Cost of tracing the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceCosts {
    /// Events taken from the kernel.
    pub events: u64,
    /// CPU time of the consumer thread.
    pub consumer_cpu_ns: u64,
    /// CPU time of the BPF programs; `None` where the kernel does not report it.
    pub programs_cpu_ns: Option<u64>,
    /// From the run's start to the last report of the cost.
    pub span_ns: u64,
}

impl TraceCosts {
    /// Share of one CPU that tracing took, as far as known.
    pub fn cpu_share(&self) -> Option<f64> {
        let cpu_ns = self.consumer_cpu_ns.saturating_add(self.programs_cpu_ns.unwrap_or(0));
        (self.span_ns > 0).then(|| cpu_ns as f64 / self.span_ns as f64)
    }
}
