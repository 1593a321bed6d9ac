//! How tasks were stopped: what lets them go on depends on it.

pub(crate) mod children;
pub(crate) mod senders;

use model::detail::Detail;
use model::wait_kind::WaitKind;

use std::collections::{BTreeMap, BTreeSet};

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::stop::Stop;
use crate::blame::facts::task_id::TaskId;
use crate::waits::{Freezer, Path, Stopped};

/// The manager of the machine's units.
const MANAGER: u32 = 1;

/// What a row whose time is a stop waits for; `None` where that is not known. The state when the task left the CPU says
/// it. Where a task was frozen in its sleep only its cgroup, or the thaw that woke it, does; a poll shows only its
/// stack.
pub(crate) fn kind(index: &RunIndex, row: &Row) -> Option<WaitKind> {
    let freezer = index.detail(row).and_then(Detail::freezer);
    let thaws = || index.waker_stack(row).is_some_and(|waker| waker.thaws);
    let rule = || index.stack(row.stack.get()).and_then(|stack| stack.rule);
    match row.stop {
        Some(Stop::Debugger) => Some(WaitKind::Debugger),
        Some(Stop::Signal) => Some(WaitKind::StopSignal),
        Some(Stop::Freezer) => Some(WaitKind::FrozenCgroup),
        None if freezer.is_some() || thaws() => Some(WaitKind::FrozenCgroup),
        None => rule().filter(|rule| rule.cause == Cause::Stopped).map(|rule| rule.kind),
    }
}

/// The threads of the paths that were stopped: their processes, and with which cgroup they were frozen.
pub(crate) fn stopped(index: &RunIndex, paths: &[Path]) -> BTreeMap<u32, Stopped> {
    let steps = paths.iter().flatten().filter(|step| step.cause == Cause::Stopped);
    let tids: BTreeSet<u32> = steps.map(|step| step.tid).collect();
    tids.into_iter().map(|tid| (tid, of_thread(index, tid))).collect()
}

fn of_thread(index: &RunIndex, tid: u32) -> Stopped {
    let rows = || index.rows_between(tid, 0, u64::MAX).map(|(_, row)| row);
    let freezer = rows().find_map(|row| {
        let freezer = index.detail(row)?.freezer()?;
        let by = row.holder_tid.get().map(|by| index.tasks.process_of(by, row.start_ns));
        let version = freezer.is_v2.then_some(2);
        let is_of_manager = freezer.through == MANAGER || by.is_none_or(|by| by == MANAGER);
        Some(Freezer { cgroup: freezer.cgroup.clone(), version, is_of_manager })
    });
    let at_ns = rows().find(|row| row.stop.is_some()).map_or(u64::MAX, |row| row.start_ns);
    Stopped { pid: index.tasks.process_of(tid, at_ns), freezer }
}

/// The process that froze a cgroup at the request of the given one; `None` if no process did.
pub(crate) fn through(index: &RunIndex, cause: Cause, asked_by: u32) -> Option<TaskId> {
    if cause != Cause::Stopped {
        return None;
    }
    let frozen = index.rows.iter().filter(|row| row.stop == Some(Stop::Freezer));
    let by_it =
        |row: &&Row| row.holder_tid.get().is_some_and(|by| index.tasks.process_of(by, row.start_ns) == asked_by);
    let through = frozen.filter(by_it).find_map(|row| Some(index.detail(row)?.freezer()?.through))?;
    (through != 0).then(|| index.tasks.thread(through, u64::MAX, &index.names))
}
