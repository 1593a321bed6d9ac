//! The findings.

use model::block::DeviceNumber;
use model::simulation::Origin;
use model::stall::{KindCounts, TraceSettings};

use super::cause::{Cause, EvidenceTimes};

/// Why a run's slow operations were slow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The model that simulated the run; `None` for a run on a machine.
    pub simulated: Option<Origin>,
    /// Operations at least this long are explained.
    pub slower_than_ns: u64,
    /// The threshold requested, where it is below what the run recorded.
    pub asked_for_ns: Option<u64>,
    /// How the kernel was traced; `None` without a trace, where only polls of blocked tasks explain anything.
    pub trace: Option<TraceSettings>,
    /// Operations that the load finished within the measured phases, slow or not; `None` without a load.
    pub operations: Option<u64>,
    /// The slowest operation of the load, explained or not: class and latency, ns.
    pub slowest: Option<(String, u64)>,
    /// Slow operations that ended outside the measured phases; excluded.
    pub outside: u64,
    /// Slow operations explained.
    pub slow_operations: u64,
    /// Those of other programs, not of the load: system calls, page faults and waits.
    pub others: u64,
    /// Sum of their durations, ns. The times of [`Explanation::causes`] add up to it.
    pub wall_ns: u64,
    /// Time by cause, including `running` and `unexplained`; the largest first, zeros omitted.
    pub causes: Vec<CauseTime>,
    /// The same by class of operation, the class with the most time first.
    pub classes: Vec<ClassTimes>,
    /// Root blockers, the most time first. Running and unexplained time has none.
    pub culprits: Vec<Culprit>,
    /// The longest operations, the longest first.
    pub stalls: Vec<Stall>,
    /// What was lost or is missing: shares may be too small.
    pub losses: Losses,
}

impl Explanation {
    /// Time of that cause, ns.
    pub fn time_ns(&self, cause: Cause) -> u64 {
        self.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.time_ns)
    }

    /// Its share of the wall time, 0 to 1; `None` where there is none.
    pub fn share(&self, cause: Cause) -> Option<f64> {
        (self.wall_ns > 0).then(|| self.time_ns(cause) as f64 / self.wall_ns as f64)
    }
}

/// Time that operations lost to one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Duration, ns.
    pub time_ns: u64,
    /// Operations that lost any time to it.
    pub operations: u64,
    /// Operations that lost more time to it than to any other cause. Over all causes these sum to the number of operations.
    pub most_of: u64,
    /// By evidence; sums to the time.
    pub evidence: EvidenceTimes,
}

/// One class of operations, named by the load or by the system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassTimes {
    /// The class.
    pub class: String,
    /// Slow operations.
    pub operations: u64,
    /// Sum of their durations, ns.
    pub wall_ns: u64,
    /// As in [`Explanation::causes`].
    pub causes: Vec<CauseTime>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// Kernel thread id.
    pub tid: u32,
    /// Its name, where the run recorded it.
    pub name: Option<String>,
}

/// `fio/1234`; `thread 1234` where the name is unknown.
impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name}/{}", self.tid),
            None => write!(f, "thread {}", self.tid),
        }
    }
}

/// A root blocker: the end of chains of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// The thread that the last wait was for, or that submitted the request; `None` where an interrupt, a limit or an
    /// unknown task ended it.
    pub task: Option<Who>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// The disk.
    pub device: Option<DeviceNumber>,
    /// The file system on it: type and mount point.
    pub file_system: Option<String>,
    /// What the operations waited for.
    pub cause: Cause,
    /// Duration, ns.
    pub time_ns: u64,
}

/// One slow operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The thread.
    pub task: Who,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Class of the load, or system call.
    pub operation: String,
    /// File.
    pub path: Option<String>,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// Duration, ns; until the last poll, where it had not ended.
    pub duration_ns: u64,
    /// Whether it had ended.
    pub finished: bool,
    /// Time by cause, the largest first. The times sum exactly to the duration.
    pub causes: Vec<StallCause>,
    /// The longest wait, what that wait was for, and so on.
    pub chain: Vec<Link>,
    /// The request at the end of the chain.
    pub request: Option<RequestLife>,
}

/// Time that one operation lost to one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallCause {
    /// The cause.
    pub cause: Cause,
    /// Duration, ns.
    pub time_ns: u64,
    /// By evidence; sums to the time.
    pub evidence: EvidenceTimes,
    /// Description of its longest piece.
    pub detail: Option<String>,
}

/// One step of a chain of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The thread that waited or ran.
    pub task: Option<Who>,
    /// What for.
    pub cause: Cause,
    /// Description.
    pub detail: Option<String>,
    /// The part of the previous step that it explains, ns.
    pub time_ns: u64,
}

/// A block request, as seen by the tasks that waited for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLife {
    /// The disk.
    pub device: DeviceNumber,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub bytes: u32,
    /// As blktrace's RWBS letters.
    pub kind: model::block::Kind,
    /// The submitter.
    pub task: Who,
    /// From insertion to issue, ns; `None` where it was not queued, or the events were not recorded.
    pub queue_ns: Option<u64>,
    /// At the device, ns; `None` where the issue was not recorded.
    pub device_ns: Option<u64>,
    /// It was throttled by its cgroup.
    pub throttled: bool,
    /// Requests in flight when it was queued, by kind.
    pub in_flight: KindCounts,
    /// Requests queued later and completed earlier, by kind.
    pub overtaken_by: KindCounts,
}

/// What the rows lack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// What was lost, and its count.
    pub lost: Vec<(String, u64)>,
    /// Tables that were dropped, and why.
    pub tables: Vec<(String, String)>,
    /// What could not be traced: what, why, remedy.
    pub missing: Vec<(String, Option<String>, Option<String>)>,
    /// Inconsistent rows, ignored.
    pub damaged: u64,
    /// Waits that name a request missing from the run.
    pub unknown_requests: u64,
}

impl Losses {
    /// Whether shares may be too small.
    pub fn any(&self) -> bool {
        !self.lost.is_empty() || !self.tables.is_empty() || self.damaged > 0 || self.unknown_requests > 0
    }
}
