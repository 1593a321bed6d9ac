//! Block traces of other tools → [`model::block::BlockEvent`]s, in one streaming pass.
//!
//! [`Trace::open`] takes files, the `name` of a set `name.blktrace.*`, directories, or `-` for standard input. It
//! detects each format from the content, and yields the events in time order:
//!
//! ```no_run
//! let mut trace = blktrace::Trace::open(["sda"])?;
//! while let Some(events) = trace.next_batch()? {
//!     for event in events {
//!         println!("{} {}", event.time_ns, event.action.letters());
//!     }
//! }
//! println!("{} events are missing", trace.notes().lost_events());
//! # Ok::<(), blktrace::TraceError>(())
//! ```
//!
//! Supported formats: binary records of version 7 and 8 in either byte order (per-CPU files, merged dumps, the ftrace
//! `blk` tracer's binary stream), the ftrace tracer's text and its `blk_classic` text, and blkparse's default text;
//! each plain or compressed with zstd or gzip.
//!
//! A damaged trace is never refused: unreadable parts are counted and noted with their position ([`Notes`]), and
//! reading continues after them.
#![forbid(unsafe_code)]

mod ahead;
mod binary;
pub mod encode;
mod error;
mod marks;
mod notes;
mod record;
mod records;
mod reorder;
mod sequence;
mod source;
mod stream;
mod text;
mod trace;
mod window;

pub use ahead::Progress;
pub use error::TraceError;
pub use notes::{Anomaly, AnomalyKind, Notes};
pub use trace::Trace;
