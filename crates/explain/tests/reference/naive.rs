//! The reference: follows the truth tick by tick, from a task to whom it waits for, down to the last one. Slow, and
//! obviously right.

use std::collections::{BTreeMap, BTreeSet};

use model::cause::Cause;

use crate::plan::Resource;
use crate::world::{Served, Wait, What, World};

/// A culprit: a task, or one of those that are not of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blamed {
    Task(usize),
    Logger,
    Hog,
    /// Whom a thread waits for at the end of a chain is unknown if it waits for a CPU.
    Nobody,
}

/// The wait of a task that is asleep in a tick.
pub(crate) fn asleep(world: &World, task: usize, at: u64) -> Option<&Wait> {
    world.wait(task, at).filter(|wait| at < wait.woken)
}

/// Whom a task waits for in a tick, and whether with a lock.
fn waits_for(world: &World, task: usize, at: u64) -> Option<(usize, What)> {
    let what = asleep(world, task, at)?.what;
    match what {
        What::Lock { resource, .. } => Some((world.owner(resource, at).expect("somebody has the lock"), what)),
        What::Answer { server } => Some((server, what)),
        What::Commit { thread } => Some((thread, what)),
        _ => None,
    }
}

/// From a task to the last one that it waits for, each with how it waits for the next.
pub(crate) fn path(world: &World, task: usize, at: u64) -> Vec<(usize, Option<What>)> {
    let mut path = Vec::new();
    let mut next = Some(task);
    while let Some(task) = next {
        assert!(path.iter().all(|(before, _)| *before != task), "a circle: {path:?}");
        let waited = waits_for(world, task, at);
        path.push((task, waited.map(|(_, what)| what)));
        next = waited.map(|(by, _)| by);
    }
    path
}

/// What a task did itself, whomever it waits for.
fn own_cause(world: &World, task: usize, at: u64) -> Cause {
    let Some(wait) = world.wait(task, at) else { return Cause::Running };
    if at >= wait.woken {
        return Cause::CpuWait;
    }
    let since = at - wait.start;
    match wait.what {
        What::Cpu => Cause::CpuWait,
        What::Lock { .. } => Cause::Lock,
        What::Disk { before, throttled: true, .. } if since < before => Cause::IoThrottle,
        What::Disk { before, .. } if since < before => Cause::RequestWait,
        What::Disk { before, queue, .. } if since < before + queue => Cause::SchedulerQueue,
        What::Disk { .. } => Cause::Device,
        What::Log { journal: true } | What::Commit { .. } => Cause::Journal,
        What::Log { journal: false } => Cause::FsLog,
        What::Answer { .. } | What::Message => Cause::Unexplained,
    }
}

/// Whether a wait has the causes of whom it is for.
pub(crate) fn leads_on(world: &World, wait: &Wait) -> bool {
    matches!(wait.what, What::Lock { .. } | What::Answer { .. }) && is_followed(world, wait.what)
}

/// A tick of a task, by the rules of docs/EXPLAIN.md: through servers and mutexes of user space a wait has the cause of
/// what the last task did, but a task that waits for a mutex whose holder ran waited for the mutex. A wait for a lock
/// of the kernel is for that lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) cause: Cause,
    /// The last task on the way to that cause, and, if that is a mutex, the first task on the way that waited for one.
    pub(crate) by: usize,
    pub(crate) mutex: Option<usize>,
}

pub(crate) fn tick(world: &World, task: usize, at: u64) -> Tick {
    let path = path(world, task, at);
    let last = path.iter().position(|(_, what)| !what.is_some_and(|what| is_followed(world, what))).expect("an end");
    let mutex = path[..last].iter().find(|(_, what)| matches!(what, Some(What::Lock { .. })));
    let (cause, mutex) = match own_cause(world, path[last].0, at) {
        Cause::Running if mutex.is_some() => (Cause::Lock, mutex.map(|(waiter, _)| *waiter)),
        cause => (cause, None),
    };
    Tick { cause, by: path[last].0, mutex }
}

pub(crate) fn is_followed(world: &World, what: What) -> bool {
    match what {
        What::Lock { resource, .. } => world.resources[resource] == Resource::UserLock,
        What::Commit { .. } => false,
        _ => true,
    }
}

/// Ticks by cause.
pub(crate) fn shares(world: &World, task: usize, (from, to): (u64, u64)) -> BTreeMap<Cause, u64> {
    let mut shares = BTreeMap::new();
    (from..to).for_each(|at| *shares.entry(tick(world, task, at).cause).or_default() += 1);
    shares
}

/// Ticks by the last task that anybody waited for, and what that task did.
pub(crate) fn ends(world: &World, task: usize, (from, to): (u64, u64)) -> BTreeMap<(usize, Cause), u64> {
    let mut ends = BTreeMap::new();
    for at in from..to {
        let (last, _) = *path(world, task, at).last().expect("the task itself");
        *ends.entry((last, own_cause(world, last, at))).or_default() += 1;
    }
    ends
}

