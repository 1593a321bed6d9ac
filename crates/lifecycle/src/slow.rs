//! Slow bios individually, and what overtook them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::block::{DeviceNumber, Kind};

use super::bio::{Bio, flag};
use super::certainty::Certainty;
use super::class::Classes;
use super::device::Device;
use super::overtake_block::Tally;
use super::overtake_index::Surroundings;
use super::phase::PhaseTimes;

/// Counts of others beside one bio.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// By kind, on the same device.
    pub by_kind: Vec<(Kind, u64)>,
    /// By thread, on the same device; the [`Others::KEPT`] most frequent.
    pub by_process: Vec<(u32, u64)>,
    /// By cgroup, on the same device; the [`Others::KEPT`] most frequent.
    pub by_cgroup: Vec<(u64, u64)>,
    /// By device, over all devices.
    pub by_device: Vec<(DeviceNumber, u64)>,
}

impl Others {
    /// Maximum number of threads and cgroups named.
    pub const KEPT: usize = 8;
}

/// A bio that took longer than the threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowBio {
    /// Device.
    pub device: DeviceNumber,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub sectors: u32,
    /// Kind.
    pub kind: Kind,
    /// Thread that queued it.
    pub pid: u32,
    /// Its cgroup; 0 is unknown.
    pub cgroup: u64,
    /// When it was queued.
    pub queued_ns: u64,
    /// When it completed.
    pub completed_ns: u64,
    /// Whether it was merged into another bio's request.
    pub merged: bool,
    /// Its phases.
    pub phases: PhaseTimes,
    /// How far the phases can be trusted.
    pub certainty: Certainty,
    /// In flight when it was queued. `None`, as for the next two, where too many bios have passed since to count them.
    pub in_flight: Option<Others>,
    /// Queued later and completed earlier.
    pub overtaken_by: Option<Others>,
    /// In flight when it was queued, and completed before it: what it waited behind.
    pub behind: Option<Others>,
}

/// All slow bios.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowReport {
    /// Number of slow bios.
    pub count: u64,
    /// The slowest, in order of queueing.
    pub kept: Vec<SlowBio>,
    /// What overtook slow bios, summed over all of them.
    pub overtakers: Others,
    /// What slow bios waited behind, summed over all of them.
    pub ahead: Others,
    /// Slow bios whose overtakers are unknown.
    pub unanswered: u64,
    /// Bios excluded because the clock jumped while they were in flight.
    pub across_clock_jump: u64,
}

/// Orders slow bios by latency.
struct Kept(u64, u64, SlowBio);

impl Kept {
    fn key(&self) -> (u64, Reverse<u64>) {
        (self.0, Reverse(self.1))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Kept {}
impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A completed bio.
pub(super) struct Completion<'a> {
    pub(super) bio: &'a Bio,
    pub(super) phases: &'a PhaseTimes,
    pub(super) certainty: Certainty,
    pub(super) completed_ns: u64,
}

impl Completion<'_> {
    fn slow_bio(&self, surroundings: Option<&Surroundings>, classes: &Classes, devices: &[Device]) -> SlowBio {
        let bio = self.bio;
        let key = classes.get(bio.class).key;
        let others = |pick: fn(&Surroundings) -> &Tally| {
            surroundings.map(|found| Others::of(pick(found), Some(bio.device), classes, devices))
        };
        SlowBio {
            device: devices[usize::from(bio.device)].number,
            sector: bio.sector,
            sectors: bio.sectors,
            kind: bio.kind,
            pid: key.pid,
            cgroup: key.cgroup,
            queued_ns: bio.queued_ns,
            completed_ns: self.completed_ns,
            merged: bio.has(flag::MERGED),
            phases: *self.phases,
            certainty: self.certainty,
            in_flight: others(|found| &found.in_flight),
            overtaken_by: others(|found| &found.overtook),
            behind: others(|found| &found.ahead),
        }
    }
}

pub(super) struct Slow {
    limit: usize,
    report: SlowReport,
    kept: BinaryHeap<Reverse<Kept>>,
    overtakers: Vec<u64>,
    ahead: Vec<u64>,
}

impl Slow {
    pub(super) fn new(limit: usize) -> Slow {
        Slow {
            limit,
            report: SlowReport::default(),
            kept: BinaryHeap::new(),
            overtakers: Vec::new(),
            ahead: Vec::new(),
        }
    }

