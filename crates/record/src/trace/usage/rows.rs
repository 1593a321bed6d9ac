//! Rows of an interval, made few.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

/// A resource, with its device, its CPU, or the process that waited for one.
type Scarce = (Resource, Option<DeviceNumber>, Option<u32>, Option<u32>);

/// Rows of one resource: those with the most.
const KEPT: usize = 24;
/// Rows with less than this fraction of a resource's use are summed up.
const LEAST: u64 = 256;

/// Rows of one limit that are kept beside: those with the most of what it lets pass, which may be little of the
/// resource.
const KEPT_OF_LIMIT: usize = 4;
/// Rows with less than this fraction of it are summed up.
const LEAST_OF_LIMIT: u64 = 32;
/// Limits of one resource with rows of their own: those that let the most pass.
const LIMITS: usize = 32;

/// Of each resource the rows with the most, also of each limit, and the rest in one row without a process.
pub(super) fn largest(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut by_resource: BTreeMap<Scarce, Vec<UsageRecord>> = BTreeMap::new();
    for row in rows {
        by_resource.entry((row.resource, row.device, row.cpu, row.waiting)).or_default().push(row);
    }
    by_resource.into_values().flat_map(kept).collect()
}

/// Threads of one process that have rows of their own: those with the most.
const THREADS: usize = 8;
/// Threads with less than this fraction of what their process used do not.
const LEAST_OF_PROCESS: u64 = 32;

/// A process used nothing before it began. After its end, writes complete that it made dirty, and requests that it did
/// not wait for.
pub(super) fn within_life(row: &mut UsageRecord, (began_ns, ended_ns): (u64, u64)) {
    let from_ns = row.start_ns.max(began_ns);
    if from_ns < row.end_ns {
        row.start_ns = from_ns;
    }
    let ends_with_it =
        matches!(row.resource, Resource::Cpu | Resource::RunQueue | Resource::Reads | Resource::DeviceRead);
    if ends_with_it && ended_ns > row.start_ns {
        row.end_ns = row.end_ns.min(ended_ns);
    }
}

fn kept(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut threads = threads(&rows);
    let mut rows = joined(rows);
    let total: u64 = rows.iter().map(UsageRecord::amount).sum();
    rows.sort_by_key(|row| std::cmp::Reverse((row.amount(), row.bytes)));
    let large = |row: &UsageRecord| row.amount() * LEAST >= total;
    let count = rows.iter().take(KEPT).take_while(|row| large(row)).count();
    let below = rows.split_off(count);
    let mut limits = Limits::new(rows.iter().chain(&below));
    rows.iter().for_each(|row| {
        limits.takes(row);
    });
    let (kept, rest): (Vec<UsageRecord>, Vec<UsageRecord>) = below.into_iter().partition(|row| limits.takes(row));
    rows.extend(kept);
    let mut others: Option<UsageRecord> = None;
    for row in rest {
        match &mut others {
            Some(others) => others.add(&row),
            None => others = Some(UsageRecord { pid: None, cgroup: None, limit: None, ..row }),
        }
    }
    rows.extend(others);
    rows.into_iter().flat_map(|row| by_thread(row, &mut threads)).collect()
}

/// What each limit let pass: its sum, and how many rows of it were kept.
struct Limits(BTreeMap<String, (u64, usize)>);

impl Limits {
    /// Of rows with the largest first.
    fn new<'a>(rows: impl Iterator<Item = &'a UsageRecord>) -> Limits {
        let mut limits: BTreeMap<String, (u64, usize)> = BTreeMap::new();
        for row in rows {
            let Some(limit) = limit(row) else { continue };
            if let Some((sum, _)) = limits.get_mut(limit) {
                *sum += row.amount();
            } else if limits.len() < LIMITS {
                limits.insert(limit.to_owned(), (row.amount(), 0));
            }
        }
        Limits(limits)
    }

    /// Whether a row is one of the largest of its limit.
    fn takes(&mut self, row: &UsageRecord) -> bool {
        let Some((sum, kept)) = limit(row).and_then(|limit| self.0.get_mut(limit)) else { return false };
        let is_large = row.pid.is_some() && *kept < KEPT_OF_LIMIT && row.amount() * LEAST_OF_LIMIT >= *sum;
        *kept += usize::from(is_large);
        is_large && row.amount() > 0
    }
}

/// The cgroup whose limit holds for a row: of v1 its own, which shows by what was throttled.
fn limit(row: &UsageRecord) -> Option<&str> {
    row.limit.as_deref().or(row.cgroup.as_deref().filter(|_| row.throttled > 0))
}

/// A process in one of its cgroups.
type InCgroup = (Option<u32>, Option<String>);

fn in_cgroup(row: &UsageRecord) -> InCgroup {
    (row.pid, row.cgroup.clone())
}

/// The threads of a process as one row for each of its cgroups.
fn joined(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut joined: BTreeMap<InCgroup, UsageRecord> = BTreeMap::new();
    for row in rows {
        match joined.entry(in_cgroup(&row)) {
            Entry::Occupied(mut sum) => sum.get_mut().add(&row),
            Entry::Vacant(first) => drop(first.insert(UsageRecord { thread: None, ..row })),
        }
    }
    joined.into_values().collect()
}

/// Threads other than their process's first, which a server may have for its clients.
fn threads(rows: &[UsageRecord]) -> BTreeMap<InCgroup, Vec<UsageRecord>> {
    let mut threads: BTreeMap<InCgroup, BTreeMap<u32, UsageRecord>> = BTreeMap::new();
    for (row, thread) in rows.iter().filter_map(|row| Some((row, row.thread?))) {
        match threads.entry(in_cgroup(row)).or_default().entry(thread) {
            Entry::Occupied(mut sum) => sum.get_mut().add(row),
            Entry::Vacant(first) => drop(first.insert(row.clone())),
        }
    }
    threads.into_iter().map(|(process, threads)| (process, threads.into_values().collect())).collect()
}

/// What a process used, divided: its threads with the most, and the rest. Their sum is the same.
fn by_thread(mut all: UsageRecord, threads: &mut BTreeMap<InCgroup, Vec<UsageRecord>>) -> Vec<UsageRecord> {
    let Some(mut threads) = threads.remove(&in_cgroup(&all)) else { return vec![all] };
    let is_large = |part: u64, whole: u64| part > 0 && part * LEAST_OF_PROCESS >= whole;
    threads.retain(|row| is_large(row.amount(), all.amount()) || is_large(row.bytes, all.bytes));
    threads.sort_by_key(|row| std::cmp::Reverse((row.amount(), row.bytes)));
    threads.truncate(THREADS);
    threads.iter().for_each(|row| all.take_away(row));
    let is_all = all.count == 0;
    threads.extend((!is_all).then_some(all));
    threads
}
