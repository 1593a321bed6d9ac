//! Who has whole file systems written out: of pages that were dirty before the recording nobody else is known.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::stall::StallKind;
use model::system_call::{FileArgument, traits};

use super::need::{Domain, Need};
use super::used_within::UsedWithin;
use super::weights::{Users, add};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;

/// Small uses of many processes are unknown, too: they are less than this fraction (1/4) of all.
const LEAST: u128 = 4;

/// Such a call, or a part of it.
#[derive(Debug)]
struct Sync {
    start_ns: u64,
    end_ns: u64,
    pid: u32,
    /// `None`: all disks.
    device: Option<DeviceNumber>,
    /// When it waited for a lock, perhaps that of another one, and wrote nothing.
    locked: Vec<(u64, u64)>,
}

impl Sync {
    /// Whether it wrote out in that time, for a part of it at least.
    fn writes_in(&self, span: (u64, u64)) -> bool {
        let within = |(from_ns, to_ns): (u64, u64)| to_ns.min(span.1).saturating_sub(from_ns.max(span.0));
        let locked_ns: u64 = self.locked.iter().map(|wait| within(*wait)).sum();
        locked_ns < within((self.start_ns, self.end_ns))
    }
}

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct Syncers(Vec<Sync>);

impl Syncers {
    pub(super) fn new(index: &RunIndex, disks: &Disks) -> Syncers {
        let rows = index.rows.iter().filter(|row| index.does(row, traits::SYNCS_OTHERS));
        let syncs = rows.filter_map(|row| {
            let device = row.path.and_then(|path| disks.of_path(index.names.get(path)));
            let call = row.call.and_then(|call| index.names.call(call));
            let is_of_all = call.is_some_and(|call| call.file == FileArgument::Nothing);
            (is_of_all || device.is_some()).then(|| Sync {
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                pid: index.tasks.process_of(row.tid, row.end_ns),
                device: device.filter(|_| !is_of_all),
                locked: locked(index, row),
            })
        });
        Syncers(syncs.collect())
    }

    /// Gives what unknown processes wrote to a device to those that had it written out in that time: what each of them
    /// took over. They are to blame for the waits of others; of their own waits it is unknown who is.
    pub(super) fn take_over(&self, index: &RunIndex, need: &Need, users: &mut Users, span: (u64, u64)) -> Users {
        let mut taken = Users::new();
        let (Some(device), total) = (need.device(), users.values().sum::<u128>()) else { return taken };
        let written = written_by_unknown(index, need, span);
        let unknown = users.get(&None).map_or(0, |unknown| written.map_or(*unknown, |written| written.min(*unknown)));
        if unknown <= total / LEAST {
            return taken;
        }
        let is_meant = |sync: &&Sync| {
            let is_there = sync.device.is_none_or(|upper| index.usage.is_on(upper, device));
            is_there && sync.writes_in(span)
        };
        let pids: BTreeSet<u32> = self.0.iter().filter(is_meant).map(|sync| sync.pid).collect();
        let Some(part) = unknown.checked_div(pids.len() as u128) else { return taken };
        users.entry(None).and_modify(|left| *left -= unknown);
        users.retain(|_, weight| *weight > 0);
        taken.extend(pids.into_iter().map(|pid| (Some(pid), part)));
        add(users, taken.clone());
        taken
    }
}

/// The waits for locks of a call, or the part of a call that is one.
fn locked(index: &RunIndex, call: &Row) -> Vec<(u64, u64)> {
    let waits = index.rows_between(call.tid, call.start_ns, call.end_ns).map(|(_, row)| row);
    let waits = waits.filter(|row| row.kind == StallKind::OffCpu && row.lock.get().is_some());
    waits.map(|row| (row.start_ns, row.end_ns)).collect()
}

/// Of what unknown processes used, the part that is writes; `None`: all, as far as is known.
fn written_by_unknown(index: &RunIndex, need: &Need, (from_ns, to_ns): (u64, u64)) -> Option<u128> {
    let time = UsedWithin { index, from_ns, to_ns };
    match need {
        Need::Device(device) => {
            let written = time.of_device(*device, Some(true), |used| used.busy_ns, Domain::Everybody);
            Some(written.get(&None).copied().unwrap_or_default())
        }
        Need::Limit { writes: Some(false), .. } => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use model::stall::{StallRecord, TaskRecord};
    use model::usage::{Resource, UsageRecord};

    use super::super::weights::WEIGHT;
    use super::*;

    const S: u64 = 1_000_000_000;
    const DISK: DeviceNumber = DeviceNumber(7 << 20 | 1);

    /// What is left unknown, and who has how much, of 30 that unknown processes used and 10 of process 5.
    fn taken(calls: &[(&str, u32)], at_s: u64, resource: Resource) -> Vec<(Option<u32>, u128)> {
        let mut index = RunIndex::default();
        for (pid, busy_ns) in [(None, 30), (Some(5), 10)] {
            let used = UsageRecord {
                device: Some(DISK),
                pid,
                busy_ns,
                ..UsageRecord::new(resource, at_s * S, (at_s + 1) * S)
            };
            assert!(index.usage.insert(&used, &mut index.names));
        }
        index.usage.sort();
        for &(call, tid) in calls {
            let task = TaskRecord {
                tid,
                pid: tid,
                name: "sync".into(),
                cgroup: None,
                io_cgroup: None,
                started_by: None,
                role: None,
                container: None,
                seen_ns: 0,
            };
            index.tasks.insert(&task, &mut index.names);
            let call =
                StallRecord { call: Some(call.into()), ..StallRecord::new(StallKind::SystemCall, tid, 20 * S, 22 * S) };
            index.rows.push(Row::new(&call, &mut index.names).unwrap());
        }
        let (need, span) = (Need::Device(DISK), (at_s * S, (at_s + 1) * S));
        let mut users = UsedWithin { index: &index, from_ns: span.0, to_ns: span.1 }.users(&need);
        Syncers::new(&index, &Disks::default()).take_over(&index, &need, &mut users, span);
        users.into_iter().map(|(pid, weight)| (pid, weight / WEIGHT)).collect()
    }

    #[test]
    fn a_task_that_waits_for_a_lock_writes_nothing_out() {
        let sync = |locked: &[(u64, u64)]| Sync {
            start_ns: 20 * S,
            end_ns: 24 * S,
            pid: 7,
            device: None,
            locked: locked.to_vec(),
        };
        assert!(sync(&[(20 * S, 22 * S)]).writes_in((21 * S, 23 * S)));
        assert!(!sync(&[(20 * S, 22 * S)]).writes_in((20 * S, 22 * S)), "another one held it up");
        assert!(!sync(&[]).writes_in((24 * S, 25 * S)));
    }

    #[test]
    fn what_unknown_processes_wrote_is_of_those_who_sync_all() {
        let unknown = vec![(None, 30), (Some(5), 10)];
        let wrote = |calls, at_s| taken(calls, at_s, Resource::DeviceWrite);
        assert_eq!(wrote(&[("sync", 7)], 21), [(Some(5), 10), (Some(7), 30)]);
        assert_eq!(wrote(&[("sync", 7), ("sync", 8)], 21), [(Some(5), 10), (Some(7), 15), (Some(8), 15)]);
        assert_eq!(wrote(&[("sync", 7)], 23), unknown);
        // Its file system is not known to be on that disk; a sync of one file is not one of all.
        assert_eq!(wrote(&[("syncfs", 7), ("fsync", 8)], 21), unknown);
        assert_eq!(taken(&[("sync", 7)], 21, Resource::DeviceRead), unknown);
    }
}
