//! How an operation of a step ended.

use crate::data::FileId;
use crate::io_failure::IoFailure;

/// How an operation ended.
pub(super) enum StepOutcome {
    Done {
        bytes: u64,
        file: Option<FileId>,
    },
    Failed(IoFailure),
    /// The load stops; the operation was given up.
    Stopped,
}

impl StepOutcome {
    pub(super) const NOTHING: StepOutcome = StepOutcome::Done { bytes: 0, file: None };

    pub(super) fn failed(error: &std::io::Error, file: Option<FileId>) -> StepOutcome {
        StepOutcome::Failed(IoFailure { errno: error.raw_os_error().unwrap_or(0), file, ..IoFailure::default() })
    }
}
