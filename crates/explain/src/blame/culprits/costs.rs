//! Time by root blocker and victims.

use std::collections::HashMap;

use model::block::{DeviceNumber, Operation as BlockOperation};
use model::stall::RequestRecord;

use super::clients::Clients;
use super::evicted::{Evicted, acquit};
use super::key::{Key, key, running};
use super::lacked::Lacked;
use super::need::{Need, need as need_of};
use super::pieces::{Waiting, pieces};
use super::reclaimed::Reclaimed;
use super::shares::Shares;
use super::syncers::Syncers;
use super::users::users;
use super::victims::{Victim, Victims};
use super::weights::Users;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::graph::chain::{End, Start, chain_row, end};
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::intents::requests::worked_for::client_of;
use crate::hashing::FastMap;
use crate::waits::Numbers;

/// Ends of chains that are kept. Pieces of one row follow one another, and those of others that lead to it are of about
/// that time.
const ENDS_KEPT: usize = 64 << 10;

/// The time that a root blocker cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Cost {
    pub(super) processes: u64,
    pub(super) total_ns: u64,
    /// Of that, the time of its own operations.
    pub(super) own_ns: u64,
    /// By process.
    pub(super) victims: FastMap<u32, u64>,
}

impl Cost {
    /// Of another process.
    pub(super) fn add(&mut self, other: &Cost) {
        self.processes += other.processes;
        self.add_time(other);
    }

    pub(super) fn add_time(&mut self, other: &Cost) {
        self.total_ns += other.total_ns;
        self.own_ns += other.own_ns;
        other.victims.iter().for_each(|(pid, ns)| *self.victims.entry(*pid).or_default() += ns);
    }
}

/// What a piece of lost time leads to: the end of its chain, and the resource whose users share the blame.
#[derive(Debug, Clone, Copy)]
struct Blamed {
    /// Numbers in [`Costs`].
    key: u32,
    need: Option<u32>,
    /// The process that waited for a read into the page cache.
    reader: Option<u32>,
}

/// An interval of the usage.
type Interval = (u64, u64);
/// The end of a chain, by number, and the victim.
type Piece = (u32, Victim);
/// The numbers of root blockers, by the end of the chain and the process that used what was needed within one interval.
type KeysOfUsers = FastMap<(u32, Option<u32>), u32>;

