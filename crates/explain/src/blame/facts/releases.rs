//! Who gave up a name that others had tried to create, or began to listen at an address that others had tried to reach.

use crate::blame::facts::rows::Row;
use crate::hashing::FastMap;

/// Of each lock, when the next attempt began to succeed, and by which thread; in order of time.
#[derive(Debug, Default)]
pub(crate) struct Releases(FastMap<u32, Vec<(u64, u32)>>);

impl Releases {
    /// A moment at which a task ran has a lock only if it released it.
    pub(crate) fn new(rows: &[Row]) -> Releases {
        let mut releases: FastMap<u32, Vec<(u64, u32)>> = FastMap::default();
        for row in rows.iter().filter(|row| row.while_running) {
            let Some(lock) = row.lock.get() else { continue };
            releases.entry(lock).or_default().push((row.end_ns, row.tid));
        }
        releases.values_mut().for_each(|of| of.sort_unstable());
        Releases(releases)
    }

    /// Who released the lock first after a moment, and when.
    pub(crate) fn first_after(&self, lock: u32, at_ns: u64) -> Option<(u64, u32)> {
        let of = self.0.get(&lock)?;
        of.get(of.partition_point(|(released_ns, _)| *released_ns <= at_ns)).copied()
    }
}
