//! Which configurations are to be tried, in which order, and which runs are done.
//!
//! ```text
//! sweep.toml ──► SweepFile ──► configurations ──► order ──► cells ──► (the program runs them) ──► SweepFolder
//!                (text)        (every combination)  (random blocks)
//! ```
//!
//! Nothing here runs anything: a cell says what one run is, and the ledger remembers the cells whose runs are finished, so
//! that a sweep that was stopped or killed goes on where it was.
#![forbid(unsafe_code)]

mod configuration;
mod error;
mod file;
mod folder;
mod order;

pub use configuration::{RunHooks, Setup, configurations};
pub use error::SweepError;
pub use file::{Axis, AxisKind, FileSystemSpec, Scalar, SweepFile};
pub use folder::{FinishedRun, SweepFolder, run_name};
pub use order::{Cell, Shard, cells};