/// Time by root blocker.
pub(super) struct Costs<'a> {
    index: &'a RunIndex,
    disks: &'a Disks,
    times: FastMap<Victims, FastMap<u32, Cost>>,
    keys: Numbers<Key>,
    needs: Numbers<Need>,
    /// For each cause of rows, found once or, of many rows, a few times.
    ends: FastMap<(BlamedRows, Cause), Blamed>,
    /// Pieces are divided when all are known, those within one interval of the usage together: by need and interval,
    /// then by end of chain and victim.
    pending: FastMap<(u32, Interval), FastMap<Piece, u64>>,
    lacked: Lacked,
    reclaimed: Reclaimed,
    evicted: Evicted,
    syncers: &'a Syncers,
    /// Only what has this cause is to be divided.
    only: Option<Cause>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(index: &'a RunIndex, disks: &'a Disks, syncers: &'a Syncers) -> Costs<'a> {
        let (keys, needs) = (Numbers::new(), Numbers::new());
        let (times, ends, pending) = (FastMap::default(), FastMap::default(), FastMap::default());
        let (lacked, reclaimed, evicted) = Default::default();
        Costs { index, disks, times, keys, needs, ends, pending, lacked, reclaimed, evicted, syncers, only: None }
    }

    /// Only the time with that cause. What else victims lacked still says of them that they are victims.
    pub(super) fn of_cause(self, cause: Cause) -> Costs<'a> {
        Costs { only: Some(cause), ..self }
    }

    /// Adds the waits of tasks' operations.
    pub(super) fn add(&mut self, waiting: &[Waiting<'_>]) {
        for of in waiting {
            pieces(of, |segment, time, times| self.add_piece(of.victim, segment, time, times));
        }
    }

    /// What a row with a cause leads to.
    fn blamed(&mut self, rows: BlamedRows, cause: Cause) -> Blamed {
        let (index, disks) = (self.index, self.disks);
        if self.ends.len() >= ENDS_KEPT {
            self.ends.clear();
        }
        *self.ends.entry((rows, cause)).or_insert_with(|| {
            let (key, need, reader) = blamed(index, disks, rows, cause);
            Blamed { key: self.keys.of(&key), need: need.map(|need| self.needs.of(&need)), reader }
        })
    }

    fn add_piece(&mut self, victim: Victim, segment: &Segment, (from_ns, to_ns): (u64, u64), times: u64) {
        let index = self.index;
        if segment.ran != 0 {
            return self.add_running(victim, segment.ran, (from_ns, to_ns), times);
        }
        let Blamed { key, need, reader } = self.blamed(blamed_rows(index, segment), segment.cause);
        let ns = (to_ns - from_ns) * times;
        let Some(need) = need else { return self.add_cost(key, victim, ns) };
        match self.needs.value(need) {
            Need::Memory(domain) if segment.off == NO_ROW => self.reclaimed.add(victim.1, *domain, (from_ns, to_ns)),
            need => {
                if let Some(device) = need.device() {
                    self.lacked.add(device, victim.1, (from_ns, to_ns));
                }
            }
        }
        if self.only.is_some_and(|only| only != segment.cause) {
            return;
        }
        let span = index.usage.span_of(from_ns, to_ns).unwrap_or((from_ns, to_ns));
        let evicted = reader.and_then(|reader| self.evicted.part(index, reader, span));
        let again_ns = evicted.as_ref().map_or(0, |(part, _)| (ns as f64 * part) as u64).min(ns);
        if let Some((_, memory)) = evicted {
            let memory = self.needs.of(&memory);
            self.add_pending((memory, span), (key, victim), again_ns);
        }
        self.add_pending((need, span), (key, victim), ns - again_ns);
    }

    fn add_pending(&mut self, used: (u32, Interval), piece: Piece, ns: u64) {
        if ns > 0 {
            *self.pending.entry(used).or_default().entry(piece).or_default() += ns;
        }
    }

    /// A server that works for another client is not to blame: that client is, but for a proxy that asks for the
    /// victim.
    fn add_running(&mut self, victim: Victim, ran: u32, (from_ns, to_ns): (u64, u64), times: u64) {
        let (index, mut now_ns) = (self.index, from_ns);
        while now_ns < to_ns {
            let client = client_of(index, ran, now_ns, victim.1);
            // After each answer it may work for another client.
            let answered_ns = client.map(|(_, until_ns)| until_ns).or_else(|| index.answers.next_ns(ran, now_ns));
            let until_ns = answered_ns.map_or(to_ns, |until_ns| until_ns.min(to_ns));
            let key = self.keys.of(&running(index, client.map_or(ran, |(client, _)| client), until_ns));
            self.add_cost(key, victim, (until_ns - now_ns) * times);
            now_ns = until_ns;
        }
    }

    fn add_cost(&mut self, key: u32, (victims, victim): Victim, ns: u64) {
        let is_own = self.keys.value(key).process.as_ref().is_some_and(|process| process.tid == victim);
        let cost = self.times.entry(victims).or_default().entry(key);
        let cost = cost.or_insert_with(|| Cost { processes: 1, ..Cost::default() });
        cost.total_ns += ns;
        cost.own_ns += if is_own { ns } else { 0 };
        *cost.victims.entry(victim).or_default() += ns;
    }

    fn divide_pending(&mut self) {
        self.lacked.sort();
        self.reclaimed.sort();
        for ((need, span), pieces) in std::mem::take(&mut self.pending) {
            let need = self.needs.value(need).clone();
            let (mut users, mut taken_over) = (users(self.index, &need, span), Users::new());
            match &need {
                Need::Cpu { .. } | Need::CpuOfHolder { .. } => self.reclaimed.pass_on(self.index, &mut users, span),
                Need::Evicted(_) => acquit(self.index, &mut users, span),
                need => {
                    if let Some(device) = need.device() {
                        taken_over = self.syncers.take_over(self.index, need, &mut users, span);
                        self.lacked.acquit(self.index, device, &mut users, span);
                    }
                }
            }
            let of_server = |pid: &u32| Some((*pid, Clients::of(self.index, &need, *pid, span)?));
            let clients = users.keys().flatten().filter_map(of_server).collect();
            let used = Shares { need: &need, at_ns: span.1, users, clients, taken_over };
            let mut keys = KeysOfUsers::default();
            pieces.into_iter().for_each(|(piece, ns)| self.divide(piece, ns, &used, &mut keys));
        }
    }

    /// Time by victims, and by root blocker.
    pub(super) fn into_times(mut self) -> HashMap<Victims, Vec<(Key, Cost)>> {
        self.divide_pending();
        let keys = self.keys;
        let named =
            |costs: FastMap<u32, Cost>| costs.into_iter().map(|(key, cost)| (keys.value(key).clone(), cost)).collect();
        self.times.into_iter().map(|(victims, costs)| (victims, named(costs))).collect()
    }

    /// Divides a victim's time among the users of what it lacked. Where none is known, the end of the chain is to
    /// blame, which says more than that somebody used it: but not the victim itself for what others used up.
    fn divide(&mut self, (key, victim): Piece, ns: u64, used: &Shares<'_>, keys: &mut KeysOfUsers) {
        let is_own = || self.keys.value(key).process.as_ref().is_some_and(|process| process.tid == victim.1);
        if used.users.is_empty() || (used.users.keys().all(Option::is_none) && !is_own()) {
            let key = *keys.entry((key, None)).or_insert_with(|| self.key_of_end(key, used.need));
            return self.add_cost(key, victim, ns);
        }
        used.by_process(self.index, ns, victim.1, |pid, ns| {
            if ns > 0 {
                let key = *keys.entry((key, pid)).or_insert_with(|| self.key_of_user(key, used, pid));
                self.add_cost(key, victim, ns);
            }
        });
    }

    fn key_of_end(&mut self, key: u32, need: &Need) -> u32 {
        let known = self.keys.value(key).clone();
        self.keys.of(&Key { device: known.device.or(need.device()), ..known })
    }

    fn key_of_user(&mut self, key: u32, used: &Shares<'_>, pid: Option<u32>) -> u32 {
        let (need, at_ns) = (used.need, used.at_ns);
        let Key { device, cause, .. } = *self.keys.value(key);
        let device = need.named_disk().or(device);
        let process = pid.map(|pid| self.index.tasks.process(pid, at_ns, &self.index.names));
        let cgroup = pid.and_then(|pid| match used.users.contains_key(&Some(pid)) {
            true => self.cgroup(need, pid, at_ns),
            // Another process used it for this one.
            false => self.index.tasks.cgroup(pid, at_ns),
        });
        self.keys.of(&Key { process, cgroup, device, cause, evicts: matches!(need, Need::Evicted(_)) })
    }

    /// The cgroup of a user: that with the quota; of v1 that of the controller whose limit holds. The root has the
    /// requests of workers, and says nothing of their beneficiaries: under a limit of its own, a user's cgroup is its
    /// own of that controller.
    fn cgroup(&self, need: &Need, pid: u32, at_ns: u64) -> Option<Name> {
        let below_root = |cgroup: &Name| self.index.names.get(*cgroup) != "/";
        let limited = match need {
            Need::Limit { device, domain, .. } => {
                let usage = &self.index.usage;
                // A worker may have submitted all of its requests.
                let its = usage.cgroup_on(*device, pid, at_ns).filter(below_root);
                its.or(domain.limit()).or_else(|| usage.throttled_cgroup(*device))
            }
            Need::Quota(cgroup) => Some(*cgroup),
            _ => None,
        };
        let own = || match need {
            Need::Limit { .. } => self.index.tasks.io_cgroup(pid, at_ns),
            _ => self.index.tasks.cgroup(pid, at_ns),
        };
        limited.filter(below_root).or_else(|| own().filter(below_root)).or(limited).or_else(own)
    }
}