/// Who was the last to have a lock that a wait led through, if that is one task for all but an eighth of it; else all
/// who had one.
fn holders(world: &World, wait: &Wait, waiter: usize) -> BTreeSet<Blamed> {
    let (mut all, mut last) = (BTreeSet::new(), BTreeMap::<usize, u64>::new());
    for at in wait.start..wait.woken {
        let path = path(world, waiter, at);
        let locks = path.windows(2).filter(|pair| matches!(pair[0].1, Some(What::Lock { .. })));
        let holders: Vec<usize> = locks.map(|pair| pair[1].0).collect();
        holders.last().iter().for_each(|holder| *last.entry(**holder).or_default() += 1);
        all.extend(holders);
    }
    let (most, ticks) = last.iter().max_by_key(|(_, ticks)| **ticks).expect("a holder");
    if ticks * 8 >= (wait.woken - wait.start) * 7 {
        return BTreeSet::from([Blamed::Task(*most)]);
    }
    all.into_iter().map(Blamed::Task).collect()
}

fn request(world: &World, server: usize, at: u64) -> Option<&Served> {
    world.lives[server].served.iter().find(|one| (one.taken..one.sent).contains(&at))
}

/// For whom a server works: its client, that one's client if it is a server, and so on.
pub(crate) fn clients(world: &World, server: usize, at: u64) -> Vec<usize> {
    let client = |of: usize| request(world, of, at).map(|served| served.client);
    std::iter::successors(client(server), |of| client(*of)).collect()
}

/// Who is to blame for a server that ran while a task waited for it: the server itself, if it worked for that task;
/// else the client that it works for, if it does not sleep until it answers. Which client of several servers in a row
/// is left open.
fn runner(world: &World, (victim, server): (usize, usize), at: u64) -> BTreeSet<Blamed> {
    let clients = clients(world, server, at);
    let sleeps = |wait: &Wait| leads_on(world, wait);
    let answered = request(world, server, at).map_or(at, |served| served.sent);
    match clients[..] {
        _ if clients.contains(&victim) => BTreeSet::from([Blamed::Task(server)]),
        [client] => {
            let slept = (at..answered).any(|at| world.wait(server, at).is_some_and(sleeps));
            BTreeSet::from([Blamed::Task(if slept { server } else { client })])
        }
        _ => clients.into_iter().chain([server]).map(Blamed::Task).collect(),
    }
}

/// Who is to blame for a wait for a journal: whom the last task of the chain waits for, which may be one of those that
/// had a lock.
fn committers(world: &World, wait: &Wait, waiter: usize) -> BTreeSet<Blamed> {
    if let What::Log { .. } = wait.what {
        return BTreeSet::from([Blamed::Logger]);
    }
    let (mut all, mut on_path) = (BTreeSet::new(), BTreeSet::new());
    for at in wait.start..wait.woken {
        let path = path(world, waiter, at);
        on_path.extend(path[1..].iter().map(|(task, _)| Blamed::Task(*task)));
        let holders: Vec<usize> =
            path.windows(2).filter(|pair| resource(pair[0].1).is_some()).map(|pair| pair[1].0).collect();
        let (last, _) = path[path.len() - 1];
        match own_cause(world, last, at) {
            _ if !holders.is_empty() => all.extend(holders.into_iter().map(Blamed::Task)),
            Cause::CpuWait => _ = all.insert(Blamed::Nobody),
            Cause::FsLog | Cause::Journal => _ = all.insert(Blamed::Logger),
            _ => _ = all.insert(Blamed::Task(last)),
        }
    }
    // Of several, it depends on the longest times of each.
    if all.len() > 1 {
        all.extend([Blamed::Nobody, Blamed::Logger]);
        all.extend(on_path);
    }
    all
}

pub(crate) fn resource(what: Option<What>) -> Option<usize> {
    if let Some(What::Lock { resource, .. }) = what { Some(resource) } else { None }
}

/// Who may be to blame for a tick that a task lost; empty where it lost none.
pub(crate) fn blamed(world: &World, task: usize, at: u64) -> BTreeSet<Blamed> {
    let Tick { cause, by, mutex } = tick(world, task, at);
    // Of the wait of another task only the time counts in which this one waited for it.
    let own_start = world.wait(task, at).map_or(0, |wait| wait.start);
    let wait_of = |waiter: usize| {
        let wait = asleep(world, waiter, at).expect("a wait");
        Wait { start: wait.start.max(own_start), ..*wait }
    };
    match cause {
        Cause::Running if by == task => BTreeSet::new(),
        Cause::Running => runner(world, (task, by), at),
        Cause::CpuWait => BTreeSet::from([Blamed::Hog]),
        Cause::FsLog => BTreeSet::from([Blamed::Logger]),
        Cause::Journal => committers(world, &wait_of(by), by),
        Cause::Lock => {
            let waiter = mutex.unwrap_or(by);
            holders(world, &wait_of(waiter), waiter)
        }
        _ => BTreeSet::from([Blamed::Task(by)]),
    }
}
