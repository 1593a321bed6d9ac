//! Moments of a run directory, which may still be recording.
//!
//! A moment reads only the batches of its window, by the times that the journal notes for each. Little is kept of the
//! whole run: its threads, its stacks, and the values of a few counters after each batch.

use std::path::{Path, PathBuf};

use archive::{BatchLocation, Batches, Run, RunState};
use explain::blame::Scope;
use explain::snapshot::{Snapshot, SnapshotBuilder, Window};
use model::damage::Damage;
use model::run::RunDescription;
use model::stall::{StackRecord, TaskRecord};
use top::Extent;

use super::metrics::Metrics;
use super::snapshot_source::SnapshotSource;
use crate::reading::archived_run;
use crate::reading::integrity::Integrity;
use crate::reading::scope::ScopeArgs;
use crate::ui::failure::Failure;

/// A request that ends a stall is recorded at most this long after it.
const LATE_NS: u64 = 1_000_000_000;

/// A stored run.
pub struct Stored {
    path: PathBuf,
    run: Run,
    live: bool,
    /// Names and lengths of the run's files when it was opened.
    files: Vec<(std::ffi::OsString, u64)>,
    metrics: Metrics,
    tasks: SmallTable<TaskRecord>,
    stacks: SmallTable<StackRecord>,
    scope: Scope,
    /// Of this and earlier openings: only the first compares all checksums.
    damage: Vec<Damage>,
}

/// A small table, read once.
struct SmallTable<Row> {
    places: Vec<BatchLocation>,
    rows: Vec<Row>,
    /// Rows after each batch.
    counts: Vec<usize>,
}

impl<Row> SmallTable<Row> {
    fn new() -> SmallTable<Row> {
        SmallTable { places: Vec::new(), rows: Vec::new(), counts: Vec::new() }
    }

    /// Reads new rows. If batches were merged, their rows are read again.
    fn read(&mut self, batches: Batches<Row>) {
        let places = batches.locations();
        let same = places.iter().zip(&self.places).take_while(|(new, old)| new == old).count();
        self.counts.truncate(same);
        self.rows.truncate(self.counts.last().copied().unwrap_or(0));
        for batch in batches.skip(same) {
            self.rows.extend(batch.unwrap_or_default());
            self.counts.push(self.rows.len());
        }
        self.places = places;
    }
}

impl Stored {
    /// Opens a run.
    pub fn open(path: &Path, scope: &ScopeArgs) -> Result<Stored, Failure> {
        let files = files(path);
        let run = archived_run::open(path)?;
        let scope = scope.of_traced(&run)?;
        Ok(Stored {
            path: path.to_owned(),
            live: run.state() == RunState::Live,
            run,
            files,
            metrics: Metrics::default(),
            tasks: SmallTable::new(),
            stacks: SmallTable::new(),
            scope,
            damage: Vec::new(),
        })
    }

    fn note_damage(&mut self) {
        let new: Vec<Damage> = self.run.damage().into_iter().filter(|damage| !self.damage.contains(damage)).collect();
        self.damage.extend(new);
    }

    fn last_ns(&self) -> u64 {
        let run = &self.run;
        let spans = [
            run.samples().span_ns(),
            run.intervals().span_ns(),
            run.operations().span_ns(),
            run.stalls().span_ns(),
            run.request_intervals().span_ns(),
        ];
        let known = spans.into_iter().flatten().map(|(_, last_ns)| last_ns).max();
        // Runs of earlier versions lack the times of their batches.
        let sampled = || run.samples().filter_map(Result::ok).flatten().map(|row| row.at.monotonic_ns).max();
        known.or_else(sampled).unwrap_or(0).max(run.description().started.monotonic_ns)
    }
}

impl SnapshotSource for Stored {
    fn title(&self) -> String {
        // At the end of the title, which a narrow terminal shows.
        let made = if self.run.description().simulated.is_some() { " SIMULATED" } else { "" };
        format!("{}{made}", self.path.display())
    }

    fn description(&self) -> &RunDescription {
        self.run.description()
    }

    fn refresh(&mut self) -> Result<Extent, Failure> {
        if self.live {
            let files = files(&self.path);
            if files != self.files {
                self.note_damage();
                self.run = archived_run::open_again(&self.path)?;
                self.files = files;
            }
            self.live = self.run.state() == RunState::Live;
        }
        Ok(Extent { first_ns: self.started().monotonic_ns, last_ns: self.last_ns(), live: self.live })
    }

    fn snapshot(&mut self, window: Window) -> Snapshot {
        let Stored { run, metrics, tasks, stacks, scope, .. } = self;
        let to_ns = window.to_ns;
        let mut builder = SnapshotBuilder::new(run.description(), window).scoped(scope.clone());
        builder.events(run.events());
        let (history_ns, reach_ns) = (window.history_from_ns(), window.reach_from_ns());
        each(run.intervals().within(history_ns, to_ns), |rows| builder.intervals(rows));
        each(run.request_intervals().within(history_ns, to_ns), |rows| builder.request_intervals(rows));
        each(run.operations().within(reach_ns, to_ns), |rows| builder.operations(rows));
        let mut until_ns = to_ns;
        each(run.stalls().within(reach_ns, to_ns), |rows| {
            let overlapping = rows.iter().filter(|row| row.start_ns < to_ns && row.request.is_some());
            until_ns = overlapping.map(model::stall::StallRecord::end_ns).max().unwrap_or(0).max(until_ns);
            builder.stalls(rows);
        });
        // From where the waits are read: one before the window names its request, too.
        let ended = run.requests().within(reach_ns.saturating_sub(LATE_NS), until_ns.saturating_add(LATE_NS));
        each(ended, |rows| builder.requests(rows));
        each(run.usage().within(reach_ns, to_ns), |rows| builder.usage(rows));
        tasks.read(run.tasks());
        stacks.read(run.stacks());
        builder.tasks(tasks.rows.iter());
        builder.stacks(stacks.rows.iter());
        let series = metrics.series(run, window);
        self.note_damage();
        builder.damage(&self.damage);
        builder.finish(&series)
    }

    fn integrity(&self) -> Integrity {
        let mut integrity = Integrity::default();
        integrity.add(&self.path, self.damage.clone(), self.run.lost());
        integrity
    }

    fn remark(&self) -> Option<String> {
        let damaged =
            || (!self.damage.is_empty()).then(|| "INCOMPLETE: 'stallscope check' names what is damaged".to_owned());
        let lossy = || (!self.run.lost().is_empty()).then(|| "INCOMPLETE: the recording lost data".to_owned());
        let untraced = || self.run.description().trace.is_none().then(|| "recorded without kernel tracing".to_owned());
        let cut_off = || (!self.live && self.run.state() == RunState::CutOff).then(|| "the run was cut off".to_owned());
        damaged().or_else(lossy).or_else(untraced).or_else(cut_off)
    }
}

/// A run notes its own damage.
fn each<Row>(batches: Batches<Row>, mut take: impl FnMut(&[Row])) {
    batches.filter_map(Result::ok).for_each(|rows| take(&rows));
}

fn files(path: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.len()))).collect();
    files.sort();
    files
}
