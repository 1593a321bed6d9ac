//! What a task waited for most in a time.

use crate::blame::facts::cause::Cause;

/// What a waker waited for while others waited for it.
pub(crate) struct WakerWait {
    pub(crate) row: u32,
    pub(crate) cause: Cause,
    pub(crate) ns: u64,
}

/// Time by cause, and the longest row of each.
#[derive(Default)]
pub(crate) struct WaitsByCause([(u64, u64, u32); Cause::ALL.len()]);

impl WaitsByCause {
    pub(crate) fn add(&mut self, cause: Cause, ns: u64, row: u32) {
        if ns == 0 {
            return;
        }
        let (sum_ns, longest_ns, longest) = &mut self.0[cause as usize];
        *sum_ns += ns;
        if ns > *longest_ns {
            (*longest_ns, *longest) = (ns, row);
        }
    }

    pub(crate) fn longest(self) -> Option<WakerWait> {
        let waits = Cause::ALL.into_iter().map(|cause| (cause, self.0[cause as usize]));
        let longest =
            waits.max_by_key(|(cause, (sum_ns, ..))| (*sum_ns, *cause)).filter(|(_, (sum_ns, ..))| *sum_ns > 0);
        longest.map(|(cause, (ns, _, row))| WakerWait { row, cause, ns })
    }
}
