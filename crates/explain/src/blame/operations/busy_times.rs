//! When tasks are in operations that were found already.

use crate::blame::facts::times::joined;
use crate::hashing::FastMap;

/// Times covered by operations, by task; ordered and disjoint.
#[derive(Debug, Default)]
pub(crate) struct BusyTimes(FastMap<u32, Vec<(u64, u64)>>);

impl BusyTimes {
    pub(crate) fn of(times: impl Iterator<Item = (u32, u64, u64)>) -> BusyTimes {
        let mut busy: FastMap<u32, Vec<(u64, u64)>> = FastMap::default();
        for (tid, start_ns, end_ns) in times {
            busy.entry(tid).or_default().push((start_ns, end_ns));
        }
        for times in busy.values_mut() {
            *times = joined(std::mem::take(times), 0);
        }
        BusyTimes(busy)
    }

    pub(crate) fn overlaps(&self, tid: u32, start_ns: u64, end_ns: u64) -> bool {
        let Some(times) = self.0.get(&tid) else { return false };
        let after = times.partition_point(|&(_, end)| end <= start_ns);
        times.get(after).is_some_and(|&(start, _)| start < end_ns)
    }

    pub(crate) fn insert(&mut self, tid: u32, start_ns: u64, end_ns: u64) {
        let times = self.0.entry(tid).or_default();
        times.push((start_ns, end_ns));
        *times = joined(std::mem::take(times), 0);
    }
}
