//! When a job stops after failures.

use crate::io_failure::IoFailure;
use crate::work::Worker;

/// Consecutive failures that end a thread's share.
const PATIENCE: u32 = 8;

/// Counts consecutive failures.
#[derive(Default)]
pub(crate) struct Patience {
    failures: u32,
}

impl Patience {
    /// Whether to continue after a block. ENOSPC ends the job at once.
    pub(crate) fn may_continue(&mut self, worker: &mut Worker<'_>, result: Result<u64, IoFailure>) -> bool {
        let Err(failure) = result else {
            self.failures = 0;
            worker.done(1);
            return true;
        };
        self.failures += 1;
        if failure.errno == libc::ENOSPC || self.failures >= PATIENCE {
            return false;
        }
        worker.back_off();
        true
    }
}
