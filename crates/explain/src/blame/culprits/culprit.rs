//! What a root blocker is.

use model::block::DeviceNumber;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::task_id::TaskId;

/// A root blocker: the end of chains of waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// The process that the last wait was for, or that submitted the request; `None` where an interrupt, a limit or an
    /// unknown task ended it. Of several, the one with the most time.
    pub task: Option<TaskId>,
    /// Processes of that name.
    pub tasks: u64,
    /// The program or script that started it: `rotate.sh/812`.
    pub started_by: Option<String>,
    /// The process that stopped the victims for it: the manager of the machine's units that was asked to freeze one.
    pub through: Option<TaskId>,
    /// What it says that it is: `checkpointer`.
    pub role: Option<String>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// The container that this is of, in words: `container loader`.
    pub container: Option<String>,
    /// The disk.
    pub device: Option<DeviceNumber>,
    /// Its name, where the run has it.
    pub device_name: Option<String>,
    /// The file system on it: type and mount point.
    pub file_system: Option<String>,
    /// What the operations waited for.
    pub cause: Cause,
    /// Whether it filled the memory that held what they read again; it need not have used the disk.
    pub evicts: bool,
    /// Duration, ns.
    pub time_ns: u64,
    /// Of that, the time that the processes lost to themselves.
    pub own_ns: u64,
    /// Processes that lost the most time to it, with that time.
    pub victims: Vec<(TaskId, u64)>,
    /// How many processes lost time to it.
    pub victims_count: u64,
    /// Tasks that waited for it at the same time, at most: the victims of its largest convoy. 0: no convoy.
    pub at_once: u64,
}
