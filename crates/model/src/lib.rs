//! The nouns that every room shares: time, quantities, metrics, operations, runs.
//!
//! Nothing here reads a file, a clock or a process. A type lives here when two rooms that do not know each other
//! must both speak of it: `load` produces an [`operation::IntervalRecord`], `archive` stores it, `explain` reasons
//! about it, and none of them depends on another.
#![forbid(unsafe_code)]

pub mod block;
pub mod calls;
pub mod cause;
pub mod errno;
pub mod event;
pub mod latency;
pub mod metric;
pub mod operation;
pub mod prediction;
pub mod preflight;
pub mod quantity;
pub mod run;
pub mod signal;
pub mod simulation;
pub mod stall;
pub mod time;
