//! The nouns that all crates share: time, quantities, metrics, operations, runs.
//!
//! Nothing here reads a file, a clock or a process. A type lives here when two crates that do not depend on each other
//! both use it: `load` produces an [`operation::IntervalRecord`], `archive` stores it, `explain` reasons
//! about it, and none of them depends on another.
#![forbid(unsafe_code)]

pub mod block;
pub mod call_latency;
pub mod cause;
pub mod container;
pub mod csv;
pub mod damage;
pub mod detail;
pub mod effect;
pub mod errno;
pub mod event;
pub mod kernel_function;
pub mod latency;
pub mod loss_kind;
pub mod lost;
pub mod metric;
pub mod name;
pub mod occasion;
pub mod operation;
pub mod prediction;
pub mod preflight;
pub mod quantity;
pub mod run;
pub mod set;
pub mod signal;
pub mod simulation;
pub mod stall;
pub mod system_call;
pub mod time;
pub mod title;
pub mod trial;
pub mod usage;
pub mod user_stack;
pub mod wait_kind;
