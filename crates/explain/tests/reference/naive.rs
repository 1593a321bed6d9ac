//! The reference: follows the truth tick by tick, from a task to whom it waits for, down to the last one. Slow, and obviously right.

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
fn asleep(world: &World, task: usize, at: u64) -> Option<&Wait> {
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

/// Whether a wait may be one of that cause, on the way through others perhaps.
pub(crate) fn may_cause(wait: &Wait, cause: Cause) -> bool {
    match wait.what {
        What::Lock { .. } => cause == Cause::Lock,
        What::Commit { .. } => cause == Cause::Journal,
        What::Log { journal } => cause == if journal { Cause::Journal } else { Cause::FsLog },
        _ => false,
    }
}

/// A tick of a task, by the rules of docs/BLAME.md: through servers and mutexes of user space a wait has the cause of what the last task
/// did, but who waits for a mutex whose holder ran waited for the mutex. A wait for a lock of the kernel is for that lock.
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

fn is_followed(world: &World, what: What) -> bool {
    match what {
        What::Lock { resource, .. } => world.resources[resource] == Resource::UserLock,
        What::Commit { .. } => false,
        _ => true,
    }
}

/// If a wait leads through a task that began to wait for another one, which was busy by then, only later: when the last of them did.
fn late_hop(world: &World, path: &[(usize, Option<What>)], at: u64) -> Option<u64> {
    let followed = path.iter().take_while(|(_, what)| what.is_some_and(|what| is_followed(world, what)));
    let starts: Vec<u64> = followed.map(|(task, _)| asleep(world, *task, at).expect("a wait").start).collect();
    let is_woken = |by: usize, wait: &Wait| wait.what == What::Message && wait.waker == Some(by);
    let is_first =
        |hop: usize| world.wait(path[hop + 1].0, starts[hop] - 1).is_some_and(|wait| is_woken(path[hop].0, wait));
    let late = (1..starts.len()).filter(|hop| starts[*hop] > starts[0] && !is_first(*hop));
    late.map(|hop| starts[hop]).max()
}

/// Whether any wait of a task in a time does; `deep`: or one of those that it waits for.
pub(crate) fn hops_late_within(world: &World, task: usize, (from, to): (u64, u64), deep: bool) -> bool {
    // The whole of a wait that goes on after the time.
    let to = world.wait(task, to - 1).map_or(to, |wait| wait.end.max(to));
    let is_late = |at: u64| {
        let path = path(world, task, at);
        (0..if deep { path.len() } else { 1 }).any(|first| late_hop(world, &path[first..], at).is_some())
    };
    (from..to).any(is_late)
}

/// Whether the same wait leads later through such a task that does not wait for the other one yet: what is before that is lost.
pub(crate) fn is_before_late_hop(world: &World, task: usize, at: u64) -> bool {
    let woken = asleep(world, task, at).map_or(at, |wait| wait.woken);
    (at..woken).any(|later| late_hop(world, &path(world, task, later), later).is_some_and(|since| since > at))
}

/// Ticks by cause.
pub(crate) fn shares(world: &World, task: usize, (from, to): (u64, u64)) -> BTreeMap<Cause, u64> {
    let mut shares = BTreeMap::new();
    (from..to).for_each(|at| *shares.entry(tick(world, task, at).cause).or_default() += 1);
    shares
}

/// Ticks by other tasks that ran while this one waited for them.
pub(crate) fn ran_for(world: &World, task: usize, (from, to): (u64, u64)) -> BTreeMap<usize, u64> {
    let mut ran = BTreeMap::new();
    let ticks = (from..to).map(|at| tick(world, task, at));
    for tick in ticks.filter(|tick| tick.cause == Cause::Running && tick.by != task) {
        *ran.entry(tick.by).or_default() += 1;
    }
    ran
}

/// Ticks by the last task that anybody waited for, and what that one did.
pub(crate) fn ends(world: &World, task: usize, (from, to): (u64, u64)) -> BTreeMap<(usize, Cause), u64> {
    let mut ends = BTreeMap::new();
    for at in from..to {
        let (last, _) = *path(world, task, at).last().expect("the task itself");
        *ends.entry((last, own_cause(world, last, at))).or_default() += 1;
    }
    ends
}

/// TaskId was the last to have a lock that a wait led through, if that is one task for all but an eighth of it; else all who had one.
fn holders(world: &World, wait: &Wait, waiter: usize, is_strict: bool) -> BTreeSet<Blamed> {
    let (mut all, mut last, mut old) = (BTreeSet::new(), BTreeMap::<usize, u64>::new(), BTreeSet::new());
    for at in wait.start..wait.woken {
        let path = path(world, waiter, at);
        let locks = path.windows(2).filter(|pair| matches!(pair[0].1, Some(What::Lock { .. })));
        let holders: Vec<usize> = locks.map(|pair| pair[1].0).collect();
        holders.last().iter().for_each(|holder| *last.entry(**holder).or_default() += 1);
        all.extend(holders);
        old.extend(old_locks(world, &path, wait.start));
    }
    let (most, ticks) = last.iter().max_by_key(|(_, ticks)| **ticks).expect("a holder");
    let has_all = ticks * 8 >= (wait.woken - wait.start) * 7 && (is_strict || !loses_turns(world));
    let before = |(resource, since): &(usize, u64)| {
        (*since..wait.start).filter_map(|at| world.owner(*resource, at)).collect::<Vec<_>>()
    };
    // TaskId had a lock before the wait began is named, too: see `found`.
    let before: BTreeSet<usize> = old.iter().filter(|_| !is_strict).flat_map(before).collect();
    if has_all && before.iter().all(|holder| holder == most) {
        return BTreeSet::from([Blamed::Task(*most)]);
    }
    all.into_iter().chain(before).map(Blamed::Task).collect()
}

/// Whether a task waits for a lock of the kernel twice without another wait in between: of its first turn nothing is known, see `found`.
pub(crate) fn loses_turns(world: &World) -> bool {
    let is_twice = |pair: &[Wait]| match (pair[0].what, pair[1].what) {
        (What::Lock { resource, .. }, What::Lock { resource: again, .. }) => {
            resource == again && world.resources[resource].is_kernel_lock() && pair[0].end < pair[1].start
        }
        _ => false,
    };
    world.lives.iter().any(|life| life.waits.windows(2).any(is_twice))
}

/// The locks on a path for which somebody waits since before the first wait began, and since when; but for a lock of the kernel that the
/// first wait is for itself.
fn old_locks(world: &World, path: &[(usize, Option<What>)], began: u64) -> Vec<(usize, u64)> {
    let of_hop = |hop: usize| match path[hop].1? {
        what @ What::Lock { resource, .. } if hop > 0 || is_followed(world, what) => Some(resource),
        _ => None,
    };
    let since = |resource: usize| {
        let is_it = |wait: &&Wait| matches!(wait.what, What::Lock { resource: of, .. } if of == resource);
        let waits = world.lives.iter().flat_map(|life| &life.waits).filter(is_it);
        waits.filter(|wait| wait.end > began && wait.start < began).map(|wait| wait.start).min()
    };
    (0..path.len()).filter_map(of_hop).filter_map(|resource| Some((resource, since(resource)?))).collect()
}

/// Whether any wait of a task in a time leads through such a lock, or to the wait of another task that began before it.
pub(crate) fn has_old_waits(world: &World, task: usize, (from, to): (u64, u64)) -> bool {
    let has_one = |at: u64| {
        let Some(wait) = asleep(world, task, at) else { return false };
        let last = asleep(world, tick(world, task, at).by, at);
        last.is_some_and(|last| last.start < wait.start)
            || !old_locks(world, &path(world, task, at), wait.start).is_empty()
    };
    (from..to).any(has_one)
}

fn request(world: &World, server: usize, at: u64) -> Option<&Served> {
    world.lives[server].served.iter().find(|one| (one.taken..one.sent).contains(&at))
}

/// For whom a server works: its client, that one's client if it is a server, and so on.
fn clients(world: &World, server: usize, at: u64) -> Vec<usize> {
    let client = |of: usize| request(world, of, at).map(|served| served.client);
    std::iter::successors(client(server), |of| client(*of)).collect()
}

/// Whether a server that runs has worked for another one since its last wait.
fn goes_on_from_a_proxy(world: &World, server: usize, at: u64) -> bool {
    let since = (0..at).rev().take_while(|at| world.wait(server, *at).is_none());
    since.into_iter().any(|at| clients(world, server, at).len() > 1)
}

/// TaskId is to blame for a server that ran while a task waited for it: the server itself, if it worked for that task; else the client that it
/// works for, if it does not sleep until it answers. Which client of several servers in a row is left open.
fn runner(world: &World, (victim, server): (usize, usize), at: u64, is_strict: bool) -> BTreeSet<Blamed> {
    let clients = clients(world, server, at);
    let sleeps = |wait: &Wait| leads_on(world, wait);
    let answered = request(world, server, at).map_or(at, |served| served.sent);
    match clients[..] {
        _ if clients.contains(&victim) => BTreeSet::from([Blamed::Task(server)]),
        // What a server did before without a sleep, for a client that is a server, is taken to have gone on: see `found`.
        [client] if !is_strict && goes_on_from_a_proxy(world, server, at) => {
            BTreeSet::from([Blamed::Task(server), Blamed::Task(client)])
        }
        [client] => {
            let slept = (at..answered).any(|at| world.wait(server, at).is_some_and(sleeps));
            BTreeSet::from([Blamed::Task(if slept { server } else { client })])
        }
        _ => clients.into_iter().chain([server]).map(Blamed::Task).collect(),
    }
}

/// Whether a wait in a time leads through a lock that is taken while another task is late to take it: a turn that no row shows.
pub(crate) fn has_stolen_turns(world: &World, task: usize, (from, to): (u64, u64)) -> bool {
    let is_late = |of: usize, at: u64| {
        let waits =
            world.lives.iter().flat_map(|life| &life.waits).filter(|wait| resource(Some(wait.what)) == Some(of));
        waits.into_iter().any(|wait| (wait.woken..wait.end).contains(&at))
    };
    let is_unfair = |of: &usize| world.resources[*of] == Resource::UnfairLock;
    let is_stolen = |at: u64| {
        let path = path(world, task, at);
        path.iter().filter_map(|(_, what)| resource(*what)).filter(is_unfair).any(|of| is_late(of, at))
    };
    (from..to).any(is_stolen)
}

/// TaskId is to blame for a wait for a journal: whom the last task of the chain waits for, which may be one of those that had a lock.
fn committers(world: &World, wait: &Wait, waiter: usize) -> BTreeSet<Blamed> {
    if let What::Log { .. } = wait.what {
        return BTreeSet::from([Blamed::Logger]);
    }
    let mut all = BTreeSet::new();
    for at in wait.start..wait.woken {
        let path = path(world, waiter, at);
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
    }
    all
}

fn resource(what: Option<What>) -> Option<usize> {
    if let Some(What::Lock { resource, .. }) = what { Some(resource) } else { None }
}

/// TaskId may be to blame for a tick that a task lost; empty where it lost none.
pub(crate) fn blamed(world: &World, task: usize, at: u64, is_strict: bool) -> BTreeSet<Blamed> {
    let Tick { cause, by, mutex } = tick(world, task, at);
    // Of the wait of another task all of its time counts, not only that in which this one waited for it: see `found`.
    let own_start = world.wait(task, at).filter(|_| is_strict).map_or(0, |wait| wait.start);
    let wait_of = |waiter: usize| {
        let wait = asleep(world, waiter, at).expect("a wait");
        Wait { start: wait.start.max(own_start), ..*wait }
    };
    match cause {
        Cause::Running if by == task => BTreeSet::new(),
        Cause::Running => runner(world, (task, by), at, is_strict),
        Cause::CpuWait => BTreeSet::from([Blamed::Hog]),
        Cause::FsLog => BTreeSet::from([Blamed::Logger]),
        Cause::Journal => committers(world, &wait_of(by), by),
        Cause::Lock => {
            let waiter = mutex.unwrap_or(by);
            holders(world, &wait_of(waiter), waiter, is_strict)
        }
        _ => BTreeSet::from([Blamed::Task(by)]),
    }
}
