//! Time limits of a run.

use std::time::Duration;

/// Poll interval of the load; shorter when a report is due.
pub(super) const POLL: Duration = Duration::from_millis(50);
/// Time to close the archive after an interrupt.
pub(super) const CLOSE_PATIENCE: Duration = Duration::from_millis(600);
/// Time for the load to exit once the rig is removed, after an interrupt; otherwise twenty times that.
pub(super) const LAST_PATIENCE: Duration = Duration::from_millis(200);
/// Time to remove the data set after an interrupt; the next run removes the rest.
pub(super) const REMOVAL_PATIENCE: Duration = Duration::from_secs(1);
// Time to close the archive otherwise, and for a finished load to exit.
pub(super) use crate::recording::recorder::CALM_PATIENCE;
