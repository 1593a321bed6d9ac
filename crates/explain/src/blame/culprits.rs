//! Root blockers: who used what the victims lacked, else what the chains of waits of all operations lead to. They are
//! searched once, for all operations, and summed up for some of them.

pub(crate) mod culprit;
pub(crate) mod dirtying;
pub(crate) mod disk_users;
pub(crate) mod loops;
pub(crate) mod pinned;

mod clients;
mod costs;
mod evicted;
mod jobs;
mod key;
mod lacked;
mod need;
mod pieces;
mod reclaimed;
mod shares;
mod syncers;
#[cfg(test)]
mod tests;
mod times;
mod used_within;
pub(crate) mod users;
mod victims;
mod weights;
mod writers;

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::blame::culprits::culprit::Culprit;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::intents::interruptions::stops;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::threads::hand_over;
pub(crate) use costs::blamed_disk;
use costs::{Cost, Costs};
use key::Key;
pub(crate) use pieces::Waiting;
use syncers::Syncers;
pub(crate) use victims::Victims;

use crate::hashing::FastSet;

/// Culprits kept: those with the most time.
const KEPT: usize = 100;
/// Victims of each that are named: those that lost the most.
const VICTIMS: usize = 5;
/// Segments of timelines whose blame is searched at once, on another thread.
const SEGMENTS_AT_ONCE: usize = 16 << 10;

/// The time that each root blocker cost, by victims.
pub(crate) struct RootBlockers<'a> {
    index: &'a RunIndex,
    disks: &'a Disks,
    times: HashMap<Victims, Vec<(Key, Cost)>>,
}

impl<'a> RootBlockers<'a> {
    /// Of all operations, which are ordered by task.
    pub(crate) fn new(
        index: &'a RunIndex,
        operations: &[Operation],
        timelines: &mut TaskTimelines<'_>,
        disks: &'a Disks,
    ) -> RootBlockers<'a> {
        let syncers = Syncers::new(index, disks);
        let mut costs = Costs::new(index, disks, &syncers);
        // Timelines of the next ones are built meanwhile.
        hand_over(|add| in_batches(index, operations, timelines, add), |waiting: Vec<Waiting>| costs.add(&waiting));
        RootBlockers { index, disks, times: costs.into_times() }
    }

    /// The time in which victims waited for others that ran.
    pub(crate) fn running_of_others(&self) -> impl Iterator<Item = (&Victims, u64)> {
        let running = |times: &[(Key, Cost)]| {
            times.iter().filter(|(key, _)| key.cause == Cause::Running).map(|(_, cost)| cost.total_ns).sum()
        };
        self.times.iter().map(move |(victims, times)| (victims, running(times)))
    }

    /// Those of some victims, the most time first.
    pub(crate) fn of(&self, are_meant: impl Fn(&Victims) -> bool) -> Vec<Culprit> {
        let mut sums: HashMap<&Key, Cost> = HashMap::new();
        let times = self.times.iter().filter(|(victims, _)| are_meant(victims)).flat_map(|(_, times)| times);
        times.for_each(|(key, cost)| {
            sums.entry(key).or_insert_with(|| Cost { processes: 1, ..Cost::default() }).add_time(cost)
        });
        let mut times: Vec<(Key, Cost)> = sums.into_iter().map(|(key, cost)| (key.clone(), cost)).collect();
        times.sort_unstable_by(|a, b| b.1.total_ns.cmp(&a.1.total_ns).then_with(|| a.0.cmp(&b.0)));
        let groups = grouped(self.index, by_process(self.index, times));
        let mut culprits = jobs::joined(groups, |key| self.starter(key));
        culprits.sort_by_key(|(_, cost)| Reverse(cost.total_ns));
        culprits.truncate(KEPT);
        culprits.into_iter().map(|(key, cost)| culprit(self.index, key, &cost, self.disks)).collect()
    }

    /// The process that started one; `None` where one of both is of the recorded command and the other is not.
    fn starter(&self, key: &Key) -> Option<u32> {
        let pid = key.process.as_ref()?.tid;
        let starter = self.index.tasks.started_by(pid)?;
        let starter: u32 = self.index.names.get(starter).rsplit_once('/')?.1.parse().ok()?;
        let is_of_command = |pid: u32| self.index.of_command.contains(&pid);
        (is_of_command(starter) == is_of_command(pid)).then_some(starter)
    }
}

