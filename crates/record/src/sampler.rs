//! All sources of this machine, sampled together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::metric::SampleHeader;
use model::preflight::Finding;

use crate::clock;
use crate::device::Devices;
use crate::last_values::{LastValues, Sample, SampleWriter, SourceFailure};
use crate::roots::Roots;
use crate::source::MetricSource;
use crate::source::cgroup::{Cgroup, LoadCgroup};
use crate::source_error::SourceError;
use discovery::Discovered;
pub use options::SamplerOptions;

mod discovery;
mod options;

/// A source over its budget skips at most this many samples.
const LONGEST_PAUSE: u64 = 30;

/// Absent metrics, of removed devices and mounts, beyond which a set should be opened again.
const ABSENT_LIMIT: usize = 10_000;

/// What a source has cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceCost {
    /// The source.
    pub source: &'static str,
    /// Samples that it was read for.
    pub samples: u64,
    /// CPU time of the sampling thread, in the kernel and here, ns.
    pub cpu_ns: u64,
    /// CPU time of its most expensive sample except the first, which opens and names everything, ns.
    pub worst_ns: u64,
    /// Changed values.
    pub changes: u64,
}

struct Slot {
    source: Box<dyn MetricSource>,
    cost: SourceCost,
    failed: bool,
    /// It is no longer read; its metrics become absent at the next sample.
    retired: bool,
    /// Samples to skip.
    pause: u64,
    /// Consecutive readings over the budget.
    over_budget: u32,
    budget_reported: bool,
}

/// The sources that this machine has. It may be sampled on a separate thread.
pub struct SamplerSet {
    slots: Vec<Slot>,
    last_values: LastValues,
    devices: Devices,
    archived_bytes: Arc<AtomicU64>,
    source_budget_ns: u64,
    full_sample_due: bool,
    everything_due: bool,
}

impl SamplerSet {
    /// Opens the sources that exist. Missing ones become findings, and recording continues without them.
    pub fn discover(roots: &Roots, options: &SamplerOptions) -> (SamplerSet, Vec<Finding>) {
        let archived_bytes: Arc<AtomicU64> = Arc::default();
        let Discovered { sources, mut findings } = discovery::discover(roots, options, &archived_bytes);
        let mut set = SamplerSet {
            slots: sources.into_iter().map(|(name, source)| Slot::new(name, source)).collect(),
            last_values: LastValues::default(),
            devices: Devices::new(roots.clone()),
            archived_bytes,
            source_budget_ns: options.source_budget_ns.max(1),
            full_sample_due: false,
            everything_due: false,
        };
        if let Some(cgroup) = &options.cgroup {
            findings.extend(set.add_cgroup(cgroup));
        }
        (set, findings)
    }

    /// Adds the cgroup of the load after its creation. It replaces one that was added before.
    pub fn add_cgroup(&mut self, cgroup: &LoadCgroup) -> Option<Finding> {
        self.remove_cgroup();
        let source = Cgroup::open(cgroup);
        if source.is_empty() {
            let folders: Vec<_> = [&cgroup.memory_v1, &cgroup.blkio_v1, &cgroup.v2].into_iter().flatten().collect();
            return Some(Finding::missing(
                "cgroup counters",
                "Memory, faults, reclaim and I/O of the load's cgroup",
                format!("no readable file in {folders:?}"),
                "check that the cgroup exists and that its controllers are enabled",
            ));
        }
        self.slots.push(Slot::new("cgroup", Box::new(source)));
        None
    }

    /// Stops reading the load's cgroup, before its removal.
    pub fn remove_cgroup(&mut self) {
        self.slots.iter_mut().filter(|slot| slot.cost.source == "cgroup").for_each(|slot| slot.retired = true);
    }

