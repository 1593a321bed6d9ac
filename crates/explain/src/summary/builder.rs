//! Collects a run's rows into a [`Summary`], in one pass and bounded memory.

use std::collections::{BTreeMap, HashMap};

use model::event::{Ending, RunEvent, WARMUP_PHASE};
use model::latency::index_of;
use model::metric::MetricDescriptor;
use model::operation::{IntervalRecord, OperationKind, OperationRecord, ROUND};
use model::preflight::Finding;
use model::run::RunDescription;
use model::simulation::Course;

use super::failures::Failures;
use super::findings::{OperationSummary, PhaseSummary, Recording, Simulated, SlowCount, Summary};
use super::remarks::Remarks;
use super::{cgroups, pressure, timeline};
use crate::series::SeriesSet;
use statistics::{IntervalAmount, RateSummary, TimedAmount};

/// Classes whose operations are counted as items, with the name of the rate.
const COUNTED: [(&str, &str); 1] = [("mail", "mails")];

const WORST_KEPT: usize = 10;
const FAILED_KEPT: usize = 10;

/// Facts about a run's recording from the archive.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordingFacts {
    /// Metrics described.
    pub metrics: u64,
    /// Total archive bytes.
    pub archive_bytes: Option<u64>,
    /// Archive bytes of the tables of samples and metrics only.
    pub sample_bytes: Option<u64>,
}

/// Collects rows into a summary.
#[derive(Debug)]
pub struct SummaryBuilder {
    description: RunDescription,
    phases: Vec<PhaseSummary>,
    ending: Option<Ending>,
    course: Option<Course>,
    printed: Vec<(String, f64)>,
    remarks: Remarks,
    operations: Vec<OperationSummary>,
    rounds: Vec<TimedAmount>,
    /// For each of [`COUNTED`], the count of each interval, by its end.
    counted: [BTreeMap<u64, u64>; COUNTED.len()],
    bytes: HashMap<(u64, u64), u64>,
    slow: Vec<SlowCount>,
    worst: Vec<OperationRecord>,
    failed: Vec<OperationRecord>,
    failures: Failures,
    boundaries_ns: Vec<u64>,
    timeline: timeline::LatencyTimeline,
}

impl SummaryBuilder {
    /// An empty summary of a run.
    pub fn new(description: RunDescription) -> SummaryBuilder {
        SummaryBuilder {
            description,
            phases: Vec::new(),
            ending: None,
            course: None,
            printed: Vec::new(),
            remarks: Remarks::default(),
            operations: Vec::new(),
            rounds: Vec::new(),
            counted: Default::default(),
            bytes: HashMap::new(),
            slow: Vec::new(),
            worst: Vec::new(),
            failed: Vec::new(),
            failures: Failures::default(),
            boundaries_ns: Vec::new(),
            timeline: timeline::LatencyTimeline::default(),
        }
    }

    /// Adds an event, in journal order.
    pub fn event(&mut self, event: &RunEvent) {
        let start_ns = self.description.started.monotonic_ns;
        match event {
            RunEvent::PhaseStarted { phase, measured, at_ns } => self.phases.push(PhaseSummary {
                name: phase.clone(),
                measured: *measured,
                start_ns: at_ns.saturating_sub(start_ns),
                end_ns: None,
                bytes: None,
                operations: Vec::new(),
                progress: Vec::new(),
                job_threads: Vec::new(),
            }),
            RunEvent::PhaseEnded { phase, at_ns, bytes } => {
                if let Some(open) = self.phases.iter_mut().rev().find(|open| open.name == *phase) {
                    open.end_ns = Some(at_ns.saturating_sub(start_ns));
                    open.bytes = Some(*bytes);
                }
            }
            RunEvent::JobThreads { phase, members, .. } => {
                if let Some(open) = self.phases.iter_mut().rev().find(|open| open.name == *phase) {
                    open.job_threads.clone_from(members);
                }
            }
            RunEvent::Figure { name, value, .. } => self.printed.push((name.clone(), *value)),
            RunEvent::Simulated { course, .. } => self.course = Some(course.clone()),
            RunEvent::Ended { how, .. } => self.ending = Some(*how),
            RunEvent::Source { finding, .. } => self.source(finding),
            remark => self.remarks.add(remark),
        }
    }

