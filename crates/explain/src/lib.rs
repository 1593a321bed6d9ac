//! Findings on one run: its summary, the blame for its slow operations, and its state at one moment.
//!
//! Pure: rows of a run go in, findings come out, and equal rows give equal findings.
#![forbid(unsafe_code)]

pub mod blame;
mod hashing;
pub mod live;
pub mod series;
pub mod snapshot;
pub mod summary;
mod threads;
mod thresholds;
pub mod waits;
pub mod whatif;
