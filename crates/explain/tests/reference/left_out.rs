//! Worlds of which no row shows what was so: a limit that docs/EXPLAIN.md states. The properties leave them out.

use crate::naive::{path, resource};
use crate::plan::Resource;
use crate::world::{Life, Span, Wait, World};

/// As long as this after a wait for a lock of the kernel, another one for it in the same call may be the same wait: the
/// lock was taken again.
const AGAIN_NS: u64 = 2_000_000;

/// Whether a wait in a time leads through a lock that a task had between two waits for it that are taken for one.
pub(crate) fn has_lost_turns(world: &World, task: usize, (from, to): (u64, u64)) -> bool {
    let is_within = |of: &Life, pair: &[Wait]| {
        let is_call =
            |act: &Span| act.is_call && (act.start..act.end).contains(&pair[0].start) && act.end < pair[1].start;
        !of.acts.iter().any(is_call)
    };
    let is_lost = |of: usize, at: u64| {
        let pairs = world.lives.iter().flat_map(|life| life.waits.windows(2).map(move |pair| (life, pair)));
        pairs.into_iter().any(|(life, pair)| {
            let is_for = pair.iter().all(|wait| resource(Some(wait.what)) == Some(of));
            let is_again = (pair[1].start - pair[0].end) * world.clock.tick_ns <= AGAIN_NS;
            is_for && is_again && is_within(life, pair) && (pair[0].woken..pair[1].start).contains(&at)
        })
    };
    let is_through = |at: u64| {
        let path = path(world, task, at);
        let locks = path.iter().filter_map(|(_, what)| resource(*what));
        locks.into_iter().any(|of| world.resources[of].is_kernel_lock() && is_lost(of, at))
    };
    (from..to).any(is_through)
}

/// Whether a wait in a time leads through a lock that is taken while another task is late to take it. Turns of tasks
/// that got the lock without a sleep are not seen and count for the holder before.
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
