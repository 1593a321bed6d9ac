//! How often the kernel's stall events happened, counted by perf_event_open without BPF or a trace buffer.
//!
//! One group of counters for each CPU. Reading a group interrupts its CPU once, so the number of CPUs is bounded.

use std::path::Path;

use model::metric::{MetricId, Semantics, Unit};
use model::preflight::{Finding, capability};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use crate::file::read_trimmed;
use crate::last_values::SampleWriter;
use crate::source::MetricSource;
use crate::source_error::SourceError;
use crate::sys::count_tracepoint;

/// Events, each of which is a stall.
const EVENTS: [(&str, &str); 7] = [
    ("vmscan", "mm_vmscan_direct_reclaim_begin"),
    ("vmscan", "mm_vmscan_memcg_reclaim_begin"),
    // Since Linux 5.16.
    ("vmscan", "mm_vmscan_throttled"),
    ("vmscan", "mm_shrink_slab_start"),
    ("writeback", "balance_dirty_pages"),
    ("compaction", "mm_compaction_begin"),
    ("oom", "mark_victim"),
];

const PURPOSE: &str =
    "counts direct reclaim, reclaim throttling, shrinkers, dirty throttling, compaction and OOM kills";
const CAPABILITY: &str = capability::TRACEPOINT_COUNTERS;

/// The result of reading a group: the number of counters, then their values.
const WORDS: usize = EVENTS.len() + 1;

struct Counter {
    name: String,
    id: u64,
    metric: Option<MetricId>,
}

/// The counters of all CPUs.
pub(crate) struct Tracepoints {
    counters: Vec<Counter>,
    /// For each CPU the first counter, which is read, and the others, which are only kept open.
    groups: Vec<Vec<OwnedFd>>,
}

impl Tracepoints {
    /// Opens the counters of the CPUs, and adds findings for missing ones.
    pub(crate) fn open(
        tracing: Option<&Path>,
        cpus: &[u32],
        cpu_limit: usize,
        findings: &mut Vec<Finding>,
    ) -> Option<Tracepoints> {
        let mut missing = |why: String, remedy: &str| {
            findings.push(Finding::missing(CAPABILITY, PURPOSE, why, remedy));
        };
        let Some(tracing) = tracing else {
            missing(
                "tracefs is not mounted, or not to be read".into(),
                "as root: mount -t tracefs nodev /sys/kernel/tracing",
            );
            return None;
        };
        if cpus.len() > cpu_limit {
            let why = format!("{} CPUs, and reading interrupts each; the limit is {cpu_limit}", cpus.len());
            missing(why, "raise the limit, or read direct reclaim from vmstat's allocstall");
            return None;
        }
        let (counters, absent) = resolve(tracing);
        if !absent.is_empty() {
            missing(format!("this kernel has no {}", absent.join(", ")), "none; the other events are counted");
        }
        match counters.is_empty() {
            true => None,
            false => match open_groups(&counters, cpus) {
                Ok(groups) => Some(Tracepoints { counters, groups }),
                Err(error) => {
                    missing(error.to_string(), remedy(&error));
                    None
                }
            },
        }
    }
}

fn remedy(error: &SourceError) -> &'static str {
    match error {
        SourceError::Counter { errno: Errno::MFILE | Errno::NFILE, .. } => "raise the limit of open files (ulimit -n)",
        SourceError::Counter { errno: Errno::ACCESS | Errno::PERM, .. } => {
            "run as root, or with CAP_PERFMON and sysctl kernel.perf_event_paranoid=-1"
        }
        _ => "use a kernel with CONFIG_PERF_EVENTS and CONFIG_EVENT_TRACING",
    }
}

/// The events that this kernel has, and the names of missing ones.
fn resolve(tracing: &Path) -> (Vec<Counter>, Vec<String>) {
    let mut counters = Vec::new();
    let mut absent = Vec::new();
    for (category, event) in EVENTS {
        let path = tracing.join("events").join(category).join(event).join("id");
        match read_trimmed(&path).and_then(|text| text.parse().ok()) {
            Some(id) => counters.push(Counter { name: format!("{category}.{event}"), id, metric: None }),
            None => absent.push(format!("{category}:{event}")),
        }
    }
    (counters, absent)
}

fn open_groups(counters: &[Counter], cpus: &[u32]) -> Result<Vec<Vec<OwnedFd>>, SourceError> {
    let mut groups = Vec::new();
    for &cpu in cpus {
        let mut group: Vec<OwnedFd> = Vec::with_capacity(counters.len());
        for counter in counters {
            match count_tracepoint(counter.id, cpu, group.first().map(OwnedFd::as_fd)) {
                Ok(fd) => group.push(fd),
                // The CPU went offline.
                Err(Errno::NODEV) => break,
                Err(errno) => return Err(SourceError::Counter { event: counter.name.replace('.', ":"), cpu, errno }),
            }
        }
        if group.len() == counters.len() {
            groups.push(group);
        }
    }
    Ok(groups)
}

impl MetricSource for Tracepoints {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let sums = self.sums();
        for (at, counter) in self.counters.iter_mut().enumerate() {
            let metric = *counter.metric.get_or_insert_with(|| {
                writer.metric(format!("tracepoint.{}", counter.name), "", Unit::Count, Semantics::Counter)
            });
            writer.set(metric, sums.as_ref().ok().and_then(|sums| i64::try_from(sums[at]).ok()));
        }
        sums.map(|_| ())
    }
}

impl Tracepoints {
    /// Each event's count on all CPUs.
    fn sums(&self) -> Result<[u64; EVENTS.len()], SourceError> {
        let mut sums = [0u64; EVENTS.len()];
        for (cpu, group) in self.groups.iter().enumerate() {
            let mut bytes = [0; WORDS * 8];
            let failed = |errno| SourceError::Counter { event: "a group".into(), cpu: cpu as u32, errno };
            let len = rustix::io::read(&group[0], &mut bytes).map_err(failed)?;
            // A group in an error state reads as end of file.
            if len < (self.counters.len() + 1) * 8 {
                return Err(failed(Errno::IO));
            }
            let (words, _) = bytes[8..].as_chunks::<8>();
            for (sum, word) in sums.iter_mut().zip(words) {
                *sum += u64::from_ne_bytes(*word);
            }
        }
        Ok(sums)
    }
}
