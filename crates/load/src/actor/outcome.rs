//! The result of a step's operation.

use crate::data::FileId;
use crate::io_failure::IoFailure;

/// The result of an operation.
pub(super) enum StepOutcome {
    Done {
        bytes: u64,
        file: Option<FileId>,
    },
    Failed(IoFailure),
    /// The load stops; the operation was abandoned.
    Stopped,
}

impl StepOutcome {
    pub(super) const NOTHING: StepOutcome = StepOutcome::Done { bytes: 0, file: None };

    pub(super) fn failed(error: &std::io::Error, file: Option<FileId>) -> StepOutcome {
        StepOutcome::Failed(IoFailure { errno: error.raw_os_error().unwrap_or(0), file, ..IoFailure::default() })
    }
}
