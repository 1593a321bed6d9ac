//! Shapes of worlds in which `explain` is known to be wrong, or cannot know better. The properties leave them out, the tests of
//! [`crate::found`] do not: a fix deletes what is here for it.

use crate::naive::{asleep, clients, is_followed, path, resource, tick};
use crate::plan::Resource;
use crate::world::{Wait, What, World};

/// If a wait leads through a task that began to wait for another one, which was busy by then, only later: when the last of them did. What
/// the other one did before counts, see `what_another_client_did_before_it_asked_is_its_own_affair` and those above it.
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

/// Whether a task waits for a lock of the kernel twice without another wait in between: its first turn is lost, see
/// `a_task_that_waits_for_a_lock_again_has_had_it`.
pub(crate) fn loses_turns(world: &World) -> bool {
    let is_twice = |pair: &[Wait]| match (pair[0].what, pair[1].what) {
        (What::Lock { resource, .. }, What::Lock { resource: again, .. }) => {
            resource == again && world.resources[resource].is_kernel_lock() && pair[0].end < pair[1].start
        }
        _ => false,
    };
    world.lives.iter().any(|life| life.waits.windows(2).any(is_twice))
}

/// The locks on a path for which somebody waits since before the first wait began, and since when. Who had these before is named, see
/// `who_released_a_lock_before_a_wait_began_is_not_to_blame_for_it`. Of a lock of the kernel that the first wait is for itself, this is so
/// only where its owner had not run yet, see `who_has_a_lock_and_waits_for_a_cpu_has_it`.
pub(crate) fn old_locks(world: &World, path: &[(usize, Option<What>)], began: u64) -> Vec<(usize, u64)> {
    let is_of = |wait: &Wait, of: usize| resource(Some(wait.what)) == Some(of);
    let all = || world.lives.iter().flat_map(|life| &life.waits);
    let is_queued = |of: usize| all().any(|wait| is_of(wait, of) && (wait.woken..wait.end).contains(&began));
    let of_hop = |hop: usize| {
        let of = resource(path[hop].1)?;
        (hop > 0 || path[hop].1.is_some_and(|what| is_followed(world, what)) || is_queued(of)).then_some(of)
    };
    let since = |of: usize| {
        let waits = all().filter(|wait| is_of(wait, of) && wait.end > began && wait.start < began);
        waits.map(|wait| wait.start).min()
    };
    (0..path.len()).filter_map(of_hop).filter_map(|resource| Some((resource, since(resource)?))).collect()
}

/// Whether any wait of a task in a time leads through such a lock, or to the wait of another task that began before it: chains go on
/// from all of that wait, see `nobody_waits_for_itself`.
pub(crate) fn has_old_waits(world: &World, task: usize, (from, to): (u64, u64)) -> bool {
    let has_one = |at: u64| {
        let Some(wait) = asleep(world, task, at) else { return false };
        let last = asleep(world, tick(world, task, at).by, at);
        last.is_some_and(|last| last.start < wait.start)
            || !old_locks(world, &path(world, task, at), wait.start).is_empty()
    };
    (from..to).any(has_one)
}

/// Whether a server that runs has worked for another one since its last wait: for whom it works then is not asked again, see
/// `who_a_server_works_for_is_asked_again_for_each_request`.
pub(crate) fn goes_on_from_a_proxy(world: &World, server: usize, at: u64) -> bool {
    let since = (0..at).rev().take_while(|at| world.wait(server, *at).is_none());
    since.into_iter().any(|at| clients(world, server, at).len() > 1)
}

/// Whether a wait in a time leads through a lock that is taken while another task is late to take it: no row shows such a
/// turn, which is no fault.
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
