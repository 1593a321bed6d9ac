//! Rows of a run → bytes of formats that other programs read.
//!
//! Each format is one module: a writer that takes rows as they come, in batches, and hands bytes to an [`std::io::Write`].
//! Nothing here opens a file. What a format cannot say is left out, never invented; `docs/EXPORT.md` lists it.
#![forbid(unsafe_code)]

pub mod csv;
pub mod events;
pub mod fio;
pub mod hlog;
pub mod openmetrics;
pub mod parquet;
pub mod pcp;
pub mod perfetto;
pub mod table;
