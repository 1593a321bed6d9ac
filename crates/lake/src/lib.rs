//! The lake: explained stalls of many runs and machines, as Parquet files that query engines read. `docs/FLEET.md`
//! describes it.
//!
//! [`Contents`] collects the rows of one run, by table and day. A [`Lake`] puts them below its directory, all or
//! nothing as far as a reader that asks `runs` first is concerned.
#![forbid(unsafe_code)]

mod columns;
mod compaction;
mod contents;
mod directory;
mod error;
mod files;
mod fingerprint;
mod merge;
mod partition;
mod retention;
mod runs;
#[cfg(test)]
mod samples;
mod table;
mod tables;
mod time;

pub use compaction::Compaction;
pub use contents::Contents;
pub use directory::{Lake, SCHEMA_VERSION};
pub use error::LakeError;
pub use fingerprint::{Step, fingerprint};
pub use partition::{Partition, escaped};
pub use retention::Retention;
pub use table::RunKey;
pub use tables::counters::{CounterMinutes, CounterRow};
pub use tables::intervals::IntervalMinutes;
pub use tables::runs::RunRow;
pub use tables::stalls::StallRow;
pub use time::{MINUTE_NS, date_of, run_id};