    /// What became of a source when its module was loaded counts, not what it was at the begin.
    fn source(&mut self, finding: &Finding) {
        let before = &mut self.description.preflight;
        match before.iter_mut().find(|known| known.capability == finding.capability) {
            Some(known) => known.clone_from(finding),
            None => before.push(finding.clone()),
        }
    }

    /// Adds an interval's operations. Unmeasured phases (fill, warm-up) are ignored.
    pub fn interval(&mut self, record: &IntervalRecord) {
        let started_ns = self.description.started.monotonic_ns;
        // For a repeated phase, the repetition that contains the interval; rows may follow after all events.
        let since_start_ns = record.start_ns.saturating_sub(started_ns);
        let contains = |phase: &&mut PhaseSummary| phase.name == record.phase && phase.start_ns <= since_start_ns;
        if let Some(phase) = self.phases.iter_mut().rev().find(contains) {
            phase.add(record, started_ns);
        }
        let measured = self.phases.iter().any(|phase| phase.measured && phase.name == record.phase);
        self.failures.interval(record, measured);
        if !measured {
            return;
        }
        if self.boundaries_ns.last() != Some(&record.end_ns) {
            if self.boundaries_ns.is_empty() {
                self.boundaries_ns.push(record.start_ns);
            }
            self.boundaries_ns.push(record.end_ns);
        }
        if record.class == ROUND {
            let (from_ns, to_ns) = (record.start_ns, record.end_ns);
            self.rounds.push(TimedAmount { from_ns, to_ns, amount: record.count as f64 });
            return;
        }
        *self.bytes.entry((record.start_ns, record.end_ns)).or_default() += record.bytes;
        if let Some(at) = COUNTED.iter().position(|(class, _)| *class == record.class) {
            *self.counted[at].entry(record.end_ns).or_default() += record.count.saturating_sub(record.errors);
        }
        if !self.description.is_whole(&record.class) {
            self.count_slow(record);
        }
        self.timeline.add(record);
        OperationSummary::add_to(&mut self.operations, record);
    }

    fn count_slow(&mut self, record: &IntervalRecord) {
        let threshold = index_of(self.description.slower_than_ns);
        let count: u64 =
            record.buckets.iter().filter(|bucket| bucket.index > threshold).map(|bucket| bucket.count).sum();
        match self.slow.iter_mut().find(|slow| slow.class == record.class) {
            Some(slow) => slow.count += count,
            None => self.slow.push(SlowCount { class: record.class.clone(), count }),
        }
    }

    /// Adds an individually recorded operation. Rounds are ignored: a round is slow because a step of it was.
    /// Operations that ended (or, if stuck, were reported) outside the measured phases are ignored as well, as in all
    /// figures; their failures are counted separately.
    pub fn operation(&mut self, operation: &OperationRecord) {
        if operation.class == ROUND {
            return;
        }
        let measured = self.is_measured(operation.start_ns.saturating_add(operation.duration_ns));
        if operation.kind == OperationKind::Failed {
            self.failures.operation(operation, measured);
        }
        if !measured {
            return;
        }
        match operation.kind {
            OperationKind::Failed => {
                if self.failed.len() < FAILED_KEPT {
                    self.failed.push(operation.clone());
                }
            }
            // It is slow because a part of it was.
            _ if self.description.is_whole(&operation.class) => {}
            OperationKind::Slow | OperationKind::Stuck => self.keep_if_among_the_worst(operation),
        }
    }

    fn is_measured(&self, at_ns: u64) -> bool {
        let at_ns = at_ns.saturating_sub(self.description.started.monotonic_ns);
        let holds = |phase: &PhaseSummary| phase.start_ns <= at_ns && phase.end_ns.is_none_or(|end_ns| at_ns <= end_ns);
        self.phases.iter().any(|phase| phase.measured && holds(phase))
    }

