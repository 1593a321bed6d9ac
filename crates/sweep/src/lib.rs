//! The configurations of a sweep, the order of its runs, and which runs are finished.
//!
//! ```text
//! sweep.toml ──► SweepFile ──► configurations ──► order ──► cells ──► (run by the program) ──► SweepFolder
//!                (text)        (every combination)  (random blocks)
//! ```
//!
//! This crate runs nothing: a cell describes one run, and the sweep's folder records the finished cells, so a sweep
//! that was stopped or killed resumes where it was.
#![forbid(unsafe_code)]

mod configuration;
mod error;
mod file;
mod folder;
mod order;

pub use configuration::{RunHooks, Setup, configurations};
pub use error::SweepError;
pub use file::{Axis, AxisKind, FileSystemSpec, Scalar, SweepFile};
pub use folder::{FinishedRun, SweepFolder, is_sweep, run_name};
pub use order::{Cell, Shard, cells, mirrored_blocks};
