//! Root blockers by what names them.

use model::block::DeviceNumber;
use model::detail::Detail;

use super::need::device_of_call;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::task_id::TaskId;
use crate::blame::graph::chain::End;

/// A root blocker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) process: Option<TaskId>,
    pub(super) cgroup: Option<Name>,
    pub(super) device: Option<DeviceNumber>,
    pub(super) cause: Cause,
    /// Whether it filled the memory that held what is read again.
    pub(super) evicts: bool,
}

/// Who is at the end of a row's chain. `sleep`: the victim's, where the row is of another task.
pub(super) fn key(
    index: &RunIndex,
    disks: &Disks,
    (row, sleep): (u32, Option<u32>),
    cause: Cause,
    end: Option<End<'_>>,
) -> Key {
    let Some(end) = end else { return before_on_cpu(index, row, cause) };
    let last = index.row(end.row);
    let detail = index.detail(last);
    let freezer = detail.and_then(Detail::freezer);
    // Who stopped it, perhaps before the recording, is unknown. It kept others waiting all the same, but not itself.
    let is_own_stop = sleep.is_none() && index.row(row).is_stopped();
    let stopped = || (last.is_stopped() && freezer.is_none() && !is_own_stop).then_some(last.tid);
    let tid = if is_own(cause) { Some(index.row(row).tid) } else { end.tid.or_else(stopped) };
    let process = tid.map(|tid| index.tasks.process(tid, end.at_ns, &index.names));
    let in_detail = || disks.of_detail(detail?);
    let of_call = || device_of_call(index, disks, end.row).filter(|_| cause == Cause::Frozen);
    // Who froze it is unknown.
    let frozen = || index.names.find(&freezer?.cgroup);
    // Also where others wait for a lock of a task that a quota holds.
    let with_quota = detail.and_then(Detail::cpu_quota).filter(|_| cause == Cause::CpuThrottle || last.held);
    let with_quota = with_quota.and_then(|quota| index.names.find(&quota.cgroup));
    let of_itself = || frozen().filter(|_| tid == Some(last.tid));
    // The limit that holds is that of the controller which throttles.
    let own = |tid| match cause {
        Cause::IoThrottle => index.tasks.io_cgroup(tid, end.at_ns),
        _ => index.tasks.cgroup(tid, end.at_ns),
    };
    let throttled = || own(last.tid).filter(|_| cause == Cause::IoThrottle);
    Key {
        process,
        cgroup: with_quota.or_else(of_itself).or_else(|| tid.map_or_else(frozen, own)).or_else(throttled),
        device: end.request.map(|request| request.device).or_else(in_detail).or_else(of_call),
        cause,
        evicts: false,
    }
}

/// The last task that ran on the CPU before a wait for it; for short waits, none is known.
fn before_on_cpu(index: &RunIndex, row: u32, cause: Cause) -> Key {
    let (row, tid) = (index.row(row), index.row(row).behind_tid.get());
    let process = tid.map(|tid| index.tasks.process(tid, row.end_ns, &index.names));
    let cgroup = tid.and_then(|tid| index.tasks.cgroup(tid, row.end_ns));
    Key { process, cgroup, device: None, cause, evicts: false }
}

/// The process that ran while others waited for it, or for which it ran.
pub(super) fn running(index: &RunIndex, tid: u32, at_ns: u64) -> Key {
    let process = Some(index.tasks.process(tid, at_ns, &index.names));
    Key { process, cgroup: index.tasks.cgroup(tid, at_ns), device: None, cause: Cause::Running, evicts: false }
}

/// A task that reclaims memory for itself, lacks room in its own cgroup, has used up its quota, or sleeps because it
/// wants to is its own culprit.
fn is_own(cause: Cause) -> bool {
    use Cause::{Compaction, CpuThrottle, DirectReclaim, OutOfMemory, ReclaimThrottle, Shrinker, Sleep};
    matches!(cause, DirectReclaim | Shrinker | Compaction | ReclaimThrottle | OutOfMemory | CpuThrottle | Sleep)
}
