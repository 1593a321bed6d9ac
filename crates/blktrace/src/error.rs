//! Errors when opening or reading a trace.

use std::io;

/// A trace that cannot be opened or read. Damage inside a trace is not an error; see [`crate::Notes`].
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// An I/O error.
    #[error("{path}: {source}")]
    Io {
        /// The input.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Neither a file nor the name of a set of per-CPU files.
    #[error("{path}: no such file, and there is no {path}.blktrace.0 either")]
    Missing {
        /// As given.
        path: String,
    },
    /// A directory without traces.
    #[error("{path}: no file *.blktrace.* in this directory; name the trace itself")]
    EmptyFolder {
        /// As given.
        path: String,
    },
    /// The content is not a block trace.
    #[error(
        "{path}: not a block trace; supported are blktrace's binary files, the ftrace blk tracer's output, blkparse's \
         default text (without -f), \
         block tracepoints as text (trace_pipe, trace-cmd report, perf script), biosnoop's tables and published CSV \
         traces, plain or \
         compressed with zstd or gzip"
    )]
    Unrecognised {
        /// As given.
        path: String,
    },
    /// No trace was named.
    #[error("no trace was named")]
    Nothing,
}
