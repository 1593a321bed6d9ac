//! The findings.

use model::block::DeviceNumber;
use model::container::Containers;
use model::simulation::Origin;
use model::stall::{KindCounts, TraceSettings};
use model::wait_kind::WaitKind;

use crate::blame::culprits::culprit::Culprit;
use crate::blame::facts::cause::{Cause, CauseTime, EvidenceTimes};
use crate::blame::facts::missing::{Losses, Untraced};
use crate::blame::facts::scope::Scope;
use crate::blame::facts::task_id::TaskId;
use crate::blame::facts::user_stacks::UserStack;
use crate::blame::operations::sleep::Sleeps;
use crate::blame::rule::Rule;

/// Waits that had not ended with the recording: each took at least as long as is known, and what it took in the end is
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// How many.
    pub waits: u64,
    /// The longest of them so far, ns.
    pub longest_ns: u64,
}

/// Why a run's slow operations were slow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// Slow operations and sleeps that had not ended: of the recorded command or load, where there is one.
    pub unfinished: Unfinished,
    /// The model that simulated the run; `None` for a run on a machine.
    pub simulated: Option<Origin>,
    /// Operations at least this long are explained.
    pub slower_than_ns: u64,
    /// The threshold requested, where it is below what the run recorded.
    pub asked_for_ns: Option<u64>,
    /// How the kernel was traced; `None` without a trace, where only polls of blocked tasks explain anything.
    pub trace: Option<TraceSettings>,
    /// Whether the recorded command did nothing but sleep for a time.
    pub command_is_clock: bool,
    /// Tasks that count as the recorded command: what `--follow` named.
    pub followed: Vec<String>,
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
    /// Root blockers, the most time first. Unexplained time has none, and running only where it was that of another
    /// task.
    pub culprits: Vec<Culprit>,
    /// What of the run is explained; `None`: all.
    pub scoped: Option<Scoped>,
    /// The slow operations of the recorded command, or of the load; `None` where neither was run.
    pub command: Option<Part>,
    /// Those of all other programs; `None` where there are none, or no command.
    pub neighbours: Option<Part>,
    /// By process, those of the command first, then the most lost time first.
    pub processes: Vec<VictimGroup>,
    /// By cgroup, in the same order.
    pub cgroups: Vec<VictimGroup>,
    /// Names of containers.
    pub containers: Containers,
    /// Tasks that waited at the same time for one holder, as one finding each; the most time first.
    pub convoys: Vec<Convoy>,
    /// The longest operations, the longest first.
    pub stalls: Vec<Stall>,
    /// Sleeps of the recorded command that no operation holds.
    pub sleeps: Sleeps,
    /// Its waits that no operation holds and that are shorter than a slow operation.
    pub short_waits: ShortWaits,
    /// Where nobody is asked about: the process that waited shortly for the most time, and for most of its time.
    pub most_short_waits: Option<ProcessShortWaits>,
    /// What was lost or is missing: shares may be too small.
    pub losses: Losses,
    /// What the answer would need and was not traced.
    pub untraced: Vec<Untraced>,
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

/// The scope of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scoped {
    /// What is explained.
    pub scope: Scope,
    /// Slow operations outside of it, which are not explained.
    pub outside: u64,
    /// Sum of their durations, ns.
    pub outside_ns: u64,
    /// Where nothing is in scope: by kind of the scope's values (`comm`), what the slow operations have.
    pub present: Vec<(&'static str, Vec<String>)>,
}

/// Some of the slow operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// How many.
    pub operations: u64,
    /// Sum of their durations, ns.
    pub wall_ns: u64,
    /// As in [`Explanation::causes`].
    pub causes: Vec<CauseTime>,
    /// As in [`Explanation::classes`].
    pub classes: Vec<ClassTimes>,
    /// As in [`Explanation::culprits`].
    pub culprits: Vec<Culprit>,
}

/// The slow operations of one program, or of one cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VictimGroup {
    /// The program's name or the cgroup; `None` where it is unknown.
    pub name: Option<String>,
    /// The process, where it is one.
    pub pid: Option<u32>,
    /// Processes.
    pub processes: u64,
    /// Whether it belongs to the recorded command or to the load; `None` where neither was run.
    pub of_command: Option<bool>,
    /// Slow operations.
    pub operations: u64,
    /// Sum of their durations, ns.
    pub wall_ns: u64,
    /// The part of it in which other slow operations waited for these, as clients of a server, ns.
    pub again_ns: u64,
    /// The part of it in which those of the same side did: of the recorded command or load, or of all others.
    pub again_within_ns: u64,
    /// The part of it that was lost: not running, ns.
    pub lost_ns: u64,
    /// What most of the lost time went to.
    pub cause: Option<Cause>,
    /// Time that went to it, ns.
    pub cause_ns: u64,
    /// The root blocker with the most of this time, where known.
    pub culprit: Option<Culprit>,
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

/// One slow operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The thread.
    pub task: TaskId,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Whether it is one of the recorded command or of the load; `None` where neither was run.
    pub of_command: Option<bool>,
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
    /// Whether it began before the recording, and thus took longer.
    pub cut: bool,
    /// Time by cause, the largest first. The times sum exactly to the duration.
    pub causes: Vec<StallCause>,
    /// The longest wait, what that wait was for, and so on.
    pub chain: Vec<Link>,
    /// The request at the end of the chain.
    pub request: Option<RequestLife>,
    /// What its disk did in that time; `None` where that is unknown.
    pub served: Option<Served>,
    /// Where its program was; `None` where that was not recorded.
    pub user_stack: Option<UserStack>,
    /// The rules that its causes and its chain rest on.
    pub rules: Vec<&'static Rule>,
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