    pub(super) fn across_clock_jump(&mut self) {
        self.report.across_clock_jump += 1;
    }

    /// Counts a slow bio, and keeps it if it is among the slowest.
    pub(super) fn add(
        &mut self,
        completion: &Completion<'_>,
        surroundings: Option<Surroundings>,
        classes: &Classes,
        devices: &[Device],
    ) {
        self.report.count += 1;
        match &surroundings {
            Some(found) => {
                add(&mut self.overtakers, &found.overtook, completion.bio.device, classes);
                add(&mut self.ahead, &found.ahead, completion.bio.device, classes);
            }
            None => self.report.unanswered += 1,
        }
        let whole_ns = completion.phases.longest_known().unwrap_or(0);
        let number = self.report.count;
        if self.kept.len() >= self.limit {
            match self.kept.peek() {
                Some(Reverse(fastest)) if fastest.0 < whole_ns => {}
                _ => return,
            }
            self.kept.pop();
        }
        let slow = completion.slow_bio(surroundings.as_ref(), classes, devices);
        self.kept.push(Reverse(Kept(whole_ns, number, slow)));
    }

    pub(super) fn finish(self, classes: &Classes, devices: &[Device]) -> SlowReport {
        let mut report = self.report;
        report.kept = self.kept.into_iter().map(|Reverse(Kept(_, _, slow))| slow).collect();
        report.kept.sort_by_key(|slow| (slow.queued_ns, slow.device, slow.sector));
        report.overtakers = Others::of_sums(&self.overtakers, classes, devices);
        report.ahead = Others::of_sums(&self.ahead, classes, devices);
        report
    }
}

fn add(sums: &mut Vec<u64>, tally: &Tally, device: u16, classes: &Classes) {
    for &(class, count) in tally {
        if classes.get(class).key.device == device {
            if sums.len() <= usize::from(class) {
                sums.resize(usize::from(class) + 1, 0);
            }
            sums[usize::from(class)] += u64::from(count);
        }
    }
}

impl Others {
    fn of(tally: &Tally, device: Option<u16>, classes: &Classes, devices: &[Device]) -> Others {
        let counts = tally.iter().map(|&(class, count)| (class, u64::from(count)));
        Others::of_counts(counts, device, classes, devices)
    }

    fn of_sums(sums: &[u64], classes: &Classes, devices: &[Device]) -> Others {
        let counts = sums.iter().enumerate().filter(|(_, sum)| **sum > 0).map(|(class, &sum)| (class as u16, sum));
        Others::of_counts(counts, None, classes, devices)
    }

    /// `device`: the only one whose kinds, threads and cgroups are counted.
    fn of_counts(
        counts: impl Iterator<Item = (u16, u64)>,
        device: Option<u16>,
        classes: &Classes,
        devices: &[Device],
    ) -> Others {
        let mut others = Others::default();
        for (class, count) in counts {
            let key = classes.get(class).key;
            count_key(&mut others.by_device, devices[usize::from(key.device)].number, count);
            if device.is_none_or(|device| device == key.device) {
                count_key(&mut others.by_kind, key.kind, count);
                count_key(&mut others.by_process, key.pid, count);
                if key.cgroup != 0 {
                    count_key(&mut others.by_cgroup, key.cgroup, count);
                }
            }
        }
        most_first(&mut others.by_kind);
        most_first(&mut others.by_process);
        most_first(&mut others.by_cgroup);
        most_first(&mut others.by_device);
        others.by_process.truncate(Others::KEPT);
        others.by_cgroup.truncate(Others::KEPT);
        others.by_process.shrink_to_fit();
        others.by_cgroup.shrink_to_fit();
        others
    }

    /// Total count on the same device.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().map(|(_, count)| count).sum()
    }
}

fn count_key<K: PartialEq>(counts: &mut Vec<(K, u64)>, key: K, count: u64) {
    match counts.iter_mut().find(|(counted, _)| *counted == key) {
        Some((_, sum)) => *sum += count,
        None => counts.push((key, count)),
    }
}

fn most_first<K: Ord + Copy>(counts: &mut [(K, u64)]) {
    counts.sort_by_key(|&(key, count)| (Reverse(count), key));
}
