//! Opening block traces.

use std::path::Path;

use blktrace::{Trace, TraceError};

use crate::ui::failure::Failure;

/// Opens traces, which are merged by time.
pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Trace, Failure> {
    Trace::open(paths).map_err(unreadable)
}

/// A trace that is not there or is none is a wrong word of the user's, unless the system refused it.
pub fn unreadable(error: TraceError) -> Failure {
    match &error {
        TraceError::Io { source, .. } if source.kind() != std::io::ErrorKind::NotFound => Failure::machine(error),
        _ => Failure::usage(error),
    }
}
