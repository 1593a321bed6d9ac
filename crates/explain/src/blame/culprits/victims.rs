//! Whose time is lost.

use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::Operation;

/// Whose operations a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Victims {
    /// Not of the recorded command, nor of the load.
    pub(crate) are_others: bool,
    /// The name of the process, and the cgroup.
    pub(crate) process: Option<Name>,
    pub(crate) cgroup: Option<Name>,
}

/// Victims, and the process among them that lost the time.
pub(super) type Victim = (Victims, u32);

impl Victims {
    pub(crate) fn of(index: &RunIndex, operation: &Operation) -> Victims {
        let (tid, at_ns) = (operation.tid, operation.end_ns);
        let of_process = index.tasks.pid(tid, at_ns).and_then(|pid| index.tasks.program(pid, at_ns));
        Victims {
            are_others: operation.is_of_command(index) == Some(false),
            process: of_process.or_else(|| index.tasks.name(tid, at_ns)),
            cgroup: index.tasks.cgroup(tid, at_ns),
        }
    }
}
