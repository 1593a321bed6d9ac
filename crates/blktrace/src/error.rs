//! Why a trace cannot be opened or read on.

use std::io;

/// A trace that cannot be opened or read on. Damage inside a trace is no error; see [`crate::Notes`].
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// What was read.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Neither a file nor the name of a set of per-CPU files.
    #[error("{path}: no such file, and there is no {path}.blktrace.0 either")]
    Missing {
        /// As given.
        path: String,
    },
    /// A folder without traces.
    #[error("{path}: no file called *.blktrace.* in this folder; name the trace itself")]
    EmptyFolder {
        /// As given.
        path: String,
    },
    /// The content is no block trace.
    #[error(
        "{path}: not a block trace; known are blktrace's binary files, the ftrace blk tracer's output and blkparse's \
         default text, plain or compressed with zstd or gzip"
    )]
    Unrecognised {
        /// As given.
        path: String,
    },
    /// Nothing was named.
    #[error("no trace was named")]
    Nothing,
}
