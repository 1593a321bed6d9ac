//! What a sleep was for: whom it waited for, which rows do not say themselves.

/// What a timer, a signal or a stop did to a sleep.
pub(crate) mod interruptions {
    pub(crate) mod choice;
    pub(crate) mod interrupted_waits;
    pub(crate) mod killers;
    pub(crate) mod stops;
    pub(crate) mod timers;
}

/// Waits that had not ended with the recording.
pub(crate) mod lasting {
    pub(crate) mod hangs;
    pub(crate) mod held_polls;
}

/// Who held a lock, and whose turn it was.
pub(crate) mod locks {
    pub(crate) mod holder;
    pub(crate) mod idle_turns;
    pub(crate) mod newer_wakers;
    pub(crate) mod queue_freezes;
    pub(crate) mod retries;
    pub(crate) mod since;
    pub(crate) mod turns;
}

/// For whom a server worked, and who answers a client.
pub(crate) mod requests {
    pub(crate) mod asked_by_pipe;
    pub(crate) mod asking_children;
    pub(crate) mod equal_waits;
    pub(crate) mod fifo_openers;
    pub(crate) mod listeners;
    pub(crate) mod not_received;
    pub(crate) mod old_requests;
    pub(crate) mod other_clients;
    pub(crate) mod pollers;
    pub(crate) mod starters;
    pub(crate) mod unanswered;
    pub(crate) mod unasked_children;
    pub(crate) mod worked_for;
    pub(crate) mod writing_children;
}

/// What kernel workers and those of a pool did for others.
pub(crate) mod workers {
    pub(crate) mod flushed_work;
    pub(crate) mod other_work;
    pub(crate) mod worker_waits;
}

#[cfg(test)]
mod tests;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::Rule;

/// Finds the rows of which a rule concludes something, and what.
type Find = fn(&RunIndex) -> Vec<(u32, Intent)>;

/// Rules that need rows, tasks and stacks alone, in the order in which they apply: each sees what those before it
/// concluded. The first ones take back what the tracer took for a reason, the later ones find the reason.
pub(crate) const RULES: &[(&Rule, Find)] = &[
    (&interruptions::killers::RULE, interruptions::killers::find),
    (&interruptions::timers::RULE, interruptions::timers::find),
    (&requests::unasked_children::RULE, requests::unasked_children::find),
    (&requests::other_clients::RULE, requests::other_clients::find),
    (&requests::old_requests::RULE, requests::old_requests::find),
    (&interruptions::stops::senders::RULE, interruptions::stops::senders::find),
    (&lasting::hangs::RULE, lasting::hangs::find),
    (&interruptions::interrupted_waits::RULE, interruptions::interrupted_waits::find),
    (&requests::pollers::RULE, requests::pollers::find),
    (&requests::unanswered::RULE, requests::unanswered::find),
    (&requests::fifo_openers::RULE, requests::fifo_openers::find),
    (&requests::listeners::RULE, requests::listeners::find),
    (&locks::retries::RULE, locks::retries::find),
    (&locks::queue_freezes::RULE, locks::queue_freezes::find),
    (&locks::turns::RULE, locks::turns::find),
    (&workers::worker_waits::RULE, workers::worker_waits::find),
    (&workers::flushed_work::RULE, workers::flushed_work::find),
    (&requests::asked_by_pipe::RULE, requests::asked_by_pipe::find),
    (&requests::writing_children::RULE, requests::writing_children::find),
];
