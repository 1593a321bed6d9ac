//! The process that lost the most to waits shorter than a slow operation, where nobody is asked about: a backup that
//! writes to a throttled file system in small pieces has no slow operation, and waits for nearly all of its time.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::timeline::timelines::Built;
use crate::blame::verdict::explanation::ProcessShortWaits;
use crate::blame::verdict::short_waits::{Chosen, SoFar, short_waits};
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::MOSTLY_WAITING_PART;

/// Processes that are looked at: the waits of those with the most may turn out to be idle.
const TRIED: usize = 4;

/// What one thread waited for shortly.
#[derive(Clone, Copy)]
struct Waits {
    ns: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Waits {
    /// Whether they are together as long as a slow operation, and most of the time that they are spread over.
    fn are_most(&self, slower_than_ns: u64) -> bool {
        let span_ns = self.last_ns - self.first_ns;
        self.ns >= slower_than_ns && self.ns as f64 >= MOSTLY_WAITING_PART * span_ns as f64
    }
}

/// Call this where neither a command nor a scope says who is asked about.
pub(crate) fn most_short_waits(
    index: &mut RunIndex,
    (interval_ns, slower_than_ns): (u64, u64),
    window_ns: (u64, u64),
    (busy, covered): (&BusyTimes, &HashMap<u32, Vec<(u64, u64)>>),
    disks: &Disks,
) -> Option<ProcessShortWaits> {
    let chosen = |tids| Chosen { interval_ns, slower_than_ns, window_ns, tids, is_asked: true, busy };
    for (pid, at_ns, tids) in candidates(index, &chosen(FastSet::default())) {
        let so_far = SoFar { covered, by_rows: Built::default() };
        let (waits, _, _) = short_waits(index, &chosen(tids), so_far, disks);
        if waits.time_ns >= slower_than_ns {
            return Some(ProcessShortWaits { process: index.tasks.process(pid, at_ns, &index.names), waits });
        }
    }
    None
}

/// Processes with a moment at which they waited and with their threads, those with the most time first.
fn candidates(index: &RunIndex, any: &Chosen<'_>) -> Vec<(u32, u64, FastSet<u32>)> {
    let mut threads: FastMap<u32, Waits> = FastMap::default();
    for row in index.rows.iter().filter(|row| any.may_have(index, row)) {
        let new = Waits { ns: 0, first_ns: row.start_ns, last_ns: row.end_ns };
        let waits = threads.entry(row.tid).or_insert(new);
        waits.ns = waits.ns.saturating_add(row.end_ns - row.start_ns);
        (waits.first_ns, waits.last_ns) = (waits.first_ns.min(row.start_ns), waits.last_ns.max(row.end_ns));
    }
    threads.retain(|_, waits| waits.are_most(any.slower_than_ns));
    let mut processes: HashMap<u32, (u64, u64, FastSet<u32>)> = HashMap::new();
    for (tid, waits) in threads {
        let process = processes.entry(index.tasks.process_of(tid, waits.last_ns)).or_default();
        process.0 = process.0.saturating_add(waits.ns);
        process.1 = process.1.max(waits.last_ns);
        process.2.insert(tid);
    }
    let mut found: Vec<(u32, (u64, u64, FastSet<u32>))> = processes.into_iter().collect();
    found.sort_by_key(|(pid, (ns, ..))| (Reverse(*ns), *pid));
    found.truncate(TRIED);
    found.into_iter().map(|(pid, (_, last_ns, tids))| (pid, last_ns, tids)).collect()
}