    /// A stuck operation is reported at each interval, and finally as a slow operation: only the longest report is
    /// kept.
    fn keep_if_among_the_worst(&mut self, operation: &OperationRecord) {
        let same = |kept: &OperationRecord| {
            (kept.tid, kept.start_ns) == (operation.tid, operation.start_ns) && kept.class == operation.class
        };
        if let Some(kept) = self.worst.iter_mut().find(|kept| same(kept)) {
            if operation.duration_ns >= kept.duration_ns {
                *kept = operation.clone();
            }
        } else {
            self.worst.push(operation.clone());
        }
        self.worst.sort_by_key(|kept| (std::cmp::Reverse(kept.duration_ns), kept.start_ns));
        self.worst.truncate(WORST_KEPT);
    }

    /// The findings so far. May be called at any time, also during the run.
    pub fn summarise(&self, series: &SeriesSet, facts: RecordingFacts) -> Summary {
        let window = self.window(series);
        let amounts = self.amounts_over_time(series);
        Summary {
            workload: self.description.workload.clone(),
            simulated: self.simulated(),
            host: self.host(),
            recipe: self.description.recipe.clone(),
            directories: self.description.recipe.as_ref().map_or_else(Vec::new, |recipe| recipe.directories.clone()),
            started_ns: self.description.started.monotonic_ns,
            duration_ns: window.map_or(0, |(from, to)| to - from),
            warmup_ns: self.warmup_ns(),
            ending: self.ending,
            slower_than_ns: self.description.slower_than_ns,
            limits: self.description.limits.clone(),
            phases: self.phases.clone(),
            operations: self.operations.clone(),
            rates: rates(&amounts),
            amounts,
            printed: self.printed.clone(),
            slow: self.slow.iter().filter(|slow| slow.count > 0).cloned().collect(),
            worst: self.worst.clone(),
            failed: self.failed.clone(),
            failures: self.failures.counts(),
            pressure: window.map_or_else(Vec::new, |window| pressure::pressure(series, window)),
            memory_cgroup: window.and_then(|window| pressure::memory_cgroup(&self.description.limits, series, window)),
            cgroups: cgroups::cgroups(series, window.and_then(|window| pressure::ends(series, window))),
            timeline: window.map_or_else(Vec::new, |window| self.timeline.rows(series, &self.description, window)),
            recording: self.recording(series, facts),
            remarks: self.remarks.kept().to_vec(),
            missing: self.description.preflight.iter().filter(|finding| finding.is_missing()).cloned().collect(),
        }
    }

    fn host(&self) -> String {
        if self.description.simulated.is_some() {
            return "a model's kernel".to_owned();
        }
        let host = &self.description.host;
        format!(
            "Linux {} {}, {} CPUs, {}",
            host.kernel_release,
            host.architecture,
            host.cpus,
            model::quantity::Bytes(host.memory_bytes)
        )
    }

    fn simulated(&self) -> Option<Simulated> {
        let (origin, simulation) = self.description.origin().zip(self.description.simulated.clone())?;
        Some(Simulated { origin, simulation, course: self.course.clone() })
    }

    /// The measured time on the monotonic clock: the measured phases or, without a load, all samples.
    fn window(&self, series: &SeriesSet) -> Option<(u64, u64)> {
        let start_ns = self.description.started.monotonic_ns;
        let last_seen = series.headers().last().map(|header| header.at.monotonic_ns);
        let measured: Vec<&PhaseSummary> = self.phases.iter().filter(|phase| phase.measured).collect();
        let window = match (measured.first(), measured.last()) {
            (Some(first), Some(last)) => {
                let so_far = self.boundaries_ns.last().copied().max(last_seen).unwrap_or(start_ns);
                (start_ns + first.start_ns, last.end_ns.map_or(so_far, |end| start_ns + end))
            }
            _ => (series.headers().first()?.at.monotonic_ns, last_seen?),
        };
        (window.1 > window.0).then_some(window)
    }

    fn warmup_ns(&self) -> u64 {
        let lasted = |phase: &&PhaseSummary| phase.name == WARMUP_PHASE;
        self.phases.iter().filter(lasted).filter_map(|phase| Some(phase.end_ns?.saturating_sub(phase.start_ns))).sum()
    }

