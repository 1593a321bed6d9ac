//! Which configurations are to be tried, in which order, and which runs are done.
//!
//! ```text
//! sweep.toml ──► SweepFile ──► configurations ──► order ──► cells ──► (the program runs them) ──► Ledger
//!                (text)        (every combination)  (random blocks)
//! ```
//!
//! Nothing here runs anything: a cell says what one run is, and the ledger remembers the cells whose runs are finished, so
//! that a sweep that was stopped or killed goes on where it was.
#![forbid(unsafe_code)]

mod configuration;
mod error;
mod file;
mod ledger;
mod order;

pub use configuration::{Command, Setup, configurations};
pub use error::SweepError;
pub use file::{Axis, FileSystemSpec, Scalar, SweepFile, What};
pub use ledger::{Finished, Ledger, run_name};
pub use order::{Cell, Shard, cells};
