//! What `run` and `record` have in common: the rig and the recording around a load.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use archive::{FlushState, WriterOptions};
use explain::blame::Scope;
use explain::summary::Summary;
use model::event::{Ending, RunEvent};
use model::metric::MetricDescriptor;
use model::operation::OperationRecord;
use model::run::RunDescription;
use record::{LoadCgroup, clock};
use rig::{KernelFiles, Register, Rig};

use crate::recording::args::RecordingArgs;
use crate::recording::blocked::{self, BlockedRemarks};
use crate::recording::machine::{self, Intent};
use crate::recording::probes::Probes;
use crate::recording::recorder::{Recorder, Start};
use crate::recording::run_directory;
use crate::recording::sink::OneRun;
use crate::recording::slowest::Slowest;
use crate::recording::tap::Tap;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// The rig and the recording around a load.
pub struct Session {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's description.
    pub description: RunDescription,
    /// The recorder.
    pub recorder: Recorder,
    rig: Rig,
    kernel_files: KernelFiles,
    /// The archive state that was reported last.
    reported_state: FlushState,
    blocked_remarks: BlockedRemarks,
    slowest: Option<Slowest>,
}

/// Who else sees what is recorded.
#[derive(Default)]
pub struct Observers {
    /// Selects metrics whose values are also kept in memory.
    pub watch: Option<fn(&MetricDescriptor) -> bool>,
    /// Observes every row.
    pub tap: Option<Arc<dyn Tap>>,
}

impl Observers {
    /// Looks for the slowest operation, if nobody else sees the rows.
    fn slowest(&self, screen: &Screen, slow_ns: u64) -> Option<Slowest> {
        Slowest::new(screen, slow_ns).filter(|_| self.tap.is_none())
    }
}

impl Session {
    /// Builds the rig, opens the archive and starts recording. An error leaves nothing behind.
    pub fn open(
        args: &RecordingArgs,
        intent: Intent,
        under_test: &[PathBuf],
        register: &Register,
        screen: &Screen,
        observers: Observers,
    ) -> Result<Session, Failure> {
        let sharing = args.sharing.sharing()?;
        let chosen = run_directory::choose(args.out.as_deref(), &intent.workload, under_test)?;
        chosen.remark.iter().for_each(|remark| screen.remark(remark));
        let rig = Rig::build(&rig_request(args, under_test), register).map_err(Failure::machine)?;
        rig.notes.iter().for_each(|note| screen.warning(note));
        let kernel_files = KernelFiles::mount(register);
        let probes = Probes::open(load_cgroup(&rig).as_ref(), intent.trace.as_ref());
        probes.remark_untraced(screen);
        let (interval_ns, is_tracing) = (intent.sample_interval_ns, probes.is_tracing());
        let Probes { samplers, tracing, findings } = probes;
        let description = machine::describe(intent, is_tracing, rig.limits.clone(), findings);
        // Blocked tasks are polled, also where the kernel is not traced.
        let options = WriterOptions { is_polled: tracing.is_some(), ..WriterOptions::default() };
        let archive = run_directory::create(&chosen.directory, sharing, &description, options)?;
        let slowest = observers.slowest(screen, description.slower_than_ns);
        let tap = observers.tap.or_else(|| slowest.as_ref().map(Slowest::tap));
        let start = Start { samplers, renew: None, interval_ns, tracing, watch: observers.watch, tap };
        let recorder = Recorder::start(start, Box::new(OneRun(archive)))?;
        for note in &rig.notes {
            recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text: note.clone() });
        }
        Ok(Session {
            directory: chosen.directory,
            description,
            recorder,
            rig,
            kernel_files,
            reported_state: FlushState::Whole,
            blocked_remarks: BlockedRemarks::default(),
            slowest,
        })
    }

    /// The cgroup.procs files that the load writes its pid to.
    pub fn cgroup_procs(&self) -> &[PathBuf] {
        &self.rig.cgroup_procs
    }

    /// Whether the archive can no longer store the load's figures, so the run should end. Reports each change of state.
    pub fn archive_is_full(&mut self, screen: &Screen) -> bool {
        let state = self.recorder.state();
        if state != self.reported_state {
            screen.warning(&format!("{}: {state}", self.directory.display()));
            self.reported_state = state;
        }
        !self.reported_state.keeps_figures()
    }

    /// Reports tasks that are blocked for long. Returns their part of the progress line.
    pub fn report_blocked(&mut self, screen: &Screen) -> String {
        let blocked = self.recorder.blocked();
        self.blocked_remarks.remark(&blocked, screen);
        blocked::summary(&blocked)
    }

    /// Shows slow operations of a load in the line of the slowest one.
    pub fn note_operations(&self, records: &[OperationRecord]) {
        self.slowest.iter().for_each(|slowest| slowest.operations(records));
    }

    /// Says which operation is the slowest now, and why: the line for the progress, or a message. Call this often.
    pub fn report_slowest(&mut self, screen: &Screen) -> &str {
        let Session { slowest, description, .. } = self;
        slowest.as_mut().map_or("", |slowest| slowest.report(description, clock::monotonic_ns(), screen))
    }

    /// Only operations in that scope count for it.
    pub fn report_slowest_within(&mut self, scope: &Scope) {
        self.slowest.iter_mut().for_each(|slowest| slowest.within(scope));
    }

    /// Ends a recording that recorded nothing, and removes its run directory.
    pub fn abandon(self, patience: Duration) {
        let _ = self.recorder.finish(Ending::LoadFailed, patience);
        run_directory::remove(&self.directory);
        self.rig.remove_within(patience);
        self.kernel_files.remove();
    }

    /// Ends the recording and summarizes the run from what is on disk. The rig stands until the result is dropped or
    /// [taken down](Closed::take_down): the figures do not wait for that.
    pub fn close(
        self,
        how: Ending,
        patience: Duration,
        summarize: impl FnOnce(&Path) -> Result<Summary, Failure>,
    ) -> Result<Closed, Failure> {
        let finished = self.recorder.finish(how, patience);
        let trouble = finished.as_ref().ok().filter(|state| **state != self.reported_state);
        let trouble = trouble.map(|state| format!("{}: {state}", self.directory.display()));
        let summary = summarize(&self.directory);
        match (summary, finished.err()) {
            (Ok(summary), incomplete) => {
                Ok(Closed { summary, incomplete, trouble, rig: self.rig, kernel_files: self.kernel_files })
            }
            (Err(unreadable), incomplete) => Err(incomplete.unwrap_or(unreadable)),
        }
    }
}

