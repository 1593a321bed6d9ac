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

/// A process with such threads.
#[derive(Default)]
struct Candidate {
    pid: u32,
    ns: u64,
    /// A moment at which it waited.
    at_ns: u64,
    tids: FastSet<u32>,
}

/// When tasks are in operations, and which times of theirs operations explain.
pub(crate) struct InOperations<'a> {
    pub(crate) busy: &'a BusyTimes,
    pub(crate) covered: &'a HashMap<u32, Vec<(u64, u64)>>,
}

/// Call this where neither a command nor a scope says who is asked about.
pub(crate) fn most_short_waits(
    index: &mut RunIndex,
    (interval_ns, slower_than_ns): (u64, u64),
    window_ns: (u64, u64),
    &InOperations { busy, covered }: &InOperations<'_>,
    disks: &Disks,
) -> Option<ProcessShortWaits> {
    let chosen = |tids| Chosen { interval_ns, slower_than_ns, window_ns, tids, is_asked: true, busy };
    for Candidate { pid, at_ns, tids, .. } in candidates(index, &chosen(FastSet::default())) {
        let so_far = SoFar { covered, by_rows: Built::default() };
        let (waits, _, _) = short_waits(index, &chosen(tids), so_far, disks);
        if waits.time_ns >= slower_than_ns {
            return Some(ProcessShortWaits { process: index.tasks.process(pid, at_ns, &index.names), waits });
        }
    }
    None
}

/// Those with the most time first.
fn candidates(index: &RunIndex, any: &Chosen<'_>) -> Vec<Candidate> {
    let mut threads: FastMap<u32, Waits> = FastMap::default();
    for row in index.rows.iter().filter(|row| any.may_have(index, row)) {
        let new = Waits { ns: 0, first_ns: row.start_ns, last_ns: row.end_ns };
        let waits = threads.entry(row.tid).or_insert(new);
        waits.ns = waits.ns.saturating_add(row.end_ns - row.start_ns);
        (waits.first_ns, waits.last_ns) = (waits.first_ns.min(row.start_ns), waits.last_ns.max(row.end_ns));
    }
    threads.retain(|_, waits| waits.are_most(any.slower_than_ns));
    let mut processes: HashMap<u32, Candidate> = HashMap::new();
    for (tid, waits) in threads {
        let pid = index.tasks.process_of(tid, waits.last_ns);
        let process = processes.entry(pid).or_insert_with(|| Candidate { pid, ..Candidate::default() });
        process.ns = process.ns.saturating_add(waits.ns);
        process.at_ns = process.at_ns.max(waits.last_ns);
        process.tids.insert(tid);
    }
    let mut found: Vec<Candidate> = processes.into_values().collect();
    found.sort_by_key(|process| (Reverse(process.ns), process.pid));
    found.truncate(TRIED);
    found
}
