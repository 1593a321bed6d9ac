//! Who ran while another process waited for the CPU: `behind` of `bpf/task/run.h`.

use std::cmp::Reverse;
use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, Object};
use model::usage::{Resource, UsageRecord};

use super::super::programs;
use super::processes::Processes;

/// Processes that waited of which an interval has rows: those that waited the most.
const WAITING: usize = 32;

/// What ran meanwhile since the last look, with the names of processes.
pub(super) fn take(object: &Object, processes: &Processes, span_ns: (u64, u64)) -> Vec<(UsageRecord, Option<String>)> {
    let Ok(map) = programs::map(object, "behind") else { return Vec::new() };
    let mut rows = Vec::new();
    for key in map.keys().collect::<Vec<_>>() {
        let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
        // What is added just now is lost: the proportions remain.
        let _ = map.delete(&key);
        rows.extend(row(&key, &value, span_ns));
    }
    let process_of = |tid: u32| processes.process_of(object, tid).unwrap_or((tid, None));
    let named = |row: UsageRecord| {
        let (pid, name) = row.pid.map_or((0, None), process_of);
        (UsageRecord { pid: Some(pid), ..row }, name)
    };
    of_longest_waits(rows).into_iter().map(named).collect()
}

/// `struct behind`, and nanoseconds.
fn row(key: &[u8], value: &[u8], span_ns: (u64, u64)) -> Option<UsageRecord> {
    let [waiting, pid] = key.as_chunks::<4>().0 else { return None };
    let busy_ns = u64::from_ne_bytes(value.try_into().ok()?);
    let (waiting, pid) = (Some(u32::from_ne_bytes(*waiting)), Some(u32::from_ne_bytes(*pid)));
    Some(UsageRecord { waiting, pid, busy_ns, ..UsageRecord::new(Resource::RunQueue, span_ns.0, span_ns.1) })
}

/// The rows of the processes that waited the most.
pub(super) fn of_longest_waits(mut rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut waits: HashMap<Option<u32>, u64> = HashMap::new();
    rows.iter().for_each(|row| *waits.entry(row.waiting).or_default() += row.busy_ns);
    let mut longest: Vec<(u64, Option<u32>)> = waits.into_iter().map(|(waiting, ns)| (ns, waiting)).collect();
    longest.sort_unstable_by_key(|wait| Reverse(*wait));
    longest.truncate(WAITING);
    rows.retain(|row| longest.iter().any(|(_, waiting)| *waiting == row.waiting));
    rows
}
