//! A run whose rows are known: flush `n` writes exactly the rows of [`Step::number`]`(n)`.

mod trace;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use archive::{ArchiveError, Run, Writer, WriterOptions};
use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{TraceSettings, Traced};
use model::time::Moment;

pub(crate) const METRICS: u32 = 40;
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn moment(step: u32) -> Moment {
    Moment { monotonic_ns: u64::from(step + 1) * SECOND, wall_ns: 1_700_000_000_000_000_000 + i64::from(step) }
}

pub(crate) fn description() -> RunDescription {
    RunDescription {
        version: "0.1.0".into(),
        command: vec!["stallscope".into(), "run".into()],
        sample_interval_ns: SECOND,
        report_interval_ns: Some(SECOND),
        slower_than_ns: 1_000_000,
        trace: Some(TraceSettings { slow_ns: 10_000_000, interval_ns: 1_000_000, all_requests: false }),
        seed: Some(7),
        ..RunDescription::new("test", moment(0))
    }
}

/// Small and quick: no syncs, a small reserve, a consolidation each few flushes.
pub(crate) fn options(consolidate_after_flushes: u32) -> WriterOptions {
    WriterOptions { reserve_bytes: 64 << 10, sync: false, consolidate_after_flushes, ..WriterOptions::default() }
}

/// The rows of some flushes. Sets, because consolidation reorders rows; a row never occurs twice.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Rows {
    pub(crate) descriptors: BTreeSet<String>,
    pub(crate) samples: BTreeSet<String>,
    pub(crate) changes: BTreeSet<String>,
    pub(crate) intervals: BTreeSet<String>,
    pub(crate) operations: BTreeSet<String>,
    pub(crate) stalls: BTreeSet<String>,
    pub(crate) stacks: BTreeSet<String>,
    pub(crate) requests: BTreeSet<String>,
    pub(crate) request_intervals: BTreeSet<String>,
    pub(crate) tasks: BTreeSet<String>,
    pub(crate) usage: BTreeSet<String>,
    pub(crate) user_stacks: BTreeSet<String>,
    pub(crate) user_frames: BTreeSet<String>,
}

/// What one flush writes.
pub(crate) struct Step {
    pub(crate) descriptors: Vec<MetricDescriptor>,
    pub(crate) header: SampleHeader,
    pub(crate) changes: Vec<MetricChange>,
    pub(crate) intervals: Vec<IntervalRecord>,
    pub(crate) operations: Vec<OperationRecord>,
    pub(crate) traced: Traced,
}

impl Step {
    pub(crate) fn number(step: u32) -> Step {
        Step {
            descriptors: if step == 0 { (0..METRICS).map(descriptor).collect() } else { Vec::new() },
            header: SampleHeader { sample: step, at: moment(step), late_ns: 5, cpu_ns: 800_000, took_ns: 900_000 },
            changes: (0..METRICS)
                .filter(|metric| (step + metric).is_multiple_of(3))
                .map(|metric| change(step, metric))
                .collect(),
            intervals: ["read", "write"].map(|class| interval(step, class)).into(),
            operations: (0..step % 3).map(|number| operation(step, number)).collect(),
            traced: trace::traced(step),
        }
    }

    pub(crate) fn write(mut self, writer: &mut Writer) {
        writer.describe(&self.descriptors);
        writer.sample(self.header, &self.changes);
        writer.intervals(self.intervals);
        writer.operations(self.operations);
        writer.traced(&mut self.traced);
        assert!(self.traced.is_empty());
    }
}

fn descriptor(id: u32) -> MetricDescriptor {
    let (name, instance) =
        (format!("vmstat.field_{id}"), if id.is_multiple_of(2) { String::new() } else { "sda".into() });
    let device = (!instance.is_empty()).then(|| "sdb".to_owned());
    MetricDescriptor { id: MetricId(id), name, instance, unit: Unit::Pages, semantics: Semantics::Counter, device }
}

fn change(sample: u32, metric: u32) -> MetricChange {
    let value = (metric != 3).then(|| i64::from(sample) * 100_003 + i64::from(metric) - 17);
    MetricChange { sample, metric: MetricId(metric), value }
}

fn interval(step: u32, class: &str) -> IntervalRecord {
    let buckets = (0..step % 4 + 1).map(|n| Bucket { index: 2000 + 700 * n + step, count: u64::from(n) + 1 }).collect();
    IntervalRecord {
        phase: "run".into(),
        class: class.into(),
        start_ns: u64::from(step) * SECOND,
        end_ns: u64::from(step + 1) * SECOND,
        count: 10,
        max_ns: (!step.is_multiple_of(5)).then_some(123_456),
        buckets,
        oldest_running_ns: step.is_multiple_of(2).then_some(77),
        ..IntervalRecord::default()
    }
}

