//! What the time of slow operations consists of, through all tasks that they waited for. [`crate::whatif`] changes it.

mod behind;
mod kernel_threads;
mod limited;

use std::collections::{BTreeMap, BTreeSet};

use model::block::DeviceNumber;
use model::cause::Cause;
use model::occasion::Occasion;
use model::wait_kind::WaitKind;

pub use behind::{Behind, behind};
pub use kernel_threads::KernelThreads;
pub use limited::{IoLimit, Loop, Moved, Turn};

use crate::hashing::FastMap;

/// One step of a path: a wait, and who it was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// What the task of this step waited for, or did.
    pub cause: Cause,
    /// Of a lock or a journal, what it is; of a stop, by what; of a limit, the direction of the throttled request; of a
    /// device, direct I/O or a discard; of memory, `memory.high`; of work, whose. `None`: none of these, or unknown.
    pub kind: Option<WaitKind>,
    /// The disk, of waits for requests.
    pub device: Option<DeviceNumber>,
    /// Of the operation's own wait: the disk that its culprits used, which may be below `device`. Of others, `None`.
    pub blamed: Option<DeviceNumber>,
    /// The thread that this step is the time of: in the first step the operation's own, or the server's whose answer it
    /// awaits.
    pub tid: u32,
    /// It is part of a call that writes a file to its disk (fsync, fdatasync).
    pub syncs: bool,
    /// Why it waits, if not for what its program asked for.
    pub occasion: Option<Occasion>,
}

/// The waits that a piece of time consists of: the operation's own wait, that of the task which it waited for, and so
/// on. Never empty.
pub type Path = Vec<Step>;

/// One slow operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// The thread.
    pub tid: u32,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// Class of the load, or system call: number in [`Waits::names`].
    pub class: u32,
    /// Name of the process and its cgroup: numbers in [`Waits::names`].
    pub task: Option<u32>,
    /// See `task`.
    pub cgroup: Option<u32>,
    /// Number of a path and the time spent on it, ns; each path once. They sum exactly to the duration.
    pub pieces: Vec<(u32, u64)>,
    /// The part of these in which the client of another operation waited for this one, which has that time too, ns.
    pub again: Vec<(u32, u64)>,
    /// Time from the end of the task's previous throttled wait to the first of this operation, ns; `None` where none
    /// was close. A limit that is always used up lets the next operation wait for as much longer as the task spent
    /// elsewhere.
    pub since_throttled_ns: Option<u64>,
    /// Throttled requests whose time at the device is unknown.
    pub unknown_requests: u32,
}

impl Waiting {
    /// Duration, ns.
    pub fn duration_ns(&self) -> u64 {
        self.pieces.iter().map(|(_, ns)| ns).sum()
    }

    /// The part of it that is also another operation's, ns.
    pub fn again_ns(&self) -> u64 {
        self.again.iter().map(|(_, ns)| ns).sum::<u64>().min(self.duration_ns())
    }
}

/// The slow operations of a run, ordered by start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits {
    /// The operations: all, or every n-th.
    pub operations: Vec<Waiting>,
    /// n: how many slow operations each of them stands for.
    pub stands_for: u64,
    /// They are no operations, but the shorter waits of the recorded command.
    pub are_short: bool,
    /// These waits, where they cost it more than its slow operations.
    pub short: Option<Box<Waits>>,
    /// Operations are slow from here on.
    pub slower_than_ns: u64,
    /// Paths by number.
    pub paths: Vec<Path>,
    /// Names of classes, threads and cgroups by number.
    pub names: Vec<String>,
    /// The processes of the operations and of the threads of paths, each as named in output (`fio/1234`).
    pub tasks: BTreeMap<u32, String>,
    /// What processes of these say in their titles that they are, by thread (`checkpointer`).
    pub roles: BTreeMap<u32, String>,
    /// Processes of the recorded command or of the load.
    pub command: BTreeSet<u32>,
    /// Which tasks are threads of the kernel.
    pub kernel_threads: KernelThreads,
    /// Names of the processes whose answers the operations awaited.
    pub servers: BTreeSet<String>,
    /// Median time at the device of requests of which it is known, ns.
    pub device_ns: Option<u64>,
    /// The operations' tasks ran on a part of the CPUs only, while others were idle.
    pub pinned: bool,
    /// Limits that cgroups had: identity of the disk, and `read_bps`, `write_iops` and so on. Empty where none is
    /// known.
    pub io_limits: BTreeSet<(String, &'static str)>,
    /// The cgroup whose limit on a disk delayed requests, where it is only one.
    pub limit_cgroups: BTreeMap<DeviceNumber, String>,
    /// The cgroup whose CPU quota held a thread of the paths.
    pub quota_cgroups: BTreeMap<u32, String>,
    /// The threads of the paths that were stopped.
    pub stopped: BTreeMap<u32, Stopped>,
    /// Limits on disks that delayed operations, and of which the rate is known.
    pub limited: Vec<IoLimit>,
    /// Memory cgroups that were at their limit.
    pub memory: Vec<MemoryLimit>,
    /// Cgroups whose memory limits were sampled. Of others, they are unknown.
    pub memory_sampled: BTreeSet<String>,
    /// Some of the tasks wait for each other's locks.
    pub deadlock: bool,
    /// How SQLite keeps its transactions, by thread, where files that threads waited for are of it.
    pub sqlite: BTreeMap<u32, SqliteJournal>,
    /// Of threads that wrote a file to its disk several times: whether it mostly kept its size.
    pub keep_sizes: BTreeMap<u32, bool>,
    /// What the operations' processes made dirty while the limit of dirty pages paused them; `None` where unknown.
    pub dirtying: Option<Dirtying>,
}

