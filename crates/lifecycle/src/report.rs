//! The findings on a trace.

use model::block::{DeviceNumber, Kind};

use super::class::{Classes, OTHERS};
use super::clock::ClockReport;
use super::device::Device;
use super::histogram::Histogram;
use super::phase::{PerPhase, Phase};
use super::slow::{Slow, SlowReport};
use super::tables::{DeviceTables, KindTimes};

/// Thread id that stands for all threads beyond those counted individually.
pub const OTHER_PROCESSES: u32 = OTHERS;

/// Events that match nothing. They result from lost events, from I/O in flight when the trace started or ended, or from
/// kinds of event that the trace omits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Completions of bios that were never queued.
    pub unmatched_complete: u64,
    /// Bios that never completed: in flight at the end, aged out, or evicted.
    pub unmatched_queue: u64,
    /// Completions of bios that had already completed.
    pub duplicate_complete: u64,
    /// Requests for bios that were never queued.
    pub unmatched_getrq: u64,
    /// Insertions of unknown requests.
    pub unmatched_insert: u64,
    /// Issues of unknown requests.
    pub unmatched_issue: u64,
    /// Merges of unknown bios, or into unknown requests.
    pub unmatched_merge: u64,
    /// Splits of unknown bios.
    pub unmatched_split: u64,
    /// Requeues of unknown requests.
    pub unmatched_requeue: u64,
    /// Requests issued again without a requeue in between.
    pub issued_again: u64,
    /// Bios that got a shorter request without a split.
    pub implicit_splits: u64,
    /// Second pieces of split bios queued again, as older kernels do.
    pub remainders_queued_again: u64,
    /// Events that matched several bios equally: the oldest was taken.
    pub ambiguous: u64,
    /// Flush sequences without a last completion: that of the data was taken.
    pub flushes_without_end: u64,
    /// Bios given up because of their age.
    pub aged_out: u64,
    /// Bios given up because too many were in flight.
    pub evicted: u64,
    /// Age of the oldest bio given up.
    pub oldest_age_ns: u64,
    /// Bios in flight when the trace ended.
    pub in_flight_at_end: u64,
    /// Events of devices beyond the limit.
    pub too_many_devices: u64,
}

impl Anomalies {
    /// Names and counts.
    pub fn counts(&self) -> [(&'static str, u64); 18] {
        [
            ("unmatched_complete", self.unmatched_complete),
            ("unmatched_queue", self.unmatched_queue),
            ("duplicate_complete", self.duplicate_complete),
            ("unmatched_getrq", self.unmatched_getrq),
            ("unmatched_insert", self.unmatched_insert),
            ("unmatched_issue", self.unmatched_issue),
            ("unmatched_merge", self.unmatched_merge),
            ("unmatched_split", self.unmatched_split),
            ("unmatched_requeue", self.unmatched_requeue),
            ("issued_again", self.issued_again),
            ("implicit_splits", self.implicit_splits),
            ("remainders_queued_again", self.remainders_queued_again),
            ("ambiguous", self.ambiguous),
            ("flushes_without_end", self.flushes_without_end),
            ("aged_out", self.aged_out),
            ("evicted", self.evicted),
            ("in_flight_at_end", self.in_flight_at_end),
            ("too_many_devices", self.too_many_devices),
        ]
    }
}

/// One device's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceReport {
    /// The device.
    pub device: DeviceNumber,
    /// Its tables.
    pub tables: DeviceTables,
}

/// Sums over one thread or one cgroup on all devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitterTimes<K> {
    /// The thread or cgroup.
    pub submitter: K,
    /// Bios queued.
    pub queued: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Of the queued bytes, reads.
    pub read_bytes: u64,
    /// Of the queued bytes, writes.
    pub write_bytes: u64,
    /// Bios completed with an error.
    pub errors: u64,
    /// Slow bios.
    pub slow: u64,
    /// Q2C, to 1.6 %.
    pub q2c: Histogram<4>,
    /// D2C, to 1.6 %.
    pub d2c: Histogram<4>,
}

