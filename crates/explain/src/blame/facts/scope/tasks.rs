//! Which tasks and files are in scope.

use super::{Scope, any, holds, is_comm};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::task_id::TaskId;

impl Scope {
    /// Whether a thread is in scope of which only this is known.
    pub(crate) fn has_named<'a>(&self, task: &TaskId, cgroups: impl Iterator<Item = &'a str> + Clone) -> bool {
        any(&self.pids, |&pid| pid == task.tid)
            && any(&self.comms, |pattern| task.name.as_deref().is_some_and(|name| is_comm(pattern, name)))
            && any(&self.cgroups, |pattern| cgroups.clone().any(|cgroup| holds(pattern, cgroup)))
    }

    /// Whether a file is in scope.
    pub(crate) fn has_path(&self, path: Option<&str>) -> bool {
        any(&self.paths, |pattern| path.is_some_and(|path| holds(pattern, path)))
    }

    /// Whether a task is in scope at a moment.
    pub(crate) fn has_task(&self, index: &RunIndex, tid: u32, at_ns: u64) -> bool {
        let (tasks, names) = (&index.tasks, &index.names);
        let pid = tasks.process_of(tid, at_ns);
        let is_named = |pattern: &String| {
            let of = |tid: u32| tasks.name(tid, at_ns).is_some_and(|name| is_comm(pattern, names.get(name)));
            of(tid) || of(pid)
        };
        let is_below = |pattern: &String| {
            let is_wanted = |cgroup| holds(pattern, names.get(cgroup));
            tasks.cgroups(tid, at_ns).any(is_wanted) || index.usage.is_in(pid, is_wanted)
        };
        any(&self.pids, |&wanted| wanted == tid || wanted == pid)
            && any(&self.comms, is_named)
            && any(&self.cgroups, is_below)
    }

    /// Tasks that are named are asked about: by their number always, by name or cgroup in a run without a command.
    pub(crate) fn find_subjects(&self, index: &mut RunIndex) {
        let has_group = !self.comms.is_empty() || !self.cgroups.is_empty();
        let by_group = has_group && !index.has_command;
        if self.pids.is_empty() && !by_group {
            return;
        }
        let lasts = index.tasks_rows().map(|(rows, _)| &rows[rows.len() - 1]);
        let named = lasts.filter(|last| self.has_task(index, last.tid, last.end_ns)).map(|last| last.tid);
        let named: Vec<u32> = named.collect();
        index.subjects.extend(named);
    }
}