fn operation(step: u32, number: u32) -> OperationRecord {
    let failed = number == 1;
    OperationRecord {
        kind: if failed { OperationKind::Failed } else { OperationKind::Slow },
        class: "read".into(),
        tid: 1000 + number,
        start_ns: u64::from(step) * SECOND + u64::from(number),
        duration_ns: 40_000_000,
        bytes: (!failed).then_some(65536),
        errno: failed.then_some(28),
        path: failed.then(|| "/mnt/file".into()),
        offset_bytes: None,
        fault: None,
    }
}

/// The rows of the first `steps` flushes.
pub(crate) fn rows_of(steps: u32) -> Rows {
    let mut rows = Rows::default();
    for step in (0..steps).map(Step::number) {
        rows.descriptors.extend(step.descriptors.iter().map(text));
        rows.samples.insert(text(&step.header));
        rows.changes.extend(step.changes.iter().map(text));
        rows.intervals.extend(step.intervals.iter().map(text));
        rows.operations.extend(step.operations.iter().map(text));
        rows.add(&step.traced);
    }
    rows
}

/// Every row of the run, damaged batches left out; panics if a row occurs twice.
pub(crate) fn rows_in(run: &Run) -> Rows {
    Rows {
        descriptors: set(run.descriptors()),
        samples: set(run.samples()),
        changes: set(run.changes()),
        intervals: set(run.intervals()),
        operations: set(run.operations()),
        stalls: set(run.stalls()),
        stacks: set(run.stacks()),
        requests: set(run.requests()),
        request_intervals: set(run.request_intervals()),
        tasks: set(run.tasks()),
        usage: set(run.usage()),
        user_stacks: set(run.user_stacks()),
        user_frames: set(run.user_frames()),
    }
}

/// How many rows of all tables are read, damaged batches left out; equal rows count each.
pub(crate) fn count_rows(run: &Run) -> u64 {
    [
        count(run.descriptors()),
        count(run.samples()),
        count(run.changes()),
        count(run.intervals()),
        count(run.operations()),
        count(run.stalls()),
        count(run.stacks()),
        count(run.requests()),
        count(run.request_intervals()),
        count(run.tasks()),
        count(run.usage()),
        count(run.user_stacks()),
        count(run.user_frames()),
    ]
    .iter()
    .sum()
}

fn count<Row>(batches: impl Iterator<Item = Result<Vec<Row>, ArchiveError>>) -> u64 {
    batches.flatten().map(|rows| rows.len() as u64).sum()
}

impl Rows {
    /// Adds what a tracer saw.
    fn add(&mut self, traced: &Traced) {
        self.stalls.extend(traced.stalls.iter().map(text));
        self.stacks.extend(traced.stacks.iter().map(text));
        self.requests.extend(traced.requests.iter().map(text));
        self.request_intervals.extend(traced.request_intervals.iter().map(text));
        self.tasks.extend(traced.tasks.iter().map(text));
        self.usage.extend(traced.usage.iter().map(text));
        self.user_stacks.extend(traced.user_stacks.iter().map(text));
        self.user_frames.extend(traced.user_frames.iter().map(text));
    }

    fn tables(&self) -> [&BTreeSet<String>; 13] {
        [
            &self.descriptors,
            &self.samples,
            &self.changes,
            &self.intervals,
            &self.operations,
            &self.stalls,
            &self.stacks,
            &self.requests,
            &self.request_intervals,
            &self.tasks,
            &self.usage,
            &self.user_stacks,
            &self.user_frames,
        ]
    }

    /// Rows of all tables.
    pub(crate) fn count(&self) -> u64 {
        self.tables().iter().map(|rows| rows.len() as u64).sum()
    }

    /// Whether every row is one of `written`.
    pub(crate) fn are_among(&self, written: &Rows) -> bool {
        self.tables().into_iter().zip(written.tables()).all(|(rows, written)| rows.is_subset(written))
    }
}

fn text(row: &impl std::fmt::Debug) -> String {
    format!("{row:?}")
}

fn set<Row: std::fmt::Debug>(batches: impl Iterator<Item = Result<Vec<Row>, ArchiveError>>) -> BTreeSet<String> {
    let mut set = BTreeSet::new();
    for row in batches.flatten().flatten() {
        assert!(set.insert(text(&row)), "read twice: {row:?}");
    }
    set
}

/// Writes `steps` flushes, without closing.
pub(crate) fn write_steps(dir: &Path, steps: u32, options: WriterOptions) -> Writer {
    let mut writer = Writer::create(dir, &description(), options).unwrap();
    writer.event(RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns: 1 });
    for step in 0..steps {
        Step::number(step).write(&mut writer);
        assert_eq!(writer.flush(moment(step)), archive::FlushState::Whole);
    }
    writer
}

/// Copies a run directory as it is now.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Says why a test does nothing here.
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