    /// How many bytes the archive holds, for `recorder.archived_bytes`.
    pub fn set_archived_bytes(&mut self, bytes: u64) {
        self.archived_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Makes the next sample readable without those before: it describes all metrics that have a value, under their
    /// existing numbers, and contains their values even if unchanged.
    pub fn request_full_sample(&mut self) {
        self.full_sample_due = true;
    }

    /// Makes the next sample read every source, also those that are read now and then.
    pub fn request_all_sources(&mut self) {
        self.everything_due = true;
    }

    /// Whether most of its metrics are absent, and these are many. A recorder that runs for weeks, on a machine whose
    /// devices come and go, then opens another set, which bounds its memory.
    pub fn is_overgrown(&self) -> bool {
        let absent = self.last_values.len() - self.last_values.present();
        absent > ABSENT_LIMIT && absent > self.last_values.present()
    }

    /// Metrics described so far.
    pub fn metric_count(&self) -> usize {
        self.last_values.len()
    }

    /// What each source has cost so far, in the order of reading.
    pub fn costs(&self) -> impl Iterator<Item = SourceCost> {
        self.slots.iter().map(|slot| slot.cost)
    }

    /// Reads every source once. What `out` held before is dropped; its buffers are reused, and in the steady state
    /// nothing is allocated.
    ///
    /// A source that fails is reported once in [`Sample::failures`]; its metrics are absent, and reading is tried again
    /// at each sample.
    ///
    /// The header's `late_ns` is 0: the caller knows from its [`crate::Tick`] what was planned.
    pub fn sample(&mut self, sample: u32, out: &mut Sample) -> SampleHeader {
        out.clear();
        let at = clock::now();
        let cpu_at_start = clock::thread_cpu_ns();
        let mut before = cpu_at_start;
        let everything = std::mem::take(&mut self.everything_due);
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if slot.pause > 0 && !slot.retired && !everything {
                slot.pause -= 1;
                continue;
            }
            let changes = out.changes.len();
            let mut writer = SampleWriter {
                last_values: &mut self.last_values,
                out,
                sample,
                source: number as u16,
                devices: &mut self.devices,
                everything,
            };
            slot.read(&mut writer);
            let after = clock::thread_cpu_ns();
            slot.account(after - before, (out.changes.len() - changes) as u64);
            slot.keep_to_budget(after - before, self.source_budget_ns, out);
            before = after;
        }
        if std::mem::take(&mut self.full_sample_due) {
            self.last_values.emit_all(sample, out);
        }
        let took_ns = clock::monotonic_ns().saturating_sub(at.monotonic_ns);
        SampleHeader { sample, at, late_ns: 0, cpu_ns: before - cpu_at_start, took_ns }
    }
}

/// Replaces a source that is no longer read: the others keep their numbers.
struct Nothing;

impl MetricSource for Nothing {
    fn sample(&mut self, _sheet: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        Ok(())
    }
}

impl Slot {
    fn new(name: &'static str, source: Box<dyn MetricSource>) -> Slot {
        let cost = SourceCost { source: name, samples: 0, cpu_ns: 0, worst_ns: 0, changes: 0 };
        Slot { source, cost, failed: false, retired: false, pause: 0, over_budget: 0, budget_reported: false }
    }

    fn read(&mut self, writer: &mut SampleWriter<'_>) {
        if self.retired {
            self.retired = false;
            writer.all_absent();
            self.source = Box::new(Nothing);
        }
        let result = self.source.sample(writer);
        if let Err(error) = &result
            && !self.failed
        {
            let why = format!("{error}; its metrics are absent until it can be read again");
            writer.out.failures.push(SourceFailure { source: self.cost.source, why });
        }
        self.failed = result.is_err();
    }

    fn account(&mut self, cpu_ns: u64, changes: u64) {
        if self.cost.samples > 0 {
            self.cost.worst_ns = self.cost.worst_ns.max(cpu_ns);
        }
        self.cost.samples += 1;
        self.cost.cpu_ns += cpu_ns;
        self.cost.changes += changes;
    }

    fn keep_to_budget(&mut self, cpu_ns: u64, budget_ns: u64, out: &mut Sample) {
        self.over_budget = if cpu_ns > budget_ns { self.over_budget.saturating_add(1) } else { 0 };
        // An interrupt may cause a single expensive reading.
        if self.over_budget < 3 {
            return;
        }
        self.pause = (cpu_ns / budget_ns).min(LONGEST_PAUSE);
        if !std::mem::replace(&mut self.budget_reported, true) {
            let cpu = model::quantity::Nanoseconds(cpu_ns);
            let why = format!("one reading takes {cpu} of CPU; it is read at only some of the samples");
            out.failures.push(SourceFailure { source: self.cost.source, why });
        }
    }
}

const _: () = {
    const fn moves_between_threads<T: Send>() {}
    moves_between_threads::<SamplerSet>();
};

#[cfg(test)]
mod tests;