/// What SQLite keeps beside a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SqliteJournal {
    /// A rollback journal (`-journal`): who writes locks out who reads.
    Rollback,
    /// A write-ahead log (`-wal`).
    Wal,
}

impl SqliteJournal {
    /// That of a file's name.
    pub(crate) fn of(path: &str) -> Option<SqliteJournal> {
        match () {
            () if path.ends_with("-journal") => Some(SqliteJournal::Rollback),
            () if path.ends_with("-wal") => Some(SqliteJournal::Wal),
            () => None,
        }
    }

    /// Its name in tables of remedies.
    pub fn name(self) -> &'static str {
        match self {
            SqliteJournal::Rollback => "rollback",
            SqliteJournal::Wal => "wal",
        }
    }
}

/// How a thread was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stopped {
    /// Its process.
    pub pid: u32,
    /// What it was frozen with.
    pub freezer: Option<Freezer>,
}

/// A frozen cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Freezer {
    /// Its path below the hierarchy's root.
    pub cgroup: String,
    /// Version of that hierarchy; `None`: that of the machine.
    pub version: Option<u8>,
    /// The machine's manager of units froze it, or nobody is known to have.
    pub is_of_manager: bool,
}

impl Freezer {
    /// The unit that was frozen, as its manager knows it: the cgroup of a unit has its name, and its manager freezes no
    /// cgroup of version 1, nor one within a unit.
    pub(crate) fn unit(&self) -> Option<&str> {
        let name = self.cgroup.rsplit('/').next()?;
        let is_unit =
            [".service", ".scope", ".slice"].iter().any(|kind| name.len() > kind.len() && name.ends_with(kind));
        (is_unit && self.is_of_manager).then_some(name)
    }
}

/// Writers that the limit of dirty pages paused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dirtying {
    /// The machine's limit (`nr_dirty_threshold`).
    pub limit_bytes: u64,
    /// Times in which they were paused again and again.
    pub bursts: Vec<Burst>,
}

/// A time in which processes were paused because too much was dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burst {
    /// What they made dirty then.
    pub dirtied_bytes: u64,
    /// They were still paused when the recording ended.
    pub goes_on: bool,
}

/// A memory cgroup that was at its limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryLimit {
    /// Its path below the hierarchy's root.
    pub cgroup: String,
    /// The limit.
    pub bytes: u64,
    /// What it read again because it had been evicted before.
    pub refaulted_bytes: u64,
    /// What it swapped in again.
    pub swapped_in_bytes: u64,
    /// What it read while that was counted.
    pub read_bytes: u64,
    /// What it filled: reads, pages made dirty, growth of anonymous memory.
    pub filled_bytes: u64,
    /// Of that, what processes filled that are not of the recorded command, by name.
    pub filled_by: BTreeMap<String, u64>,
}

/// Whether a cgroup is that one, or in it.
pub(crate) fn is_at_or_below(path: &str, cgroup: &str) -> bool {
    let rest = path.strip_prefix(cgroup.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Gives each value a number.
#[derive(Debug)]
pub(crate) struct Numbers<T> {
    numbers: FastMap<T, u32>,
    values: Vec<T>,
}

impl<T: Eq + std::hash::Hash + Clone> Numbers<T> {
    pub(crate) fn new() -> Numbers<T> {
        Numbers { numbers: FastMap::default(), values: Vec::new() }
    }

    pub(crate) fn of(&mut self, value: &T) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }

    /// The value of a number.
    pub(crate) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// The values, by number.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// The same.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.values
    }
}
