//! The findings.

use model::block::DeviceNumber;
use model::simulation::Origin;
use model::stall::{KindCounts, TraceSettings};

use super::cause::{Cause, EvidenceTimes};

/// Why a run's slow operations were slow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The model that made the run; `None` of every run on a machine.
    pub simulated: Option<Origin>,
    /// Operations that took at least so long are explained.
    pub slower_than_ns: u64,
    /// The person asked for shorter ones, which the run did not keep.
    pub asked_for_ns: Option<u64>,
    /// How the kernel was traced; `None` where it was not, and only repeated looks at blocked tasks explain anything.
    pub trace: Option<TraceSettings>,
    /// Operations that the load finished within the measured phases, slow or not; `None` without a load of ours.
    pub operations: Option<u64>,
    /// The slowest operation of the load, explained or not: class and latency, ns.
    pub slowest: Option<(String, u64)>,
    /// Slow operations that ended outside of the measured phases, which count nowhere.
    pub outside: u64,
    /// Slow operations that are explained.
    pub slow_operations: u64,
    /// Those among them that are not the load's own: system calls, page faults and waits of other programs.
    pub others: u64,
    /// Sum of their durations, ns. The times of [`Explanation::causes`] add up to it.
    pub wall_ns: u64,
    /// Time by cause, `running` and `unexplained` among them; the largest first, none that is zero.
    pub causes: Vec<CauseTime>,
    /// The same by class of operation; the one with the most time first.
    pub classes: Vec<ClassTimes>,
    /// Who stands at the ends of the chains; the most time first. Running and unexplained time has no culprit.
    pub culprits: Vec<Culprit>,
    /// The longest operations, the longest first.
    pub stalls: Vec<Stall>,
    /// What was lost or is missing, so that shares may be too small.
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
    /// Which.
    pub cause: Cause,
    /// How long, ns.
    pub time_ns: u64,
    /// Operations that lost any time to it.
    pub operations: u64,
    /// Operations that lost more time to it than to any other cause. Over all causes they add up to the operations.
    pub most_of: u64,
    /// How it is known; adds up to the time.
    pub evidence: EvidenceTimes,
}

/// One class of operations: the load's name for it, or the system call's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassTimes {
    /// Which.
    pub class: String,
    /// Slow ones.
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
    /// Its name, where the run knows it.
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

/// What stands at the end of chains of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// The thread that the last wait was for, or whose request it was; `None` where an interrupt, a limit or nobody
    /// known ended it.
    pub task: Option<Who>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// The disk.
    pub device: Option<DeviceNumber>,
    /// The file system on it: type and mount point.
    pub file_system: Option<String>,
    /// What the operations themselves waited for.
    pub cause: Cause,
    /// How long, ns.
    pub time_ns: u64,
}

/// One slow operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// Whose.
    pub task: Who,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Class of the load, or system call.
    pub operation: String,
    /// File.
    pub path: Option<String>,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// How long, ns; until the last look, where it had not ended.
    pub duration_ns: u64,
    /// Whether it had ended.
    pub finished: bool,
    /// Where the time went, the largest first. The times add up to the duration.
    pub causes: Vec<StallCause>,
    /// What it waited for longest, and what that waited for, and so on.
    pub chain: Vec<Link>,
    /// The request at the end of the chain.
    pub request: Option<RequestLife>,
}

/// Time that one operation lost to one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallCause {
    /// Which.
    pub cause: Cause,
    /// How long, ns.
    pub time_ns: u64,
    /// How it is known; adds up to the time.
    pub evidence: EvidenceTimes,
    /// What is known of the longest piece of it, in words.
    pub detail: Option<String>,
}

/// One step of a chain of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Who waited, or did.
    pub task: Option<Who>,
    /// For what.
    pub cause: Cause,
    /// What is known of it, in words.
    pub detail: Option<String>,
    /// How much of the step before it explains, ns.
    pub time_ns: u64,
}

/// A block request, as far as it matters to those who waited for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLife {
    /// The disk.
    pub device: DeviceNumber,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub bytes: u32,
    /// blktrace's letters.
    pub kind: model::block::Kind,
    /// Who made it.
    pub task: Who,
    /// From the queue to the device, ns; `None` where it did not wait in the queue, or was not seen to.
    pub queue_ns: Option<u64>,
    /// At the device, ns; `None` where the begin was not seen.
    pub device_ns: Option<u64>,
    /// A limit of its cgroup held it back.
    pub throttled: bool,
    /// Requests before it when it came, by kind.
    pub in_flight: KindCounts,
    /// Requests that came later and were done earlier, by kind.
    pub overtaken_by: KindCounts,
}

/// What is not in the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// What was lost, and how many.
    pub lost: Vec<(String, u64)>,
    /// Tables that were given up, and why.
    pub tables: Vec<(String, String)>,
    /// What could not be traced: what, why, remedy.
    pub missing: Vec<(String, Option<String>, Option<String>)>,
    /// Rows that contradict themselves and were not used.
    pub damaged: u64,
    /// Waits that name a request, and the request is not in the run.
    pub unknown_requests: u64,
}

impl Losses {
    /// Whether shares may be too small.
    pub fn any(&self) -> bool {
        !self.lost.is_empty() || !self.tables.is_empty() || self.damaged > 0 || self.unknown_requests > 0
    }
}
