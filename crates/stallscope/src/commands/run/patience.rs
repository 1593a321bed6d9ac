//! How long a run waits for its load and its archive.

use std::time::Duration;

/// How long the program sleeps between two looks at the load; less where a report is due.
pub(super) const POLL: Duration = Duration::from_millis(50);
/// How long closing the archive may take after an interrupt.
pub(super) const CLOSE_PATIENCE: Duration = Duration::from_millis(600);
/// How long the load may take to go once the box and the slow device are gone; twenty times that when nobody is in a hurry.
pub(super) const LAST_PATIENCE: Duration = Duration::from_millis(200);
/// How long removing the data set may take after an interrupt; the next run takes up what is left.
pub(super) const REMOVAL_PATIENCE: Duration = Duration::from_secs(1);
/// How long closing may take otherwise, and a load that has done all to go.
pub(super) const CALM_PATIENCE: Duration = Duration::from_secs(30);