/// Root blockers of one cause, of several parts of the operations.
pub(crate) struct OfCause<'a> {
    index: &'a RunIndex,
    disks: &'a Disks,
    syncers: Syncers,
}

impl<'a> OfCause<'a> {
    pub(crate) fn new(index: &'a RunIndex, disks: &'a Disks) -> OfCause<'a> {
        OfCause { index, disks, syncers: Syncers::new(index, disks) }
    }

    /// Those of what waited, as [`waiting`] has found it, the most time first.
    pub(crate) fn of(&self, waiting: &[Waiting<'_>], cause: Cause) -> Vec<Culprit> {
        let OfCause { index, disks, syncers } = self;
        let mut costs = Costs::new(index, disks, syncers).of_cause(cause);
        costs.add(waiting);
        let blockers = RootBlockers { index, disks, times: costs.into_times() };
        blockers.of(|_| true).into_iter().filter(|culprit| culprit.cause == cause).collect()
    }
}

/// The operations of each task with its timeline, which are ordered by task.
pub(crate) fn waiting<'o>(
    index: &RunIndex,
    operations: &'o [Operation],
    timelines: &mut TaskTimelines<'_>,
) -> Vec<Waiting<'o>> {
    let mut all = Vec::new();
    in_batches(index, operations, timelines, &mut |waiting| all.extend(waiting));
    all
}

fn in_batches<'o>(
    index: &RunIndex,
    operations: &'o [Operation],
    timelines: &mut TaskTimelines<'_>,
    add: &mut dyn FnMut(Vec<Waiting<'o>>),
) {
    let (mut waiting, mut segments) = (Vec::new(), 0);
    let same_time =
        |a: &Operation, b: &Operation| a.tid == b.tid && a.asynchronous.is_none() && b.asynchronous.is_none();
    for operations in operations.chunk_by(same_time) {
        // The name and the cgroup of a task may change.
        for operations in operations.chunk_by(|a, b| Victims::of(index, a) == Victims::of(index, b)) {
            let first = &operations[0];
            let pid = index.tasks.process_of(first.tid, first.end_ns);
            let (victim, timeline) = ((Victims::of(index, first), pid), timelines.of(first));
            segments += timeline.segments().len();
            waiting.push(Waiting { victim, operations, timeline });
            if segments >= SEGMENTS_AT_ONCE {
                add(std::mem::take(&mut waiting));
                segments = 0;
            }
        }
    }
    add(waiting);
}

/// What a process cost before and after it executed a program is one culprit, under the name with the most time. So is
/// what it cost in several cgroups, of which version 1 has one for each resource, under that with the most time but the
/// root, unless it is the one with the limit.
fn by_process(index: &RunIndex, times: Vec<(Key, Cost)>) -> Vec<(Key, Cost)> {
    let mut processes: Vec<(Key, Cost)> = Vec::new();
    let mut places: HashMap<(Name, u32, Key), usize> = HashMap::new();
    let is_named = |cgroup: Option<Name>| cgroup.is_some_and(|cgroup| index.names.get(cgroup) != "/");
    for (key, cost) in times {
        let program = key.process.as_ref().and_then(|process| {
            let rest = Key { process: None, cgroup: None, ..key.clone() };
            Some((index.tasks.program_of(process, &index.names)?, process.tid, rest))
        });
        let place = program.map(|program| *places.entry(program).or_insert(processes.len()));
        match place.and_then(|place| processes.get_mut(place)) {
            Some((first, sum)) => {
                let stays = is_named(first.cgroup) || first.cause == Cause::IoThrottle;
                first.cgroup = if stays { first.cgroup.or(key.cgroup) } else { key.cgroup.or(first.cgroup) };
                sum.add_time(&cost);
            }
            None => processes.push((key, cost)),
        }
    }
    processes
}

