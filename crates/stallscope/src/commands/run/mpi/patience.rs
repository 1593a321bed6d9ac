//! Time limits of ranks.

use std::time::Duration;

/// Time for rank 0 to plan, and for a leader to set up its recording.
pub(super) const SETUP_PATIENCE: Duration = Duration::from_secs(120);
/// Time for the load processes of all ranks to exit.
pub(super) const END_PATIENCE: Duration = Duration::from_secs(8);
/// The same after a failure or an interrupt: the launcher kills all soon.
pub(super) const SHORT_PATIENCE: Duration = Duration::from_millis(500);
/// Time for rank 0 to close its recording and let the others leave.
pub(super) const LEAVE_PATIENCE: Duration = Duration::from_secs(60);
/// The same after a failure, which all know.
pub(super) const FAILED_PATIENCE: Duration = Duration::from_secs(8);
/// The same where rank 0 or the leader is lost.
pub(super) const LOST_PATIENCE: Duration = Duration::from_millis(500);
/// Time until the launcher has noticed a lost node. On MPI's abort, or the end of a rank, it would send something there
/// first, and notice the loss only when TCP gives up retransmitting.
pub(super) const LAUNCHER_PATIENCE: Duration = Duration::from_secs(3);
/// Time for all ranks to leave MPI. A node that is cut off just then would hold that up.
pub(super) const FINALIZE_PATIENCE: Duration = Duration::from_secs(5);
/// Time that the data of a killed leader may still be used by other ranks.
pub(super) const REMOVAL_PATIENCE: Duration = Duration::from_secs(9);
pub(super) const POLL: Duration = Duration::from_millis(5);