/// A session that has ended.
pub struct Closed {
    /// Summary of what is on disk.
    pub summary: Summary,
    /// Why the summary is incomplete: the archive could not be closed.
    pub incomplete: Option<Failure>,
    /// What the last flushes lost, which nobody has reported yet.
    trouble: Option<String>,
    rig: Rig,
    kernel_files: KernelFiles,
}

impl Closed {
    /// Removes the rig; what cannot be removed within `patience` is left to the next run.
    pub fn take_down(self, patience: Duration, screen: &Screen) -> (Summary, Option<Failure>) {
        self.trouble.iter().for_each(|trouble| screen.warning(trouble));
        let removed = [self.rig.remove_within(patience), self.kernel_files.remove()].concat();
        for leftover in removed.iter().filter(|removed| !removed.complete) {
            screen.warning(&leftover.to_string());
        }
        (self.summary, self.incomplete)
    }
}

fn rig_request(args: &RecordingArgs, under_test: &[PathBuf]) -> rig::RigRequest {
    rig::RigRequest {
        memory_bytes: args.memory,
        disk_bytes_per_s: args.disk_bps,
        disk_operations_per_s: args.disk_iops,
        directories: under_test.to_vec(),
    }
}

/// The load's cgroup. Its counters have the same instance name in all runs, so that runs can be compared.
fn load_cgroup(rig: &Rig) -> Option<LoadCgroup> {
    let (memory_v1, blkio_v1, v2) = (rig.memory_v1.clone(), rig.blkio_v1.clone(), rig.unified.clone());
    let exists = memory_v1.is_some() || blkio_v1.is_some() || v2.is_some();
    exists.then(|| LoadCgroup { label: "box".to_owned(), memory_v1, blkio_v1, v2 })
}
