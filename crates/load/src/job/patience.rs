//! When a job gives up.

use crate::io_failure::IoFailure;
use crate::work::Worker;

/// So many failures in a row end a thread's share.
const PATIENCE: u32 = 8;

/// Tells when to give up.
#[derive(Default)]
pub(crate) struct Patience {
    failures: u32,
}

impl Patience {
    /// Whether to go on after a block. A full file system stays full.
    pub(crate) fn goes_on(&mut self, worker: &mut Worker<'_>, result: Result<u64, IoFailure>) -> bool {
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