/// Processes that differ only in their id are one culprit, named by the first, but for those of another role. So are
/// those of one script, however often it ran. Those of the recorded command are not one with its neighbours, which may
/// run the same program, and a server's process that works for the command is not one with those that work for others.
fn grouped(index: &RunIndex, times: Vec<(Key, Cost)>) -> Vec<(Key, Cost)> {
    let mut groups: Vec<(Key, Cost)> = Vec::new();
    let servers = servers_of_command(index);
    // By name, whether it is the command's or its server, starter and role, and the rest.
    type Alike<'a> = (String, [bool; 2], [Option<&'a str>; 2], Key);
    let mut places: HashMap<Alike, usize> = HashMap::new();
    for (key, cost) in times {
        let starter = key.process.as_ref().and_then(|process| index.tasks.started_by(process.tid));
        let starter = starter.and_then(|starter| Some(index.names.get(starter).rsplit_once('/')?.0));
        let role =
            key.process.as_ref().and_then(|process| index.tasks.role(process.tid)).map(|role| index.names.get(role));
        let name = key.process.as_ref().and_then(|process| process.name.clone());
        let is_in = |pids: &FastSet<u32>| key.process.as_ref().is_some_and(|process| pids.contains(&process.tid));
        let side = [is_in(&index.of_command), is_in(&servers)];
        let rest = Key { process: None, ..key.clone() };
        let place = name.map(|name| *places.entry((name, side, [starter, role], rest)).or_insert(groups.len()));
        match place.and_then(|place| groups.get_mut(place)) {
            Some((_, sum)) => sum.add(&cost),
            None => groups.push((key, cost)),
        }
    }
    groups
}

/// The processes that answered the recorded command.
fn servers_of_command(index: &RunIndex) -> FastSet<u32> {
    let servers = index.answers.servers_of(|client| index.of_command.contains(&client));
    servers.map(|(server, sent_ns)| index.tasks.process_of(server, sent_ns)).collect()
}

fn culprit(index: &RunIndex, key: Key, cost: &Cost, disks: &Disks) -> Culprit {
    let mut victims: Vec<(u32, u64)> = cost.victims.iter().map(|(pid, ns)| (*pid, *ns)).collect();
    victims.sort_by_key(|(pid, ns)| (Reverse(*ns), *pid));
    let victims =
        victims.into_iter().take(VICTIMS).map(|(pid, ns)| (index.tasks.thread(pid, u64::MAX, &index.names), ns));
    let started_by = key.process.as_ref().and_then(|process| index.tasks.started_by(process.tid));
    let role = key.process.as_ref().and_then(|process| index.tasks.role(process.tid));
    Culprit {
        tasks: if key.process.is_some() { cost.processes } else { 0 },
        started_by: started_by.map(|name| index.names.get(name).to_owned()),
        through: key.process.as_ref().and_then(|process| stops::through(index, key.cause, process.tid)),
        role: role.map(|name| index.names.get(name).to_owned()),
        task: key.process,
        cgroup: key.cgroup.map(|name| index.names.get(name).to_owned()),
        container: key.cgroup.and_then(|name| index.containers.words(index.names.get(name))),
        device: key.device,
        device_name: key.device.and_then(|device| index.disk_name(device)),
        file_system: key.device.and_then(|device| disks.file_system(device)),
        cause: key.cause,
        evicts: key.evicts,
        time_ns: cost.total_ns,
        own_ns: cost.own_ns,
        victims: victims.collect(),
        victims_count: cost.victims.len() as u64,
        at_once: 0,
    }
}
