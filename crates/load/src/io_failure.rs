//! How an operation of the load failed.

use std::io;

use model::operation::Fault;

use crate::data::FileId;

/// How an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failure {
    /// The kernel's error number; 0 where there is none.
    pub errno: i32,
    /// The file it happened on.
    pub file: Option<FileId>,
    /// Where in the file.
    pub offset_bytes: Option<u64>,
    /// How, where there is no error number.
    pub fault: Option<Fault>,
}

impl Failure {
    /// For `map_err`: an I/O error at an offset of a file.
    pub(crate) fn at(offset_bytes: u64) -> impl Fn(io::Error) -> Failure {
        move |error| Failure { offset_bytes: Some(offset_bytes), ..Failure::from(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure { errno: error.raw_os_error().unwrap_or(0), ..Failure::default() }
    }
}
