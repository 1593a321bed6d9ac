//! What `run` and `record` have in common: pressure and recording are put up around a load, and taken down after it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::{FlushState, Writer, WriterOptions};
use explain::summary::Summary;
use model::event::{Ending, RunEvent};
use model::metric::MetricDescriptor;
use model::run::RunDescription;
use record::{LoadCgroup, Tracing, clock};
use rig::{KernelFiles, Register, Rig};

use crate::recording::args::RecordingArgs;
use crate::recording::blocked::{self, BlockedRemarks};
use crate::recording::machine::{self, Intent};
use crate::recording::recorder::{Recorder, Start};
use crate::recording::run_directory;
use crate::recording::sink::OneRun;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Pressure and recording around a load.
pub struct Session {
    /// The run directory.
    pub directory: PathBuf,
    /// What the run is.
    pub description: RunDescription,
    /// What records.
    pub recorder: Recorder,
    rig: Rig,
    kernel_files: KernelFiles,
    told_of: FlushState,
    told_blocked: BlockedRemarks,
}

impl Session {
    /// Builds the box, opens the archive, and begins to record. An error leaves nothing behind.
    pub fn open(
        args: &RecordingArgs,
        intent: Intent,
        under_test: &[PathBuf],
        register: &Register,
        screen: &Screen,
        watch: Option<fn(&MetricDescriptor) -> bool>,
    ) -> Result<Session, Failure> {
        let place = run_directory::choose(args.out.as_deref(), &intent.workload, under_test)?;
        if let Some(remark) = place.remark {
            screen.remark(&remark);
        }
        let rig = Rig::build(&request(args, under_test), register).map_err(Failure::machine)?;
        for note in &rig.notes {
            screen.warning(note);
        }
        let kernel_files = KernelFiles::mount(register);
        let (mut samplers, mut findings) = machine::samplers();
        findings.extend(box_of(&rig).and_then(|cgroup| samplers.add_cgroup(&cgroup)));
        let interval_ns = intent.sample_interval_ns;
        let (tracing, missing) = intent.trace.as_ref().map(machine::tracing).unzip();
        findings.extend(missing.into_iter().flatten());
        let is_tracing = tracing.as_ref().is_some_and(Tracing::is_tracing);
        if tracing.is_some() && !is_tracing {
            screen.remark("the kernel is not traced; `stallscope doctor` says why and what to do");
        }
        let description = machine::describe(intent, is_tracing, rig.limits.clone(), findings);
        make_parent(&place.directory)?;
        let archive =
            Writer::create(&place.directory, &description, WriterOptions::default()).map_err(Failure::machine)?;
        let start = Start { samplers, renew: None, interval_ns, tracing, watch, tap: None };
        let recorder = Recorder::start(start, Box::new(OneRun(archive)))?;
        for note in &rig.notes {
            recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text: note.clone() });
        }
        Ok(Session {
            directory: place.directory,
            description,
            recorder,
            rig,
            kernel_files,
            told_of: FlushState::Whole,
            told_blocked: BlockedRemarks::default(),
        })
    }

    /// Files that the load writes its process id into, to enter its box.
    pub fn cgroup_procs(&self) -> &[PathBuf] {
        &self.rig.cgroup_procs
    }

    /// Whether the archive can no longer take a load's figures, so that it had better end. Tells the person of each step
    /// of its decline.
    pub fn archive_is_full(&mut self, screen: &Screen) -> bool {
        let state = self.recorder.state();
        if state != self.told_of {
            screen.warning(&format!("{}: {state}", self.directory.display()));
            self.told_of = state;
        }
        !self.told_of.keeps_figures()
    }

    /// Tells the person of tasks that are blocked for long. What a progress line says of them besides.
    pub fn tell_blocked(&mut self, screen: &Screen) -> String {
        let blocked = self.recorder.blocked();
        self.told_blocked.remark(&blocked, screen);
        blocked::in_short(&blocked)
    }

    /// Ends the recording and sums the run up from what is on disk. What was built stands until the answer is dropped or
    /// [taken down](Closed::take_down): whoever waits for the figures need not wait for that.
    pub fn close(
        self,
        how: Ending,
        patience: Duration,
        summarize: impl FnOnce(&Path) -> Result<Summary, Failure>,
    ) -> Result<Closed, Failure> {
        let incomplete = self.recorder.finish(how, patience).err();
        let summary = summarize(&self.directory);
        match (summary, incomplete) {
            (Ok(summary), incomplete) => {
                Ok(Closed { summary, incomplete, rig: self.rig, kernel_files: self.kernel_files })
            }
            (Err(unreadable), incomplete) => Err(incomplete.unwrap_or(unreadable)),
        }
    }
}

/// What a session came to.
pub struct Closed {
    /// What is on disk.
    pub summary: Summary,
    /// Why that is not everything: the archive could not be closed.
    pub incomplete: Option<Failure>,
    rig: Rig,
    kernel_files: KernelFiles,
}

impl Closed {
    /// Takes the box and the slow device away; what does not go within `patience` is left to the next run.
    pub fn take_down(self, patience: Duration, screen: &Screen) -> (Summary, Option<Failure>) {
        let removed = [self.rig.remove_within(patience), self.kernel_files.remove()].concat();
        for leftover in removed.iter().filter(|removed| !removed.complete) {
            screen.warning(&leftover.to_string());
        }
        (self.summary, self.incomplete)
    }
}

fn request(args: &RecordingArgs, under_test: &[PathBuf]) -> rig::RigRequest {
    rig::RigRequest {
        memory_bytes: args.memory,
        disk_bytes_per_s: args.disk_bps,
        disk_operations_per_s: args.disk_iops,
        directories: under_test.to_vec(),
    }
}

/// The box's counters bear one name in all runs, so that runs can be compared.
fn box_of(rig: &Rig) -> Option<LoadCgroup> {
    let (memory_v1, blkio_v1, v2) = (rig.memory_v1.clone(), rig.blkio_v1.clone(), rig.unified.clone());
    let is_there = memory_v1.is_some() || blkio_v1.is_some() || v2.is_some();
    is_there.then(|| LoadCgroup { label: "box".to_owned(), memory_v1, blkio_v1, v2 })
}

fn make_parent(directory: &Path) -> Result<(), Failure> {
    let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(parent)
        .map_err(|error| Failure::machine(format_args!("{}: cannot make it: {error}", parent.display())))
}
