//! Threads by id and by the time at which they were seen.

use std::collections::HashSet;

use model::container::Containers;
use model::stall::TaskRecord;

use crate::blame::facts::names::{Name, Names};
use crate::blame::facts::task_id::TaskId;
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::RENAMED_WITHIN_NS;

/// Names of kernel threads that work for others.
const WORKERS: [&str; 2] = ["kworker/", "jbd2/"];
/// The root of a hierarchy of cgroups.
const ROOT: &str = "/";

/// All threads, by id and time seen.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    seen: FastMap<u32, Vec<Seen>>,
    /// Threads that submit what others gave to them.
    submitters: FastSet<u32>,
}

#[derive(Debug)]
struct Seen {
    seen_ns: u64,
    pid: u32,
    name: Name,
    /// The program that the process executes soon: a shell's or wrapper's name is that of its first moments.
    program: Name,
    cgroup: Option<Name>,
    io_cgroup: Option<Name>,
    started_by: Option<Name>,
    role: Option<Name>,
    container: Option<Name>,
}

impl Seen {
    fn cgroups(&self) -> impl Iterator<Item = Name> + use<> {
        self.cgroup.into_iter().chain(self.io_cgroup)
    }
}

impl Tasks {
    pub(crate) fn insert(&mut self, record: &TaskRecord, names: &mut Names) {
        let name = names.insert(&record.name);
        let seen = Seen {
            seen_ns: record.seen_ns,
            pid: record.pid,
            name,
            program: name,
            cgroup: names.insert_some(record.cgroup.as_ref()),
            io_cgroup: names.insert_some(record.io_cgroup.as_ref()),
            started_by: names.insert_some(record.started_by.as_ref()),
            role: names.insert_some(record.role.as_ref()),
            container: names.insert_some(record.container.as_ref()),
        };
        self.seen.entry(record.tid).or_default().push(seen);
    }

    /// Call after the last insert.
    pub(crate) fn sort(&mut self) {
        for (tid, seen) in &mut self.seen {
            seen.sort_by_key(|seen| seen.seen_ns);
            for at in (1..seen.len()).rev() {
                let (before, later) = (&seen[at - 1], &seen[at]);
                let is_process = before.pid == *tid && later.pid == *tid;
                if is_process && later.seen_ns - before.seen_ns <= RENAMED_WITHIN_NS {
                    seen[at - 1].program = seen[at].program;
                }
            }
        }
    }

    /// The latest record before the moment; else the first, because a thread is recorded just after it acts.
    fn at(&self, tid: u32, at_ns: u64) -> Option<&Seen> {
        let seen = self.seen.get(&tid)?;
        let after = seen.partition_point(|seen| seen.seen_ns <= at_ns);
        seen.get(after.saturating_sub(1))
    }

    pub(crate) fn pid(&self, tid: u32, at_ns: u64) -> Option<u32> {
        self.at(tid, at_ns).map(|seen| seen.pid)
    }

    /// The process of a thread; the thread itself where the process is unknown.
    pub(crate) fn process_of(&self, tid: u32, at_ns: u64) -> u32 {
        self.pid(tid, at_ns).unwrap_or(tid)
    }

    /// The processes of these threads, where known.
    pub(crate) fn processes(&self, threads: impl Iterator<Item = (u32, u64)>) -> HashSet<u32> {
        threads.filter_map(|(tid, at_ns)| self.pid(tid, at_ns)).collect()
    }

    pub(crate) fn thread(&self, tid: u32, at_ns: u64, names: &Names) -> TaskId {
        TaskId { tid, name: self.at(tid, at_ns).map(|seen| names.get(seen.name).to_owned()) }
    }

    /// The process of a thread; the thread itself where the process is unknown. A thread began after the program that
    /// the process executes, and may be seen before its leader is under that program's name.
    pub(crate) fn process(&self, tid: u32, at_ns: u64, names: &Names) -> TaskId {
        let pid = self.process_of(tid, at_ns);
        let began_ns = self.first_seen_ns(tid, pid).filter(|_| pid != tid).unwrap_or_default();
        self.thread(pid, self.at_or_after(pid, at_ns, began_ns), names)
    }

    /// The name of a process, one across an exec.
    pub(crate) fn program(&self, pid: u32, at_ns: u64) -> Option<Name> {
        self.at(pid, at_ns).map(|seen| seen.program)
    }

    /// The program that a process executed soon after it was seen under that name, or that name.
    pub(crate) fn program_of(&self, process: &TaskId, names: &Names) -> Option<Name> {
        let name = process.name.as_deref()?;
        self.seen.get(&process.tid)?.iter().find(|seen| names.get(seen.name) == name).map(|seen| seen.program)
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

    pub(crate) fn name(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).map(|seen| seen.name)
    }

