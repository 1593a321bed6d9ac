//! How an operation of a step ended.

use crate::data::FileId;
use crate::io_failure::Failure;

/// How an operation ended.
pub(super) enum Outcome {
    Done {
        bytes: u64,
        file: Option<FileId>,
    },
    Failed(Failure),
    /// The load stops; the operation was given up.
    Stopped,
}

impl Outcome {
    pub(super) const NOTHING: Outcome = Outcome::Done { bytes: 0, file: None };

    pub(super) fn failed(error: &std::io::Error, file: Option<FileId>) -> Outcome {
        Outcome::Failed(Failure { errno: error.raw_os_error().unwrap_or(0), file, ..Failure::default() })
    }
}
