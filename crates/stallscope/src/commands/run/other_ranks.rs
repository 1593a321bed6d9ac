//! The other ranks of a run, where a launcher started them.

use std::path::{Path, PathBuf};

use explain::summary::Summary;
use load::conductor::{Conductor, Launch, Others};
use model::set::SetDescription;
use report::set::{NodeFigures, SetFigures};

use crate::reading::integrity::Integrity;
use crate::reading::run_set::SetSummaries;

/// The ranks beside the one that leads a node, on it and on other nodes.
pub(super) trait OtherRanks {
    /// The other nodes, for the conductor.
    fn others(&self) -> Box<dyn Others>;

    /// The load has started: the other ranks of this node join it.
    fn join(&self, conductor: &Conductor, launch: &Launch);

    /// The recording of this node has ended. The figures of all nodes, where there are several and this rank shows
    /// them.
    fn figures_of_all(&self, summary: &Summary, directory: &Path) -> Option<AllNodes>;

    /// The load has ended here. Waits until no other rank uses the data, or none answers.
    fn wait_for_all(&self);

    /// Whether this rank shows the figures.
    fn shows(&self) -> bool;
}

// Only ranks over MPI have other nodes.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
/// The figures of all nodes at the end of a run, of which this one sees only its own run directory.
pub(super) struct AllNodes {
    /// The set's directory.
    pub(super) directory: PathBuf,
    /// The nodes.
    pub(super) set: SetDescription,
    /// Their summaries.
    pub(super) summaries: SetSummaries,
    /// What they lack.
    pub(super) integrity: Integrity,
}

impl AllNodes {
    /// Whether all nodes sent their figures, and no operation failed.
    pub(super) fn is_clean(&self) -> bool {
        let failed = |summary: &Summary| summary.failures.iter().any(|failure| failure.count > 0);
        let read = self.summaries.nodes.iter().all(|(summary, _)| summary.is_some());
        read && !self.summaries.all.as_ref().is_some_and(|all| failed(&all.whole))
    }

    /// The paths of the nodes' run directories.
    pub(super) fn runs(&self) -> Vec<String> {
        let path = |directory: String| self.directory.join(directory).display().to_string();
        self.set.nodes.iter().map(|node| path(node.directory())).collect()
    }

    /// As they are shown.
    pub(super) fn figures<'a>(&'a self, name: &'a str, runs: &'a [String]) -> SetFigures<'a> {
        let nodes = self.set.nodes.iter().zip(runs).zip(&self.summaries.nodes);
        let node = |((node, run), (summary, clock)): ((&'a _, &'a String), &'a (Option<Summary>, _))| NodeFigures {
            node,
            clock: *clock,
            run,
            summary: summary.as_ref(),
        };
        SetFigures { name, set: &self.set, nodes: nodes.map(node).collect(), all: self.summaries.all.as_ref() }
    }
}
