//! Threads by id and by the time at which they were seen.

use std::collections::HashSet;

use model::stall::TaskRecord;

use super::names::{Name, Names};
use super::who::Who;
use crate::hashing::FastMap;

/// Names of kernel threads that work for others.
const WORKERS: [&str; 2] = ["kworker/", "jbd2/"];

/// All threads, by id and time seen.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    seen: FastMap<u32, Vec<Seen>>,
}

#[derive(Debug)]
struct Seen {
    seen_ns: u64,
    pid: u32,
    name: Name,
    cgroup: Option<Name>,
    started_by: Option<Name>,
}

impl Tasks {
    pub(super) fn insert(&mut self, record: &TaskRecord, names: &mut Names) {
        let seen = Seen {
            seen_ns: record.seen_ns,
            pid: record.pid,
            name: names.insert(&record.name),
            cgroup: names.insert_some(record.cgroup.as_ref()),
            started_by: names.insert_some(record.started_by.as_ref()),
        };
        self.seen.entry(record.tid).or_default().push(seen);
    }

    /// Call after the last insert.
    pub(super) fn sort(&mut self) {
        self.seen.values_mut().for_each(|seen| seen.sort_by_key(|seen| seen.seen_ns));
    }

    /// The latest record before the moment; else the first, because a thread is recorded just after it acts.
    fn at(&self, tid: u32, at_ns: u64) -> Option<&Seen> {
        let seen = self.seen.get(&tid)?;
        let after = seen.partition_point(|seen| seen.seen_ns <= at_ns);
        seen.get(after.saturating_sub(1))
    }

    pub(super) fn pid(&self, tid: u32, at_ns: u64) -> Option<u32> {
        self.at(tid, at_ns).map(|seen| seen.pid)
    }

    /// The processes of these threads, where known.
    pub(super) fn processes(&self, threads: impl Iterator<Item = (u32, u64)>) -> HashSet<u32> {
        threads.filter_map(|(tid, at_ns)| self.pid(tid, at_ns)).collect()
    }

    pub(super) fn who(&self, tid: u32, at_ns: u64, names: &Names) -> Who {
        Who { tid, name: self.at(tid, at_ns).map(|seen| names.get(seen.name).to_owned()) }
    }

    /// The process of a thread; the thread itself where the process is unknown. A thread began after the program that the process
    /// executes, and may be seen before its leader is under that program's name.
    pub(super) fn process(&self, tid: u32, at_ns: u64, names: &Names) -> Who {
        let pid = self.pid(tid, at_ns).unwrap_or(tid);
        let began_ns = self.first_seen_ns(tid, pid).filter(|_| pid != tid).unwrap_or_default();
        self.who(pid, self.at_or_after(pid, at_ns, began_ns), names)
    }

    fn first_seen_ns(&self, tid: u32, pid: u32) -> Option<u64> {
        self.seen.get(&tid)?.iter().find(|seen| seen.pid == pid).map(|seen| seen.seen_ns)
    }

    /// The moment, or that at which the thread was next seen, if it was not seen between the two.
    fn at_or_after(&self, tid: u32, at_ns: u64, began_ns: u64) -> u64 {
        let seen = self.seen.get(&tid).map_or(&[][..], Vec::as_slice);
        let next = seen.partition_point(|seen| seen.seen_ns < began_ns);
        seen.get(next).map_or(at_ns, |next| at_ns.max(next.seen_ns))
    }

    pub(super) fn name(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).map(|seen| seen.name)
    }

    /// Whether it is a kernel thread that works for others.
    pub(super) fn is_worker(&self, tid: u32, at_ns: u64, names: &Names) -> bool {
        let name = self.name(tid, at_ns).map(|name| names.get(name));
        name.is_some_and(|name| WORKERS.iter().any(|worker| name.starts_with(worker)))
    }

    /// Who started its process: found a little later than the thread.
    pub(super) fn started_by(&self, tid: u32) -> Option<Name> {
        self.seen.get(&tid)?.iter().rev().find_map(|seen| seen.started_by)
    }

    pub(super) fn cgroup(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).and_then(|seen| seen.cgroup)
    }
}
