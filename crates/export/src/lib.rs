//! Rows of a run → bytes of formats that other programs read.
//!
//! Each format is one module: a writer that takes rows in batches and passes bytes to an [`std::io::Write`].
//! Nothing here opens a file. Data without a representation in a format are left out, never invented; `docs/EXPORT.md`
//! lists them.
#![forbid(unsafe_code)]

pub mod column;
pub mod csv;
pub mod damage;
pub mod events;
pub mod explained;
pub mod fio;
pub mod fio_replay;
pub mod folded;
pub mod hlog;
pub mod off_cpu;
pub mod openmetrics;
pub mod parquet;
pub mod pcp;
pub mod perfetto;
pub mod pprof;
mod protobuf;
pub mod speedscope;
pub mod table;
pub mod task_keys;
