//! What each process read, made dirty and has in memory, as the kernel accounts it: nothing is traced for it.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, Object};
use model::usage::Resource;

use super::super::programs;
use super::super::relative::Relative;
use crate::bytes::{before_zero, shown};

/// The program that visits all tasks.
const PROGRAM: &str = "look_at_usage";
/// `struct task_usage`.
const TASK_BYTES: usize = 64;
const PAGE_BYTES: u64 = 4096;

/// Sums of a process since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Process {
    start_ns: u64,
    read_bytes: u64,
    written_bytes: u64,
    pages: u64,
    name: String,
    parent: u32,
}

/// What a process used since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessUse {
    pub(super) pid: u32,
    read_bytes: u64,
    written_bytes: u64,
    grown_bytes: u64,
}

impl ProcessUse {
    pub(super) fn amounts(&self) -> [(Resource, u64); 3] {
        let filled = self.read_bytes + self.written_bytes + self.grown_bytes;
        [(Resource::Reads, self.read_bytes), (Resource::Dirtied, self.written_bytes), (Resource::Memory, filled)]
    }
}

/// All processes at the last look.
#[derive(Debug, Default)]
pub(super) struct Processes {
    seen: HashMap<u32, Process>,
    /// The processes of threads other than their first.
    of_threads: HashMap<u32, u32>,
}

impl Processes {
    /// What the processes used since the last look.
    pub(super) fn take(&mut self, object: &Object, span_ns: (u64, u64)) -> Vec<ProcessUse> {
        let bytes = programs::output_of_tasks(object, PROGRAM).unwrap_or_default();
        let mut seen: HashMap<u32, Process> = HashMap::new();
        self.of_threads.clear();
        for task in bytes.as_chunks::<TASK_BYTES>().0 {
            self.add(task, &mut seen);
        }
        let before = std::mem::replace(&mut self.seen, seen);
        let used = self.seen.iter().filter_map(|(pid, now)| {
            let then = before.get(pid).filter(|then| then.start_ns == now.start_ns);
            // Of a process that is older than the first look, that look has no difference.
            let empty = (now.start_ns >= span_ns.0).then(Process::default);
            Some(difference(*pid, then.or(empty.as_ref())?, now))
        });
        used.collect()
    }

    fn add(&mut self, task: &[u8; TASK_BYTES], seen: &mut HashMap<u32, Process>) {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| task[8 + 8 * at + byte]));
        let number = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| task[4 * at + byte]));
        let (pid, tid) = (number(0), number(1));
        let process = seen.entry(pid).or_default();
        process.read_bytes += word(1);
        process.written_bytes += word(2);
        if pid != tid {
            self.of_threads.insert(tid, pid);
            return;
        }
        process.start_ns = word(0);
        process.pages = word(3);
        process.name = text(&task[40..56]);
        process.parent = number(14);
    }

    /// Each with the time since when it lives, and the bytes that it made dirty.
    pub(super) fn writers(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        self.seen.iter().map(|(pid, process)| (*pid, process.start_ns, process.written_bytes))
    }

    /// The processes at the last look, and when each began.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, u64)> {
        self.seen.iter().map(|(pid, process)| (*pid, process.start_ns))
    }

    /// A process, also one that has exited.
    pub(super) fn relative(&self, object: &Object, pid: u32) -> Option<Relative> {
        if let Some(Process { name, start_ns, parent, .. }) = self.seen.get(&pid) {
            return Some(Relative { name: name.clone(), start_ns: *start_ns, parent: *parent });
        }
        let Exited { name, life_ns: (start_ns, _), parent, .. } = exited(object, pid)?;
        Some(Relative { name, start_ns, parent })
    }

    /// The name of a process at the last look.
    pub(super) fn name(&self, pid: u32) -> Option<String> {
        self.seen.get(&pid).map(|process| process.name.clone())
    }

    /// The process of a thread, and its name where it is known; `None` where no thread is known.
    pub(super) fn process_of(&self, object: &Object, tid: u32) -> Option<(u32, Option<String>)> {
        if tid == 0 {
            return None;
        }
        if let Some(process) = self.seen.get(&tid) {
            return Some((tid, Some(process.name.clone())));
        }
        if let Some(pid) = self.of_threads.get(&tid) {
            return Some((*pid, self.name(*pid)));
        }
        // Kernel threads are their own process, and have a name in /proc.
        let Some(thread) = exited(object, tid) else { return Some((tid, None)) };
        // Threads of a process may have names of their own.
        let first = || exited(object, thread.pid).map(|first| first.name);
        Some((thread.pid, self.name(thread.pid).or_else(first).or(Some(thread.name))))
    }

    /// When a process began and ended; 0 and the last moment where that is not known.
    pub(super) fn life(&self, object: &Object, pid: u32) -> (u64, u64) {
        match self.seen.get(&pid) {
            Some(process) => (process.start_ns, u64::MAX),
            None => exited(object, pid).map_or((0, u64::MAX), |exited| exited.life_ns),
        }
    }
}

/// A thread that exited.
struct Exited {
    life_ns: (u64, u64),
    pid: u32,
    parent: u32,
    name: String,
}

/// From `struct exited_task`.
fn exited(object: &Object, tid: u32) -> Option<Exited> {
    let value = programs::map(object, "exited").ok()?.lookup(&tid.to_ne_bytes(), MapFlags::ANY).ok()??;
    let word = |at: usize| Some(u64::from_ne_bytes(*value.get(at..)?.first_chunk()?));
    let number = |at: usize| Some(u32::from_ne_bytes(*value.get(at..)?.first_chunk()?));
    let (pid, parent) = (number(16)?, number(20)?);
    Some(Exited { life_ns: (word(0)?, word(8)?), pid, parent, name: text(value.get(24..)?) })
}

fn difference(pid: u32, then: &Process, now: &Process) -> ProcessUse {
    ProcessUse {
        pid,
        read_bytes: now.read_bytes.saturating_sub(then.read_bytes),
        written_bytes: now.written_bytes.saturating_sub(then.written_bytes),
        grown_bytes: now.pages.saturating_sub(then.pages) * PAGE_BYTES,
    }
}

/// The text up to the first 0.
fn text(bytes: &[u8]) -> String {
    shown(before_zero(bytes))
}
