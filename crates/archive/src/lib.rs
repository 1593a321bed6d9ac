//! The run directory: write it, read it, recover it after a crash.
//!
//! A [`Writer`] collects rows and events, and puts them on disk at each [`Writer::flush`]. A [`Run`] reads a directory
//! back, also while it is being written and after the writer was killed at any moment: every row of a flush that
//! returned is read exactly once, and nothing else is. `docs/FORMAT.md` describes the files.
//!
//! The path of a row: [`Writer`] keeps it in memory → a flush appends it to the *recent* file (one checksummed record
//! for all tables, one sync) → about once a minute the rows of many flushes are *consolidated* into one well-sorted
//! batch of the table's Arrow segment, and one journal line says at once that this batch is live and that the recent
//! file is dead. The journal is chained, and [`Run::damage`] names all that was recorded and cannot be read.
#![forbid(unsafe_code)]

mod append;
#[cfg(test)]
mod crash;
mod directory;
mod disk;
mod encode;
mod error;
mod extent;
mod input;
mod journal;
mod line;
mod merge;
mod options;
mod read;
mod recent;
mod set;
mod space;
mod table;
mod watermark;
mod writer;

pub use directory::is_run;
pub use error::ArchiveError;
pub use merge::merge;
pub use options::{FlushState, WriterOptions};
pub use read::check::{CheckReport, RunState};
pub use read::rows::{BatchLocation, Batches};
pub use read::run::Run;
pub use read::stored::StoredTable;
pub use set::{is_set, read_set, write_set};
pub use writer::{Closed, Writer};
