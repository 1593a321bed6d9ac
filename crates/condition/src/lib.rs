//! Conditions under which a flight recorder saves its ring: their text form, and when they are met.
#![forbid(unsafe_code)]

mod condition;
mod rate;
mod watch;

#[cfg(test)]
mod tests;

pub use condition::{Condition, ConditionError};
pub use watch::{ConditionWatch, Level, Met};