/// Waits of the recorded command that are shorter than a slow operation, and that no operation holds: of all its
/// threads, without those in which it may have idled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShortWaits {
    /// How many.
    pub count: u64,
    /// Sum of their durations, ns.
    pub time_ns: u64,
    /// How many of them were recorded individually; the others only as sums.
    pub recorded: u64,
    /// The shortest of those recorded individually, ns.
    pub shortest_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// Time by cause, as of operations; sums to their time.
    pub causes: Vec<CauseTime>,
    /// Those recorded individually, by system call.
    pub calls: Vec<ClassTimes>,
    /// Root blockers of those recorded individually.
    pub culprits: Vec<Culprit>,
    /// CPU time of these threads outside of operations, ns.
    pub running_ns: u64,
    /// Shorter sleeps of which it is not known what they were for: the threads may have idled.
    pub unknown: u64,
    /// Sum of their durations, ns.
    pub unknown_ns: u64,
}

/// Short waits of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessShortWaits {
    /// The process.
    pub process: TaskId,
    /// Its waits.
    pub waits: ShortWaits,
}

/// One step of a chain of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The thread that waited or ran.
    pub task: Option<TaskId>,
    /// What for.
    pub cause: Cause,
    /// Description.
    pub detail: Option<String>,
    /// What it waited for without particulars, such as a class of locks; `None` for a request, or work.
    pub object: Option<WaitKind>,
    /// The part of the previous step that it explains, ns.
    pub time_ns: u64,
    /// When its row began and ended, where it is one; of a request, its first moment and its completion.
    pub span_ns: Option<(u64, u64)>,
    /// The request, where it is one: [`model::stall::RequestRecord::request`].
    pub request: Option<u32>,
    /// It held the lock that the previous step waited for; else it woke that task.
    pub holds: Option<Holds>,
    /// Innermost functions of its kernel stack while it waited; empty where it ran or none was recorded.
    pub kernel_stack: Vec<String>,
    /// Where its program was meanwhile; `None` where that was not recorded.
    pub user_stack: Option<UserStack>,
}

/// Tasks that waited at the same time for one holder of a lock, one journal commit, one freeze, one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convoy {
    /// What they waited for.
    pub cause: Cause,
    /// Who held it, or ended the wait; `None` where that is unknown.
    pub holder: Option<TaskId>,
    /// The disk that the holder waited for.
    pub device: Option<DeviceNumber>,
    /// Its name.
    pub device_name: Option<String>,
    /// Description of the longest of these waits.
    pub detail: Option<String>,
    /// The lock's number within the run, where it has one.
    pub lock: Option<u32>,
    /// Begin of the first wait on the monotonic clock.
    pub start_ns: u64,
    /// End of the last one.
    pub end_ns: u64,
    /// How many times tasks waited together: a lock that is taken again and again has one convoy.
    pub times: u64,
    /// The most threads that waited at one of these times.
    pub at_once: u64,
    /// Threads that waited, each counted once.
    pub victims: u64,
    /// Their processes.
    pub processes: u64,
    /// Their process, where it is only one.
    pub process: Option<TaskId>,
    /// Sum of their waits, ns.
    pub time_ns: u64,
    /// The longest wait of one of them, ns.
    pub longest_ns: u64,
    /// Those that waited longest, and how long each, ns.
    pub named: Vec<(TaskId, u64)>,
}

/// How a task kept another one waiting, other than by its own wait: with a lock, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It is the owner that the lock noted, or released it.
    Exactly,
    /// It is one of the readers of the lock, and may have released it before.
    Perhaps,
    /// None: it stopped the task, or froze its cgroup or file system.
    Stopped,
    /// None: the wait had not ended, and it has the other end of what the task waited on.
    OtherEnd,
}

/// A block request, as seen by the tasks that waited for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLife {
    /// The disk.
    pub device: DeviceNumber,
    /// Its name.
    pub device_name: Option<String>,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub bytes: u32,
    /// As blktrace's RWBS letters.
    pub kind: model::block::Kind,
    /// The submitter, if known.
    pub task: Option<TaskId>,
    /// From insertion to issue, ns; `None` where it was not queued, or the events were not recorded.
    pub queue_ns: Option<u64>,
    /// At the device, ns; `None` where the issue was not recorded.
    pub device_ns: Option<u64>,
    /// It was throttled by its cgroup.
    pub throttled: bool,
    /// What failed at the device.
    pub failed: Option<crate::blame::verdict::failures::Failed>,
    /// Requests in flight when it was queued, by kind.
    pub in_flight: KindCounts,
    /// Requests queued later and completed earlier, by kind.
    pub overtaken_by: KindCounts,
    /// Whose were in flight when it came, of those that a recorded wait was for; `None` where none was.
    pub in_flight_of: Option<Vec<ServedTo>>,
    /// Whose were queued later and completed earlier, of those that a recorded wait was for; `None` where none was.
    pub overtakers: Option<Vec<ServedTo>>,
    /// When it was first seen, on the monotonic clock.
    pub began_ns: u64,
    /// When it completed.
    pub completed_ns: u64,
}

/// The requests that a disk completed while a stalled task waited for one, itself included: from sums of half seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Served {
    /// All of them.
    pub requests: u64,
    /// Their length.
    pub bytes: u64,
    /// By process: those with the most bytes first. The others are missing.
    pub by: Vec<ServedTo>,
}

/// Those of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedTo {
    /// The process; `None`: all those that are not known.
    pub task: Option<TaskId>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// It is that of the stalled task.
    pub is_own: bool,
    /// Number.
    pub requests: u64,
    /// Length.
    pub bytes: u64,
}
