//! Turns a recipe into pressure, and times each operation.
//!
//! ```text
//! recipe file ──► Recipe ──► Plan ──► Conductor ═══ board ═══ load process ──► actors
//!               (text)     (numbers)  (program)  (shared memory)
//! ```
//!
//! [`recipe::Recipe`] is the text of a workload, [`plan::Plan`] the same with every formula resolved to a number and
//! checked against the machine. A [`conductor::Conductor`] starts the load process with the plan, commands it through
//! the board which phase to run, and reads the operations' figures from the board. The load process ([`process::main`])
//! fills the data directories and runs the actors' threads.
#![deny(unsafe_code)]

mod actor;
mod block;
pub mod board;
pub mod catalogue;
pub mod clock;
pub mod conductor;
pub mod data;
mod engine;
pub mod error;
mod expression;
pub mod facts;
mod fill;
mod io_failure;
mod job;
pub mod plan;
pub mod process;
pub mod random;
mod random_bytes;
pub mod recipe;
pub mod schedule;
mod source_text;
pub mod stamp;
mod suggestion;
mod sys;
pub mod value;
mod work;
pub mod write_ledger;

pub use error::LoadError;
