//! Writes runs that nobody recorded: what a model simulates, or what was recorded elsewhere.
//!
//! [`RunWriter`] takes operations, waits, block requests and samples as they end, and makes of them what a recording of
//! this program holds: slow ones individually, the others as aggregates of intervals. Everything that reads runs reads
//! these alike. An importer of a trace gets the waits, and who ended them, from [`Scheduler`].
//!
//! ```
//! # use access::Sharing;
//! # use ingest::{OffCpuState, Operation, RunWriter, Wait};
//! # use model::{run::RunDescription, stall::TraceSettings, time::Moment};
//! # let folder = tempfile::tempdir().unwrap();
//! # let directory = folder.path().join("run");
//! let trace = TraceSettings { slow_ns: 100_000_000, interval_ns: 1_000_000, all_requests: false };
//! let started = Moment::default();
//! let description = RunDescription {
//!     sample_interval_ns: 1_000_000_000,
//!     slower_than_ns: trace.slow_ns,
//!     trace: Some(trace),
//!     ..RunDescription::new("imported", started)
//! };
//! let mut run = RunWriter::new(&directory, Sharing::PRIVATE, &description, false);
//! run.task(7, "postgres");
//! run.phase("run", true, 0);
//! let stack = run.stack(["folio_wait_writeback", "file_write_and_wait_range"].map(str::to_owned).to_vec());
//! let asleep = Wait::new(7, OffCpuState::Blocked, 0, 500_000_000);
//! run.wait(&Wait { woken_ns: Some(500_000_000), stack: Some(stack), waker_tid: Some(0), ..asleep });
//! run.operation(&Operation { class: "fsync", tid: 7, start_ns: 0, end_ns: 500_000_000, bytes: 0 });
//! run.close(1_000_000_000, Vec::new())?;
//! # let read = archive::Run::open(&directory)?;
//! # assert_eq!(read.operations().flatten().flatten().count(), 1);
//! # assert_eq!(read.stalls().flatten().flatten().count(), 1);
//! # Ok::<(), archive::ArchiveError>(())
//! ```

#![forbid(unsafe_code)]

mod block_requests;
mod event_formats;
mod event_text;
mod event_words;
mod kernel_symbols;
mod perf_check;
mod perf_data;
mod perf_sample;
mod perfetto;
mod protobuf;
mod rows;
mod run_writer;
mod scheduler;
mod signals;
mod tally;
mod text_contents;
mod text_events;
mod text_import;
mod text_line;
mod text_signals;
mod text_window;
mod trace_dat;
mod waits;

pub use kernel_symbols::{KernelSymbols, build_id};
pub use perf_data::{HostKernel, PerfDataText};
pub use perfetto::{PerfettoText, is_perfetto};
pub use rows::{OffCpuState, Operation, Wait, WaitEnd};
pub use run_writer::RunWriter;
pub use scheduler::{Scheduler, Switch, Wakeup};
pub use text_contents::TextContents;
pub use text_import::import_text;
pub use trace_dat::TraceDatText;
