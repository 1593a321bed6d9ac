//! Pure reasoning about what was recorded.
//!
//! Nothing here reads a file or a clock: rows of a run go in, findings come out, and the same rows always give the same
//! findings.
#![forbid(unsafe_code)]

pub mod blame;
pub mod glance;
pub mod series;
pub mod summary;
