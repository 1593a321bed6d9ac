//! A run on several nodes, as one: `OUT/set.json` and the run directories of its nodes (docs/MPI.md).

use std::path::{Path, PathBuf};

use archive::{Run, RunState, is_set, read_set};
use explain::summary::{OfNode, SetSummary, Summary};
use model::damage::Damage;
use model::set::{NodeClock, SetDescription, SetNode};
use model::time::Moment;
use report::set::{NodeFigures, SetFigures};

use crate::reading::integrity::Integrity;
use crate::reading::scope::ScopeArgs;
use crate::reading::{archived_run, summary};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// A set, with the runs of its nodes as far as they can be read.
pub struct RunSet {
    /// Its directory.
    pub directory: PathBuf,
    /// Its description.
    pub description: SetDescription,
    /// Its nodes, in the order of the description.
    pub nodes: Vec<NodeRun>,
}

/// A node's run.
pub struct NodeRun {
    /// The node.
    pub node: SetNode,
    /// Its clock.
    pub clock: NodeClock,
    /// Its run directory.
    pub path: PathBuf,
    /// Its run, or why it cannot be read.
    pub run: Result<Run, String>,
}

impl NodeRun {
    /// The path of its run directory.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Opens a set; `None` if the directory is none.
pub fn open(directory: &Path) -> Result<Option<RunSet>, Failure> {
    if !is_set(directory) {
        return Ok(None);
    }
    let description = read_set(directory).map_err(archived_run::unreadable)?;
    let nodes = description.nodes.iter().map(|node| {
        let path = directory.join(node.directory());
        let run = open_node(&path, &description);
        NodeRun { node: node.clone(), clock: node.clock().unwrap_or_default(), path, run }
    });
    let mut set = RunSet { directory: directory.to_owned(), nodes: nodes.collect(), description };
    set.relate_by_wall_clocks();
    Ok(Some(set))
}

fn open_node(path: &Path, set: &SetDescription) -> Result<Run, String> {
    if !path.exists() {
        return Err("missing; if its run is on its host, copy it here".to_owned());
    }
    let run = archived_run::open(path).map_err(|failure| failure.to_string())?;
    let workload = run.description().workload.clone();
    match workload == set.workload {
        true => Ok(run),
        false => Err(format!("is a run of '{workload}', and not of '{}'", set.workload)),
    }
}

impl RunSet {
    /// Clocks that were not measured, which happens if rank 0 died at once.
    fn relate_by_wall_clocks(&mut self) {
        let Some(first) = self.nodes.first().and_then(|node| started(&node.run)) else { return };
        for node in self.nodes.iter_mut().filter(|node| node.node.clock().is_none()) {
            if let Some(started) = started(&node.run) {
                let behind = |moment: Moment| i128::from(moment.monotonic_ns) - i128::from(moment.wall_ns);
                let offset_ns = (behind(started) - behind(first)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                node.clock = NodeClock { offset_ns, error_ns: None };
            }
        }
    }

    /// The nodes whose runs could be read.
    pub fn read(&self) -> impl Iterator<Item = (&NodeRun, &Run)> {
        self.nodes.iter().filter_map(|node| Some((node, node.run.as_ref().ok()?)))
    }

    /// What it lacks as a set: runs of nodes, or its last description.
    pub fn damage(&self) -> Vec<Damage> {
        let missing = |node: &NodeRun| {
            let why = node.run.as_ref().err()?;
            let ranks = report::set::ranks(&node.node.ranks);
            Some(Damage::of_file(
                &node.node.directory(),
                format!("the run of node {} (ranks {ranks}): {why}", node.node.name),
            ))
        };
        let lost = |node: &NodeRun| {
            let why = format!("the load ended early: node {} {}", node.node.name, node.node.lost.as_ref()?);
            Some(Damage::of_file(&node.node.directory(), why))
        };
        let mut damage: Vec<Damage> = self.nodes.iter().filter_map(missing).collect();
        damage.extend(self.nodes.iter().filter_map(lost));
        let is_live = self.read().any(|(_, run)| run.state() == RunState::Live);
        if !self.description.is_final && !is_live {
            damage.push(Damage::of_file("set.json", "it is that of the start: rank 0 did not finish"));
        }
        damage
    }

    /// What it and its nodes' runs lack.
    pub fn integrity(&self) -> Integrity {
        let mut integrity = Integrity::default();
        integrity.add(&self.directory, self.damage(), Vec::new());
        self.read().for_each(|(_, run)| integrity.join(&Integrity::of(run)));
        integrity
    }

    /// A scope for its nodes; warns of disks that some of them lack.
    pub fn scope(&self, scope: &ScopeArgs, screen: &Screen) -> Result<ScopeArgs, Failure> {
        let nodes: Vec<_> = self.read().map(|(node, run)| (node.node.name.as_str(), run.description())).collect();
        let (scope, remarks) = scope.of_set(&nodes)?;
        remarks.iter().for_each(|remark| screen.warning(remark));
        Ok(scope)
    }

    /// The summaries of its nodes.
    pub fn summarize(&self, screen: &Screen) -> SetSummaries {
        let of_node = |node: &NodeRun| {
            let _busy = screen.busy(&format!("reading {}", node.name()));
            let run = node.run.as_ref().ok()?;
            Some(summary::of_run(run, |warning| screen.warning(warning)))
        };
        SetSummaries::new(self.nodes.iter().map(of_node).zip(self.nodes.iter().map(|node| node.clock)).collect())
    }

    /// Its figures, from these summaries.
    pub fn figures<'a>(&'a self, name: &'a str, runs: &'a [String], summaries: &'a SetSummaries) -> SetFigures<'a> {
        let node = |((node, run), (summary, _)): ((&'a NodeRun, &'a String), &'a (Option<Summary>, NodeClock))| {
            NodeFigures { node: &node.node, clock: node.clock, run, summary: summary.as_ref() }
        };
        let nodes = self.nodes.iter().zip(runs).zip(&summaries.nodes).map(node).collect();
        SetFigures { name, set: &self.description, nodes, all: summaries.all.as_ref() }
    }

    /// The paths of its nodes' runs.
    pub fn run_names(&self) -> Vec<String> {
        self.nodes.iter().map(NodeRun::name).collect()
    }
}

fn started(run: &Result<Run, String>) -> Option<Moment> {
    run.as_ref().ok().map(|run| run.description().started)
}

/// The summaries of a set's nodes, and that of all.
pub struct SetSummaries {
    /// One a node, with its clock; `None`: its run cannot be read.
    pub nodes: Vec<(Option<Summary>, NodeClock)>,
    /// `None`: no run can be read.
    pub all: Option<SetSummary>,
}

impl SetSummaries {
    /// From those of the nodes.
    pub fn new(nodes: Vec<(Option<Summary>, NodeClock)>) -> SetSummaries {
        let mut read = Vec::new();
        for (summary, clock) in &nodes {
            read.extend(summary.as_ref().map(|summary| OfNode { summary, clock: *clock }));
        }
        let all = SetSummary::of(&read);
        SetSummaries { nodes, all }
    }
}
