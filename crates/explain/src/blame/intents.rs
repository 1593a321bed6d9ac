//! What a sleep was for: whom it waited for, which rows do not say themselves.

pub(crate) mod answers;
pub(crate) mod asked_by_pipe;
pub(crate) mod awaited;
pub(crate) mod equal_waits;
pub(crate) mod handed_out;
pub(crate) mod holder;
pub(crate) mod idle_turns;
pub(crate) mod interrupted;
pub(crate) mod lock_turns;
pub(crate) mod other_work;
pub(crate) mod pollers;
pub(crate) mod standing;
pub(crate) mod stops;
pub(crate) mod turns;
pub(crate) mod unanswered;
pub(crate) mod unheard;
pub(crate) mod waker_wait;
pub(crate) mod worked_for;
