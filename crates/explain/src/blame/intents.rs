//! What a sleep was for: whom it waited for, which rows do not say themselves.

pub(crate) mod answers;
pub(crate) mod asked_by_pipe;
pub(crate) mod awaited;
pub(crate) mod equal_waits;
pub(crate) mod hangs;
pub(crate) mod held_polls;
pub(crate) mod holder;
pub(crate) mod idle_turns;
pub(crate) mod interrupted_waits;
pub(crate) mod killers;
pub(crate) mod lock_turns;
pub(crate) mod not_received;
pub(crate) mod old_requests;
pub(crate) mod other_clients;
pub(crate) mod other_work;
pub(crate) mod pollers;
pub(crate) mod stops;
pub(crate) mod timers;
pub(crate) mod turns;
pub(crate) mod unanswered;
pub(crate) mod unasked_children;
pub(crate) mod waker_wait;
pub(crate) mod worked_for;
pub(crate) mod worker_waits;

#[cfg(test)]
mod tests;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::Rule;

/// Finds the rows of which a rule concludes something, and what.
type Find = fn(&RunIndex) -> Vec<(u32, Intent)>;

/// Rules that need rows, tasks and stacks alone, in the order in which they apply: each sees what those before it concluded. The first ones take
/// back what the tracer took for a reason, the later ones find the reason.
pub(crate) const RULES: &[(&Rule, Find)] = &[
    (&killers::RULE, killers::find),
    (&timers::RULE, timers::find),
    (&unasked_children::RULE, unasked_children::find),
    (&other_clients::RULE, other_clients::find),
    (&old_requests::RULE, old_requests::find),
    (&stops::senders::RULE, stops::senders::find),
    (&hangs::RULE, hangs::find),
    (&interrupted_waits::RULE, interrupted_waits::find),
    (&pollers::RULE, pollers::find),
    (&unanswered::RULE, unanswered::find),
    (&unanswered::listeners::RULE, unanswered::listeners::find),
    (&unanswered::retries::RULE, unanswered::retries::find),
    (&turns::RULE, turns::find),
    (&worker_waits::RULE, worker_waits::find),
    (&asked_by_pipe::RULE, asked_by_pipe::find),
];
