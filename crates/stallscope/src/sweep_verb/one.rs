//! One run of a sweep, with all that stands around it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use load::catalogue;
use model::run::{Configuration, Varied};
use rustix::process::{Pid, Signal};
use sweep::{Cell, Setup, SweepFile};

use super::Sweep;
use super::around::Around;
use crate::failure::Failure;

const POLL: Duration = Duration::from_millis(50);

/// A model's run may be over in less.
const SHORT_POLL: Duration = Duration::from_millis(2);

/// The words of a configuration's `stallscope run`. Runs of one block have one seed.
pub(super) fn words(
    file: &SweepFile,
    setup: &Setup,
    repetition: u32,
    directories: &[PathBuf],
) -> Result<Vec<OsString>, Failure> {
    if let Some(model) = &file.simulate {
        return Ok(words_of_model(file, model, setup, repetition));
    }
    let recipe = catalogue::find(&file.workload).map_err(Failure::usage)?;
    let mut words: Vec<OsString> = ["run", &file.workload].map(OsString::from).into();
    for (name, value) in &setup.variables {
        let variable = recipe.variable(name).map_err(Failure::usage)?;
        words.push(format!("--{}={value}", variable.flag).into());
    }
    for (flag, value) in &setup.options {
        match value.as_str() {
            "true" => words.push(format!("--{flag}").into()),
            "false" => {}
            value => words.push(format!("--{flag}={value}").into()),
        }
    }
    if !setup.options.contains_key("seed") {
        words.push(format!("--seed={}", file.seed.wrapping_add(u64::from(repetition))).into());
    }
    words.extend(directories.iter().map(|directory| directory.clone().into_os_string()));
    Ok(words)
}

/// The same of a model. Runs of one block have one seed here, too: what differs between them is no luck.
fn words_of_model(file: &SweepFile, model: &str, setup: &Setup, repetition: u32) -> Vec<OsString> {
    let mut words = vec!["simulate".to_owned(), model.to_owned()];
    // Without one `simulate` plays all, which are several runs.
    words.extend(setup.policy.iter().map(|policy| format!("--policy={policy}")));
    words.extend(setup.parameters.iter().map(|(name, value)| format!("--set={name}={value}")));
    words.extend(setup.options.iter().map(|(flag, value)| format!("--{flag}={value}")));
    if !setup.options.contains_key("seed") {
        words.push(format!("--seed={}", file.seed.wrapping_add(u64::from(repetition))));
    }
    words.into_iter().map(OsString::from).collect()
}

/// What the settings of a configuration are settings of, with the variables that nobody gave and that follow them.
fn varied(file: &SweepFile, setup: &Setup) -> Result<Vec<Varied>, Failure> {
    if file.simulate.is_some() {
        return Ok(setup.varied.clone());
    }
    let recipe = catalogue::find(&file.workload).map_err(Failure::usage)?;
    let noted = |varied: &Varied| {
        let root = match (varied.vary.as_str(), varied.key.as_str()) {
            ("variable", key) => key,
            ("option", "memory") => "memory",
            // A fresh file system of another kind leaves other room for data.
            ("file_system" | "mkfs" | "mount", _) => "free_space",
            _ => return varied.clone(),
        };
        Varied { followers: recipe.followers(&[root], &setup.variables), ..varied.clone() }
    };
    Ok(setup.varied.iter().map(noted).collect())
}

/// The error that a run ended with, out of all that it said.
pub(super) fn complaint(said: &str) -> &str {
    said.rsplit_once("stallscope: ").map_or(said, |(_, error)| error).trim()
}

impl Sweep<'_> {
    /// Makes a run. Its exit code, 0 or 1; `None`: it was stopped, and is to be made again.
    pub(super) fn run_one(
        &self,
        cell: &Cell,
        setup: &Setup,
        directory: &Path,
        show: &dyn Fn(&str),
    ) -> Result<Option<i32>, Failure> {
        if self.file.simulate.is_some() {
            return self.play(cell, setup, directory, show);
        }
        show("making ready");
        let around = Around::build(self.file, setup, self.register)?;
        let result = self.run_within(&around, cell, setup, directory, show);
        for leftover in around.take_down() {
            self.screen.warning(&leftover);
        }
        result
    }

    fn run_within(
        &self,
        around: &Around,
        cell: &Cell,
        setup: &Setup,
        directory: &Path,
        show: &dyn Fn(&str),
    ) -> Result<Option<i32>, Failure> {
        around.begin()?;
        if !self.rest(Duration::from_nanos(self.file.settle_ns()), show) {
            return Ok(None);
        }
        let mut command = Command::new("/proc/self/exe");
        command.args(words(self.file, setup, cell.repetition, around.directories())?);
        command.arg("--with-parent").arg(std::process::id().to_string());
        self.start(command, cell, setup, directory, show)
    }

    /// Plays a model, around which nothing stands. The twin has a seed of its own: with that of its like it would be it.
    fn play(&self, cell: &Cell, setup: &Setup, directory: &Path, show: &dyn Fn(&str)) -> Result<Option<i32>, Failure> {
        let seeds_before = if cell.is_twin { self.file.repetitions } else { 0 };
        let mut command = Command::new("/proc/self/exe");
        command.args(words(self.file, setup, seeds_before.wrapping_add(cell.repetition), &[])?);
        self.start(command, cell, setup, directory, show)
    }

    fn start(
        &self,
        mut command: Command,
        cell: &Cell,
        setup: &Setup,
        directory: &Path,
        show: &dyn Fn(&str),
    ) -> Result<Option<i32>, Failure> {
        let configuration = Configuration {
            name: setup.name.clone(),
            settings: setup.settings.clone(),
            repetition: cell.repetition,
            is_twin: cell.is_twin,
            varied: varied(self.file, setup)?,
        };
        let said = directory.with_extension("stderr");
        let stderr =
            File::create(&said).map_err(|error| Failure::machine(format_args!("{}: {error}", said.display())))?;
        command.arg("--quiet").arg("--out").arg(directory);
        command.arg("--configuration").arg(serde_json::to_string(&configuration).expect("plain data"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        // A group of its own keeps the terminal's Ctrl-C from it: the sweep decides when it ends.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| Failure::machine(format_args!("cannot run myself: {error}")))?;
        let status = self.wait(child, show)?;
        let text = std::fs::read_to_string(&said).unwrap_or_default();
        let _ = std::fs::remove_file(&said);
        match status.code() {
            Some(code @ (0 | 1)) => Ok(Some(code)),
            _ if self.interrupt.requests() > 0 => Ok(None),
            code => {
                let said = complaint(&text);
                Err(Failure::like(code, format_args!("the run of '{}' failed ({status}): {said}", setup.name)))
            }
        }
    }

    /// Waits for a run; hands a request to stop on to it.
    fn wait(&self, mut child: Child, show: &dyn Fn(&str)) -> Result<ExitStatus, Failure> {
        let mut told = 0;
        loop {
            let ended = child.try_wait().map_err(|error| Failure::machine(format_args!("cannot wait: {error}")))?;
            if let Some(status) = ended {
                return Ok(status);
            }
            let requests = self.interrupt.requests();
            if requests > told
                && let Some(pid) = Pid::from_raw(child.id() as i32)
            {
                let _ = rustix::process::kill_process(pid, Signal::INT);
                told = requests;
            }
            show(if told > 0 { "stopping" } else { "running" });
            std::thread::sleep(if self.file.simulate.is_some() { SHORT_POLL } else { POLL });
        }
    }
}
