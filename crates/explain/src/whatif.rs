//! What slow operations would have taken if one kind of wait had been changed. docs/WHATIF.md gives the method.

mod advice;
mod calls;
mod change;
mod closed_loop;
mod dirty;
mod draws;
mod ends;
mod held;
mod latency;
mod memory;
mod outcomes;
mod replay;
mod residual;
mod same_time;
mod simulated;
mod throttle;

#[cfg(test)]
mod tests;

pub use advice::{Advice, Choice, KnownLimit, advise};
pub use change::{Absence, Change, Refaults};
pub use draws::Estimate;
pub use latency::{Prediction, SameTime, SlowLatencies, predict, recorded};
pub use replay::Replayed;