    /// By name of the rate, without those that have no amount.
    fn amounts_over_time(&self, series: &SeriesSet) -> Vec<(String, Vec<TimedAmount>)> {
        let mut all = Vec::new();
        let mut add = |name: &str, amounts: Vec<TimedAmount>| {
            if !amounts.is_empty() {
                all.push((name.to_owned(), amounts));
            }
        };
        add("work", self.rounds.clone());
        COUNTED.iter().zip(&self.counted).for_each(|((_, rate), counts)| add(rate, self.amounts(counts)));
        let (measured, started_ns) =
            (self.phases.iter().filter(|phase| phase.measured), self.description.started.monotonic_ns);
        add("files", measured.flat_map(|phase| phase.files_created(started_ns)).collect());
        add("alloc_stalls", self.counter_amounts(series, pressure::ALLOCATION_STALLS));
        add("memcg_reclaims", self.counter_amounts(series, pressure::MEMORY_CGROUP_RECLAIMS));
        let mut moved: Vec<(&(u64, u64), &u64)> = self.bytes.iter().collect();
        moved.sort();
        let timed =
            |(&(from_ns, to_ns), &bytes): (&(u64, u64), &u64)| TimedAmount { from_ns, to_ns, amount: bytes as f64 };
        add("bytes", moved.into_iter().map(timed).collect());
        all
    }

    /// The counts of each interval from the first to the last with any.
    fn amounts(&self, counts: &BTreeMap<u64, u64>) -> Vec<TimedAmount> {
        let Some((first, last)) = counts.keys().next().zip(counts.keys().next_back()) else { return Vec::new() };
        let amount = |&(from_ns, to_ns): &(u64, u64)| TimedAmount {
            from_ns,
            to_ns,
            amount: counts.get(&to_ns).copied().unwrap_or(0) as f64,
        };
        let mut spans: Vec<&(u64, u64)> =
            self.bytes.keys().filter(|(_, to_ns)| (first..=last).contains(&to_ns)).collect();
        spans.sort();
        spans.into_iter().map(amount).collect()
    }

    /// Growth of the counters with that prefix in each report interval, between the last samples at or before its ends.
    fn counter_amounts(&self, series: &SeriesSet, prefix: &str) -> Vec<TimedAmount> {
        let sampled = |pair: &[u64]| {
            let (from, to) = (series.sample_at(pair[0])?, series.sample_at(pair[1])?);
            let (from_ns, to_ns) = (series.time_of(from)?, series.time_of(to)?);
            let per_s = series.rate_per_s(series.prefixed(prefix), from, to)?;
            Some(TimedAmount { from_ns, to_ns, amount: per_s * to_ns.saturating_sub(from_ns) as f64 / 1e9 })
        };
        self.boundaries_ns.windows(2).filter_map(sampled).collect()
    }

    fn recording(&self, series: &SeriesSet, facts: RecordingFacts) -> Recording {
        let samples = series.headers().len() as u64;
        let cpu_ns = series.headers().iter().map(|header| header.cpu_ns).fold(0, u64::saturating_add);
        let mut recording = Recording {
            samples,
            metrics: facts.metrics,
            cpu_ms_per_sample: (samples > 0).then(|| cpu_ns as f64 / 1e6 / samples as f64),
            bytes_per_sample: facts.sample_bytes.filter(|_| samples > 0).map(|bytes| bytes as f64 / samples as f64),
            archive_bytes: facts.archive_bytes,
            ..Recording::default()
        };
        self.remarks.enter(self.description.started.monotonic_ns, &mut recording);
        recording
    }
}

/// The rates of these amounts.
pub(super) fn rates(amounts: &[(String, Vec<TimedAmount>)]) -> Vec<(String, RateSummary)> {
    let rate = |(name, amounts): &(String, Vec<TimedAmount>)| {
        let intervals: Vec<IntervalAmount> = amounts.iter().map(TimedAmount::interval).collect();
        RateSummary::of(&intervals).filter(|rate| rate.mean_per_s.is_finite()).map(|rate| (name.clone(), rate))
    };
    amounts.iter().filter_map(rate).collect()
}

/// Whether a summary needs a metric's values.
pub fn wanted_metric(descriptor: &MetricDescriptor) -> bool {
    pressure::WANTED.iter().chain(&cgroups::WANTED).any(|prefix| descriptor.name.starts_with(prefix))
}