/// The rows of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlamedRows {
    /// It leads on.
    row: u32,
    /// Another one that gave the segment its cause.
    by: Option<u32>,
    /// The victim's sleep, where the row is of another task: it matters as long as the victim slept for that task.
    sleep: Option<u32>,
}

fn blamed_rows(index: &RunIndex, segment: &Segment) -> BlamedRows {
    let row = chain_row(index, segment).unwrap_or_default();
    let sleep = Some(segment.off).filter(|off| *off != NO_ROW && *off != row);
    BlamedRows { row, by: segment.row().filter(|by| *by != row), sleep }
}

/// The process of a row, perhaps a server that works for the victim, if it waits for a read into the page cache that
/// ends its chain.
fn reader(index: &RunIndex, row: u32, end: Option<&End<'_>>) -> Option<u32> {
    let is_read = |request: &RequestRecord| request.kind.operation() == BlockOperation::Read;
    let waited = index.row(row);
    let reads_pages = index.stack(waited.stack.get()).is_some_and(|stack| stack.reads_pages)
        && end.is_some_and(|end| end.request.is_none_or(is_read));
    reads_pages.then(|| index.tasks.process_of(waited.tid, waited.end_ns))
}

/// The root blocker at the end of a row's chain, what was lacking there, and who reads into the page cache.
fn blamed(index: &RunIndex, disks: &Disks, rows: BlamedRows, cause: Cause) -> (Key, Option<Need>, Option<u32>) {
    let (end, need) = end_and_need(index, disks, rows, cause);
    let reader = reader(index, rows.row, end.as_ref());
    (key(index, disks, (rows.row, rows.sleep), cause, end), need, reader)
}

/// The end of a row's chain, and what was lacking there.
fn end_and_need<'a>(
    index: &'a RunIndex,
    disks: &Disks,
    BlamedRows { row, by, sleep }: BlamedRows,
    cause: Cause,
) -> (Option<End<'a>>, Option<Need>) {
    let whole = || Start::at(index, row, cause);
    let start = || sleep.map_or_else(whole, |sleep| whole().of_sleep(index, sleep));
    let end = (cause != Cause::CpuWait).then(|| end(index, start()));
    let need = Some(()).filter(|()| !index.usage.is_empty());
    let need = need.and_then(|()| need_of(index, disks, (row, by), cause, end.as_ref()));
    (end, need)
}

/// The disk by which the culprits of a piece of lost time are known.
pub(crate) fn blamed_disk(index: &RunIndex, disks: &Disks, segment: &Segment) -> Option<DeviceNumber> {
    if segment.ran != 0 || !segment.is_lost() {
        return None;
    }
    let rows = blamed_rows(index, segment);
    let (end, need) = end_and_need(index, disks, rows, segment.cause);
    let device = need.and_then(|need| need.device());
    device.or_else(|| key(index, disks, (rows.row, rows.sleep), segment.cause, end).device)
}
