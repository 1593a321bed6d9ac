//! How an operation of the load failed.

use std::io;

use model::operation::Fault;

use crate::data::FileId;

/// How an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoFailure {
    /// Error number; 0: none.
    pub errno: i32,
    /// The affected file.
    pub file: Option<FileId>,
    /// Offset in the file.
    pub offset_bytes: Option<u64>,
    /// The fault, if there is no error number.
    pub fault: Option<Fault>,
}

impl IoFailure {
    /// For `map_err`: an I/O error at an offset of a file.
    pub(crate) fn at(offset_bytes: u64) -> impl Fn(io::Error) -> IoFailure {
        move |error| IoFailure { offset_bytes: Some(offset_bytes), ..IoFailure::from(error) }
    }
}

impl From<io::Error> for IoFailure {
    fn from(error: io::Error) -> IoFailure {
        IoFailure { errno: error.raw_os_error().unwrap_or(0), ..IoFailure::default() }
    }
}
