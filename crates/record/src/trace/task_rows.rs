//! Rows of threads: each is emitted once under a name.

use std::path::PathBuf;

use model::stall::{TaskRecord, Traced};

use super::bounded_cache::BoundedCache;
use super::cgroup_path::{memory_cgroup, other_io_cgroup};
use super::containers::Containers;
use super::event::{ASYNCHRONOUS, SHORT_SLEEPS, SHORT_SPANS, TraceEvent};
use super::relative::Relative;
use super::roles::Roles;
use super::starters::Starters;
use super::usage::Usage;
use crate::bytes::read_text;

const TASKS: usize = 16_384;

/// A thread's name, as an event has it. A program that a thread executes gives it another.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name<'a> {
    /// Read at the moment at which the thread was seen.
    Current(&'a str),
    /// Read at an unknown moment: it names only a thread that has no name yet.
    Remembered(&'a str),
    Unknown,
}

impl<'a> Name<'a> {
    /// The name, if it is newer than what is known of the thread.
    fn newer(self, known: Option<&Emitted>, seen_ns: u64) -> Option<&'a str> {
        match self {
            Name::Current("") | Name::Remembered("") | Name::Unknown => None,
            Name::Current(name) => known.is_none_or(|known| known.seen_ns <= seen_ns).then_some(name),
            Name::Remembered(name) => known.is_none().then_some(name),
        }
    }
}

/// The cgroups of a thread.
#[derive(Clone, Default)]
struct Membership {
    cgroup: Option<String>,
    io_cgroup: Option<String>,
    container: Option<String>,
}

/// A thread as it was emitted.
struct Emitted {
    name: String,
    /// When it had this name, as far as known.
    seen_ns: u64,
    started_by: Option<String>,
    role: Option<String>,
    membership: Membership,
    /// Since the last [`TaskRows::reset`].
    is_emitted: bool,
}

/// The threads that other rows refer to.
pub(super) struct TaskRows {
    proc: PathBuf,
    known: BoundedCache<u32, Emitted>,
    starters: Starters,
    roles: Roles,
    containers: Containers,
}

impl TaskRows {
    pub(super) fn new(proc: PathBuf) -> TaskRows {
        let (starters, roles) = (Starters::new(proc.clone()), Roles::new(proc.clone()));
        let containers = Containers::new(proc.clone());
        TaskRows { proc, known: BoundedCache::new(TASKS), starters, roles, containers }
    }

    /// Emits threads again when they are next seen.
    pub(super) fn reset(&mut self) {
        self.known.values_mut().for_each(|known| known.is_emitted = false);
    }

    pub(super) fn is_emitted(&mut self, tid: u32) -> bool {
        self.known.get(&tid).is_some_and(|known| known.is_emitted)
    }

    /// Looks for the starters of processes, and for the roles of those that used something.
    pub(super) fn learn(&mut self, usage: &Usage, relative: impl Fn(u32) -> Option<Relative>) {
        usage.users.iter().for_each(|(pid, start_ns)| self.roles.learn(*pid, *start_ns));
        usage.started.iter().for_each(|(pid, start_ns)| self.starters.learn(*pid, *start_ns, &relative));
    }

    /// Emits the processes that used something.
    pub(super) fn emit_users(&mut self, usage: &Usage, traced: &mut Traced) {
        for (pid, name) in &usage.names {
            let name = name.as_deref().map_or(Name::Unknown, Name::Current);
            self.emit(*pid, *pid, name, usage.now_ns, traced);
        }
    }

    /// The thread's name now.
    pub(super) fn name_in_proc(&self, tid: u32) -> Option<String> {
        let name = read_text(self.proc.join(format!("{tid}/comm"))).ok()?;
        Some(name.trim_end().to_owned())
    }

    /// Emits the thread of an event, and its waker.
    pub(super) fn emit_of(&mut self, event: &TraceEvent, traced: &mut Traced) {
        // An asynchronous operation may complete in any context.
        let by_other = event.kind == ASYNCHRONOUS && event.comm.is_empty();
        let name = match event.kind {
            _ if by_other => Name::Unknown,
            // A sum is sent when the next long wait begins: its end is older than its name.
            SHORT_SLEEPS..=SHORT_SPANS => Name::Remembered(&event.comm),
            _ => Name::Current(&event.comm),
        };
        self.emit(event.tid, event.pid, name, event.end_ns, traced);
        if event.waker_tid != 0 {
            // The waker's name dates from the wakeup; the woken task may have run much later. That of a message's
            // sender dates from the message.
            let (name, seen_ns) = match event.woken_ns {
                0 => (Name::Remembered(&event.waker), event.end_ns),
                woken_ns => (Name::Current(&event.waker), woken_ns),
            };
            self.emit(event.waker_tid, event.waker_pid, name, seen_ns, traced);
        }
    }

    /// Emits a thread that was not emitted under this name before, or without who started it and what it is. A missing
    /// name is read from /proc.
    pub(super) fn emit(&mut self, tid: u32, pid: u32, name: Name, seen_ns: u64, traced: &mut Traced) {
        let mut known = self.known.get(&tid);
        let name = name.newer(known.as_deref(), seen_ns);
        let (started_by, role) = (self.starters.of(pid), self.roles.of(pid));
        let is_same = |known: &Emitted| {
            let now = (known.started_by.as_deref(), known.role.as_deref());
            name.is_none_or(|name| known.name == name) && now == (started_by, role)
        };
        if let Some(known) = known.as_mut().filter(|known| known.is_emitted && is_same(known)) {
            known.seen_ns = if name.is_some() { seen_ns } else { known.seen_ns };
            return;
        }
        let (started_by, role) = (started_by.map(str::to_owned), role.map(str::to_owned));
        let name = match (name, known) {
            (Some(name), _) => name.to_owned(),
            (None, Some(known)) => known.name.clone(),
            (None, None) => match self.name_in_proc(tid) {
                Some(name) => name,
                // The thread is gone and its name unknown: no row.
                None => return,
            },
        };
        let before = self.known.get(&tid).map(|known| known.membership.clone());
        // A thread that is gone was in the cgroup in which it was seen before.
        let membership = self.membership(tid).or(before).unwrap_or_default();
        let Membership { cgroup, io_cgroup, container } = membership.clone();
        let (starter, says) = (started_by.clone(), role.clone());
        let emitted =
            Emitted { name: name.clone(), seen_ns, started_by: starter, role: says, membership, is_emitted: true };
        self.known.insert(tid, emitted);
        traced.tasks.push(TaskRecord { tid, pid, name, cgroup, io_cgroup, started_by, role, container, seen_ns });
    }

    /// The cgroups of a thread; `None` if it is gone.
    fn membership(&mut self, tid: u32) -> Option<Membership> {
        let cgroups = read_text(self.proc.join(format!("{tid}/cgroup"))).ok()?;
        let cgroup = memory_cgroup(&cgroups).map(str::to_owned);
        let io_cgroup = other_io_cgroup(&cgroups).map(str::to_owned);
        let container = cgroup.as_deref().or(io_cgroup.as_deref()).and_then(|cgroup| self.containers.name(cgroup, tid));
        Some(Membership { cgroup, io_cgroup, container })
    }
}
