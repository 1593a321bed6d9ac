//! What a higher limit of dirty pages changes.

use crate::waits::{Burst, Dirtying};

impl Dirtying {
    /// Part of the pauses that remains at a higher limit, at least.
    ///
    /// *Assumes* that the limit leaves room for itself once more: twice the share of memory, or the machine's limit
    /// instead of the disk's own. What a writer makes dirty beyond it waits for writeback as before, and one that goes
    /// on reaches any limit: in the long run it is as fast as its disk.
    pub(super) fn remains(&self) -> f64 {
        let beyond = |burst: &Burst| match burst.goes_on {
            true => burst.dirtied_bytes,
            false => burst.dirtied_bytes.saturating_sub(self.limit_bytes),
        };
        let all: u64 = self.bursts.iter().map(|burst| burst.dirtied_bytes).sum();
        self.bursts.iter().map(beyond).sum::<u64>() as f64 / all.max(1) as f64
    }
}