    /// Kernel threads that submit what others gave to them, as those of dm-crypt and dm-thin do: no name tells.
    /// `writers`: what wrote to devices, and the cgroups that this counted for. A request counts for the cgroup of the
    /// task that submitted it first; in the root's, no program runs, and only a kernel thread can submit it again.
    pub(crate) fn submitters(&self, writers: impl Iterator<Item = (u32, Name)>, names: &Names) -> Vec<u32> {
        let is_root = |cgroup: Name| names.get(cgroup) == ROOT;
        let of_others = writers.filter(|(tid, cgroup)| {
            let all = || self.seen.get(tid).into_iter().flatten().flat_map(Seen::cgroups);
            !is_root(*cgroup) && all().next().is_some() && all().all(is_root)
        });
        of_others.map(|(tid, _)| tid).collect()
    }

    /// These submit what others gave to them.
    pub(crate) fn know_submitters(&mut self, tids: impl IntoIterator<Item = u32>) {
        self.submitters.extend(tids);
    }

    /// Whether it is a kernel thread that works for others.
    pub(crate) fn is_worker(&self, tid: u32, at_ns: u64, names: &Names) -> bool {
        if self.submitters.contains(&tid) {
            return true;
        }
        let name = self.name(tid, at_ns).map(|name| names.get(name));
        name.is_some_and(|name| WORKERS.iter().any(|worker| name.starts_with(worker)))
    }

    /// Who started its process: found a little later than the thread.
    pub(crate) fn started_by(&self, tid: u32) -> Option<Name> {
        self.seen.get(&tid)?.iter().rev().find_map(|seen| seen.started_by)
    }

    /// The processes that a process started.
    pub(crate) fn started_by_process(&self, pid: u32, names: &Names) -> impl Iterator<Item = u32> {
        let is_it = move |name: Name| names.get(name).rsplit_once('/').is_some_and(|(_, by)| by.parse() == Ok(pid));
        let processes = self.seen.iter().filter(|(tid, seen)| seen.last().is_some_and(|seen| seen.pid == **tid));
        processes
            .filter(move |(_, seen)| seen.iter().any(|seen| seen.started_by.is_some_and(is_it)))
            .map(|(tid, _)| *tid)
    }

    /// What its process says that it is.
    pub(crate) fn role(&self, tid: u32) -> Option<Name> {
        self.seen.get(&tid)?.iter().rev().find_map(|seen| seen.role)
    }

    pub(crate) fn cgroup(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).and_then(|seen| seen.cgroup)
    }

    /// The names of containers.
    pub(crate) fn containers(&self, names: &Names) -> Containers {
        let of = |seen: &Seen| seen.container.map(|container| (seen.cgroups(), container));
        let known = self.seen.values().flatten().filter_map(of);
        let known = known.flat_map(|(cgroups, container)| cgroups.map(move |cgroup| (cgroup, container)));
        Containers::new(known.map(|(cgroup, container)| (names.get(cgroup), names.get(container))))
    }

    /// The cgroup of its I/O.
    pub(crate) fn io_cgroup(&self, tid: u32, at_ns: u64) -> Option<Name> {
        self.at(tid, at_ns).and_then(|seen| seen.io_cgroup.or(seen.cgroup))
    }

    /// Its cgroups: that of its memory (v1) and that of its I/O, whose limits on disks output names.
    pub(crate) fn cgroups(&self, tid: u32, at_ns: u64) -> impl Iterator<Item = Name> {
        self.at(tid, at_ns).into_iter().flat_map(Seen::cgroups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A wrapper was listed beside the program that it executes, with the same id.
    #[test]
    fn a_process_has_one_name_across_an_exec() {
        let (mut tasks, mut names) = (Tasks::default(), Names::default());
        for (tid, pid, name, second) in [(7, 7, "sh", 0), (7, 7, "fio", 2), (8, 7, "fio-io", 3), (7, 7, "tar", 60)] {
            let (name, seen_ns) = (name.to_owned(), second * S);
            let record = TaskRecord {
                tid,
                pid,
                name,
                cgroup: None,
                io_cgroup: None,
                started_by: None,
                role: None,
                container: None,
                seen_ns,
            };
            tasks.insert(&record, &mut names);
        }
        tasks.sort();
        let program = |second| tasks.program(7, second * S).map(|name| names.get(name));
        assert_eq!([0, 1, 2, 59].map(program), [Some("fio"); 4]);
        assert_eq!(program(61), Some("tar"), "the number is used again");
        let of = |name: &str| tasks.program_of(&TaskId { tid: 7, name: Some(name.into()) }, &names);
        assert_eq!((of("sh"), of("tar")), (names.find("fio"), names.find("tar")));
    }
}
