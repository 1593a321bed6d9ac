//! Opening block traces.

use std::path::Path;

use blktrace::{Trace, TraceError};

use crate::ui::failure::Failure;

/// Opens traces, which are merged by time.
pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Trace, Failure> {
    Trace::open(paths).map_err(unreadable)
}

/// A missing or invalid trace is a usage error, unless the system failed.
pub fn unreadable(error: TraceError) -> Failure {
    match &error {
        TraceError::Io { source, .. } => Failure::path(source, &error),
        _ => Failure::usage(error),
    }
}
