//! One run of a sweep, in its environment.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use model::run::Configuration;
use rig::Register;
use rustix::process::{Pid, Signal};
use sweep::{Cell, Setup, SweepFile};

use super::environment::Environment;
use super::words::{complaint, varied, words};
use crate::recording::sharing::SharingArgs;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

const POLL: Duration = Duration::from_millis(50);

/// A model's run may be over in less.
const SHORT_POLL: Duration = Duration::from_millis(2);

/// What every run of a sweep needs.
pub(super) struct Runner<'a> {
    pub(super) file: &'a SweepFile,
    pub(super) sharing: &'a SharingArgs,
    pub(super) register: &'a Register,
    pub(super) interrupt: &'a Interrupt,
    pub(super) screen: &'a Screen,
    /// What was said already: most runs of a machine warn of the same.
    said: RefCell<BTreeSet<String>>,
}

/// A run to make.
pub(super) struct SingleRun<'a> {
    pub(super) cell: &'a Cell,
    pub(super) setup: &'a Setup,
    pub(super) directory: &'a Path,
    /// Shows the current phase.
    pub(super) show: &'a dyn Fn(&str),
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        file: &'a SweepFile,
        sharing: &'a SharingArgs,
        register: &'a Register,
        interrupt: &'a Interrupt,
        screen: &'a Screen,
    ) -> Runner<'a> {
        Runner { file, sharing, register, interrupt, screen, said: RefCell::default() }
    }

    /// Makes a run. Returns its exit code, 0 or 1; `None`: it was stopped and must be repeated.
    pub(super) fn run(&self, run: &SingleRun<'_>) -> Result<Option<i32>, Failure> {
        if self.file.simulate.is_some() {
            return self.simulate(run);
        }
        (run.show)("preparing");
        let environment = Environment::build(self.file, run.setup, self.register)?;
        let result = self.run_within(&environment, run);
        for leftover in environment.take_down() {
            self.screen.warning(&leftover);
        }
        result
    }

    fn run_within(&self, environment: &Environment, run: &SingleRun<'_>) -> Result<Option<i32>, Failure> {
        if let Some(remark) = environment.begin()? {
            self.warn_once(&remark);
        }
        if !self.settle(Duration::from_nanos(self.file.settle_ns()), run.show) {
            return Ok(None);
        }
        let mut command = Command::new("/proc/self/exe");
        command.args(words(self.file, run.setup, run.cell.repetition, environment.directories())?);
        command.arg("--with-parent").arg(std::process::id().to_string());
        self.execute(command, run)
    }

    /// Sleeps; `false`: the user wants to stop.
    fn settle(&self, duration: Duration, show: &dyn Fn(&str)) -> bool {
        let until = Instant::now() + duration;
        while Instant::now() < until {
            if self.interrupt.requests() > 0 {
                return false;
            }
            show("settling");
            std::thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
        }
        true
    }

    /// Simulates a model, which needs no environment. A twin gets its own seed; with its original's seed it would be
    /// identical to it.
    fn simulate(&self, run: &SingleRun<'_>) -> Result<Option<i32>, Failure> {
        let seeds_before = if run.cell.is_twin { self.file.repetitions } else { 0 };
        let mut command = Command::new("/proc/self/exe");
        command.args(words(self.file, run.setup, seeds_before.wrapping_add(run.cell.repetition), &[])?);
        self.execute(command, run)
    }

    fn execute(&self, mut command: Command, run: &SingleRun<'_>) -> Result<Option<i32>, Failure> {
        let log = run.directory.with_extension("stderr");
        let stderr =
            access::create(&log).map_err(|error| Failure::machine(format_args!("{}: {error}", log.display())))?;
        command.arg("--quiet").arg("--out").arg(run.directory).args(self.sharing.words());
        command.arg("--configuration").arg(self.configuration(run)?);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        // Its own process group shields it from the terminal's Ctrl-C: the sweep decides when it ends.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child =
            command.spawn().map_err(|error| Failure::machine(format_args!("cannot run stallscope itself: {error}")))?;
        let status = self.wait(child, run.show)?;
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        match status.code() {
            Some(code @ (0 | 1)) => {
                self.pass_on(&text);
                Ok(Some(code))
            }
            _ if self.interrupt.requests() > 0 => Ok(None),
            code => {
                let why = complaint(&text);
                Err(Failure::like(code, format_args!("the run of '{}' failed ({status}): {why}", run.setup.name)))
            }
        }
    }

    /// Says what a run that counts said: it may have lost data, or its load may have failed.
    fn pass_on(&self, stderr: &str) {
        for line in stderr.lines() {
            let said = line.strip_prefix("warning: ").or_else(|| line.strip_prefix("stallscope: "));
            said.into_iter().for_each(|said| self.warn_once(said));
        }
    }

    fn warn_once(&self, warning: &str) {
        if self.said.borrow_mut().insert(warning.to_owned()) {
            self.screen.warning(warning);
        }
    }

    fn configuration(&self, run: &SingleRun<'_>) -> Result<String, Failure> {
        let configuration = Configuration {
            name: run.setup.name.clone(),
            settings: run.setup.settings.clone(),
            repetition: run.cell.repetition,
            is_twin: run.cell.is_twin,
            varied: varied(self.file, run.setup)?,
        };
        Ok(serde_json::to_string(&configuration).expect("plain data"))
    }

    /// Waits for a run and passes a request to stop on to it.
    fn wait(&self, mut child: Child, show: &dyn Fn(&str)) -> Result<ExitStatus, Failure> {
        let mut passed_on = 0;
        loop {
            let ended = child.try_wait().map_err(|error| Failure::machine(format_args!("cannot wait: {error}")))?;
            if let Some(status) = ended {
                return Ok(status);
            }
            let requests = self.interrupt.requests();
            if requests > passed_on
                && let Some(pid) = Pid::from_raw(child.id() as i32)
            {
                let _ = rustix::process::kill_process(pid, Signal::INT);
                passed_on = requests;
            }
            show(if passed_on > 0 { "stopping" } else { "running" });
            std::thread::sleep(if self.file.simulate.is_some() { SHORT_POLL } else { POLL });
        }
    }
}
