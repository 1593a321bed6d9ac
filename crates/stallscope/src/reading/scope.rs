//! Options that limit an answer to some tasks, cgroups, files or disks.

use archive::Run;
use clap::Args;
use explain::blame::Scope;
use model::run::RunDescription;

use crate::ui::failure::Failure;

/// What is explained.
#[derive(Debug, Clone, Args, Default)]
#[command(next_help_heading = "Scope")]
pub struct ScopeArgs {
    /// Only operations whose file is on this disk, or that waited for it: its name, number or identity, or a mounted
    /// partition. Repeat a flag to match any of several values.
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
    /// Only operations of this cgroup and those below: a path from the root, or a name. `*` matches any part of a name.
    #[arg(long, value_name = "CGROUP")]
    pub cgroup: Vec<String>,
    /// Only operations of threads or processes of this name. `*` matches any part of it.
    #[arg(long, value_name = "NAME")]
    pub comm: Vec<String>,
    /// Only operations of this process or thread.
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Only operations on this file, or on files below this directory: a path from the root, or a name. `*` matches any
    /// part of a name.
    #[arg(long, value_name = "PATH")]
    pub path: Vec<String>,
    /// Nodes of a set are explained: a disk need not be on each of them.
    #[arg(skip)]
    is_of_set: bool,
}

impl ScopeArgs {
    /// The same for the nodes of a set, by name, and for each disk that only some of them have a sentence on the
    /// others. A disk that no node has is an error.
    pub fn of_set(&self, nodes: &[(&str, &RunDescription)]) -> Result<(ScopeArgs, Vec<String>), Failure> {
        let mut remarks = Vec::new();
        for device in &self.device {
            let lacks = |(_, run): &&(&str, &RunDescription)| !explain::blame::knows_device(run, device);
            let without: Vec<&str> = nodes.iter().filter(lacks).map(|(name, _)| *name).collect();
            match without.len() {
                0 => {}
                lacking if lacking == nodes.len() => {
                    let disks = |(name, run): &(&str, &RunDescription)| format!("{name} has {}", disks_of(run));
                    let all: Vec<String> = nodes.iter().map(disks).collect();
                    let message = format!("--device {device}: no node has such a disk; {}", all.join("; "));
                    return Err(Failure::usage(message));
                }
                lacking => {
                    let nodes = if lacking == 1 { "node" } else { "nodes" };
                    remarks.push(format!("--device {device}: no such disk on {nodes} {}", without.join(", ")));
                }
            }
        }
        Ok((ScopeArgs { is_of_set: true, ..self.clone() }, remarks))
    }

    /// The same of a run that need not be explained. Without a trace there is nothing that a scope could limit.
    pub fn of_traced(&self, run: &Run) -> Result<Scope, Failure> {
        let scope = self.of(run.description())?;
        if !run.has_trace() && !scope.is_everything() {
            let (run, scope) = (run.dir().display(), scope.words());
            return Err(Failure::usage(format_args!(
                "{scope}: {run} was recorded without kernel tracing: nothing is explained"
            )));
        }
        Ok(scope)
    }

    /// Whether anything is limited.
    pub fn is_given(&self) -> bool {
        let ScopeArgs { device, cgroup, comm, pid, path, is_of_set: _ } = self;
        [device, cgroup, comm, path].into_iter().any(|values| !values.is_empty()) || !pid.is_empty()
    }

    /// The same of a run that is being recorded.
    pub fn of_recorded(&self, run: &RunDescription) -> Result<Scope, Failure> {
        let scope = self.of(run)?;
        if run.trace.is_none() && self.is_given() {
            return Err(Failure::usage(format_args!(
                "{}: the kernel is not traced, so nothing is explained; see 'stallscope doctor'",
                scope.words()
            )));
        }
        Ok(scope)
    }

    /// The scope in a run. A disk that the run does not have is an error, with those that it has.
    pub fn of(&self, run: &RunDescription) -> Result<Scope, Failure> {
        let empty = [("device", &self.device), ("cgroup", &self.cgroup), ("comm", &self.comm), ("path", &self.path)];
        if let Some((flag, _)) = empty.iter().find(|(_, values)| values.iter().any(String::is_empty)) {
            return Err(Failure::usage(format_args!("--{flag}: the value is empty")));
        }
        let unknown = self.device.iter().find(|name| !explain::blame::knows_device(run, name));
        if let Some(unknown) = unknown.filter(|_| !self.is_of_set) {
            let disks = disks_of(run);
            return Err(Failure::usage(format_args!("--device {unknown}: the run has no such disk; it has {disks}")));
        }
        Ok(Scope {
            devices: self.device.clone(),
            cgroups: self.cgroup.clone(),
            comms: self.comm.clone(),
            pids: self.pid.clone(),
            paths: self.path.clone(),
        })
    }
}

fn disks_of(run: &RunDescription) -> String {
    let names: Vec<&str> = run.devices.iter().map(|device| device.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