/// All findings on a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockReport {
    /// Events taken.
    pub events: u64,
    /// Time of the first event.
    pub first_ns: u64,
    /// Time of the last event.
    pub last_ns: u64,
    /// The clock.
    pub clock: ClockReport,
    /// Events that match nothing.
    pub anomalies: Anomalies,
    /// Devices, in order of first appearance.
    pub devices: Vec<DeviceReport>,
    /// Phases of all devices. Q2Q is from one bio to the next on any device.
    pub phases: PerPhase<Histogram>,
    /// Kinds of all devices, most frequent first.
    pub kinds: Vec<(Kind, KindTimes)>,
    /// Threads, most bytes first.
    pub processes: Vec<SubmitterTimes<u32>>,
    /// Cgroups, most bytes first; empty if the trace has none.
    pub cgroups: Vec<SubmitterTimes<u64>>,
    /// Slow bios.
    pub slow: SlowReport,
}

/// What the lifecycle collected.
pub(super) struct Collected<'a> {
    pub(super) events: u64,
    pub(super) devices: &'a [Device],
    pub(super) classes: &'a Classes,
    pub(super) q2q: Histogram,
    pub(super) clock: ClockReport,
    pub(super) anomalies: Anomalies,
    pub(super) slow: Slow,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Collected<'_> {
    pub(super) fn into_report(self) -> BlockReport {
        let mut phases: PerPhase<Histogram> = PerPhase::default();
        let mut kinds: Vec<(Kind, KindTimes)> = Vec::new();
        for device in self.devices {
            for phase in Phase::ALL {
                phases[phase].merge(&device.tables.phases[phase]);
            }
            for (kind, times) in &device.tables.kinds {
                add_kind(&mut kinds, *kind, times);
            }
        }
        phases[Phase::Q2Q] = self.q2q;
        kinds.sort_by_key(|(kind, times)| (std::cmp::Reverse(times.queued), *kind));
        let Collected { events, devices, classes, clock, anomalies, slow, first_ns, last_ns, .. } = self;
        BlockReport {
            events,
            first_ns,
            last_ns,
            clock,
            anomalies,
            phases,
            kinds,
            processes: by_submitter(classes, |key| Some(key.pid)),
            cgroups: by_submitter(classes, |key| (key.cgroup != 0).then_some(key.cgroup)),
            slow: slow.finish(classes, devices),
            devices: devices
                .iter()
                .filter(|device| device.tables.events > 0)
                .map(|device| DeviceReport { device: device.number, tables: device.tables.clone() })
                .collect(),
        }
    }
}

fn add_kind(kinds: &mut Vec<(Kind, KindTimes)>, kind: Kind, times: &KindTimes) {
    let at = match kinds.iter().position(|(counted, _)| *counted == kind) {
        Some(at) => at,
        None => {
            kinds.push((kind, KindTimes::default()));
            kinds.len() - 1
        }
    };
    let sum = &mut kinds[at].1;
    sum.queued += times.queued;
    sum.queued_bytes += times.queued_bytes;
    sum.q2c.merge(&times.q2c);
    sum.d2c.merge(&times.d2c);
}

fn by_submitter<K: Copy + Eq + Ord + std::hash::Hash>(
    classes: &Classes,
    key: impl Fn(&super::class::ClassKey) -> Option<K>,
) -> Vec<SubmitterTimes<K>> {
    use model::block::Operation;
    let mut sums: Vec<SubmitterTimes<K>> = Vec::new();
    let mut positions = std::collections::HashMap::new();
    for class in classes.all() {
        let Some(submitter) = key(&class.key) else { continue };
        let at = *positions.entry(submitter).or_insert_with(|| {
            sums.push(SubmitterTimes {
                submitter,
                queued: 0,
                queued_bytes: 0,
                read_bytes: 0,
                write_bytes: 0,
                errors: 0,
                slow: 0,
                q2c: Histogram::default(),
                d2c: Histogram::default(),
            });
            sums.len() - 1
        });
        let sum = &mut sums[at];
        sum.queued += class.queued;
        sum.queued_bytes += class.queued_bytes;
        match class.key.kind.operation() {
            Operation::Read => sum.read_bytes += class.queued_bytes,
            Operation::Write => sum.write_bytes += class.queued_bytes,
            _ => {}
        }
        sum.errors += class.errors;
        sum.slow += class.slow;
        sum.q2c.merge(&class.times[0]);
        sum.d2c.merge(&class.times[1]);
    }
    sums.sort_by_key(|sum| (std::cmp::Reverse((sum.queued_bytes, sum.queued)), sum.submitter));
    sums
}
