//! The set of this run: `set.json`, and the figures of all nodes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use access::Sharing;
use archive::write_set;
use explain::summary::Summary;
use model::damage::Damage;
use model::lost::Lost;
use model::set::{ClockOffset, SET_VERSION, SetDescription, SetNode};

use super::clock::Offset;
use super::leaders::Leaders;
use super::patience::{POLL, SHORT_PATIENCE};
use crate::commands::run::other_ranks::AllNodes;
use crate::reading::integrity::Integrity;
use crate::reading::run_set::SetSummaries;
use crate::recording::sharing::make_directory;
use crate::ui::failure::Failure;

/// Time for other nodes to close their runs and send their figures.
const FIGURES_PATIENCE: Duration = Duration::from_secs(8);

/// A run on several nodes.
#[derive(Debug, Clone)]
pub(super) struct RunOfSet {
    /// The set's directory, on each node.
    pub(super) directory: PathBuf,
    /// Who may read it.
    pub(super) sharing: Sharing,
    /// The workload.
    pub(super) workload: String,
    /// Wall clock at its begin, ns since 1970.
    pub(super) started_wall_ns: i64,
}

impl RunOfSet {
    /// A run never overwrites anything.
    pub(super) fn refuse_used(directory: &Path) -> Result<(), Failure> {
        match std::fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
            Ok(true) => Err(Failure::usage(format_args!(
                "{}: already exists and is not empty; name another directory for the run",
                directory.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes `set.json`: what is known now. Rank 0's part.
    pub(super) fn write(&self, leaders: &Leaders, is_final: bool) -> Result<(), Failure> {
        make_directory(&self.directory, self.sharing)?;
        write_set(&self.directory, &self.description(leaders, is_final)).map_err(Failure::machine)
    }

    fn description(&self, leaders: &Leaders, is_final: bool) -> SetDescription {
        let offset = |known: Offset| ClockOffset { offset_ns: known.offset_ns, error_ns: known.error_ns };
        let node = |leader: &i32| {
            let clock = leaders.clock(*leader);
            SetNode {
                name: leaders.ranks.node_name(*leader),
                host: leaders.ranks.host(*leader).to_owned(),
                ranks: leaders.ranks.of(*leader).map(|rank| rank as u64).collect(),
                clock_at_begin: clock.map(|clock| offset(clock.begin)),
                clock_at_end: clock.and_then(|clock| clock.end).map(offset),
                lost: leaders.lost(*leader),
            }
        };
        let nodes: Vec<SetNode> = leaders.ranks.leaders.iter().map(node).collect();
        let ranks = nodes.iter().map(|node| node.ranks.len() as u64).sum();
        let (workload, started_wall_ns) = (self.workload.clone(), self.started_wall_ns);
        SetDescription { version: SET_VERSION, workload, started_wall_ns, is_final, ranks, nodes }
    }

    /// The figures of all nodes, as far as they arrive in time: rank 0's, and what the others send.
    pub(super) fn figures(&self, leaders: &mut Leaders, own: &Summary) -> AllNodes {
        let began = Instant::now();
        let patience = if leaders.has_failed() { SHORT_PATIENCE } else { FIGURES_PATIENCE };
        while leaders.figures.len() + 1 < leaders.ranks.leaders.len() && began.elapsed() < patience {
            std::thread::sleep(POLL);
            leaders.listen();
        }
        let set = self.description(leaders, false);
        let mut integrity = Integrity::default();
        let mut nodes = Vec::new();
        for (leader, node) in leaders.ranks.leaders.iter().zip(&set.nodes) {
            let path = self.directory.join(node.directory());
            let summary = match (leader, leaders.figures.get(leader)) {
                (0, _) => {
                    integrity.add(&path, Vec::new(), Lost::of(&own.remarks));
                    Some(own.clone())
                }
                (_, Some(rows)) => {
                    let summary = rows.summary();
                    integrity.add(&path, Vec::new(), Lost::of(&summary.remarks));
                    Some(summary)
                }
                (_, None) => {
                    let why = format!("node {} did not send its figures", node.name);
                    integrity.add(&path, vec![Damage::of_file("run.json", why)], Vec::new());
                    None
                }
            };
            nodes.push((summary, node.clock().unwrap_or_default()));
        }
        AllNodes { directory: self.directory.clone(), set, summaries: SetSummaries::new(nodes), integrity }
    }
}
