//! What slow operations would have taken if one kind of wait had been changed. docs/WHATIF.md gives the method.

mod advice;
mod calls;
mod change;
mod dirty;
mod draws;
mod ends;
mod fates;
mod held;
mod level;
mod looped;
mod memory;
mod replay;
mod same_time;
mod simulated;
mod spread;
mod throttle;

#[cfg(test)]
mod tests;

pub use advice::{Advice, Choice, advise};
pub use change::{Absence, Change, Refaults};
pub use draws::Estimate;
pub use replay::Replayed;
pub use spread::{Prediction, SameTime, Spread, predict, recorded};
