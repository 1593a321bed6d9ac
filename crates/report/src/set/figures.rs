//! The figures of a set and of its nodes.

use explain::summary::{Outlier, SetSummary, Summary};
use model::set::{NodeClock, SetDescription, SetNode};

/// A set, as far as it could be read.
#[derive(Debug, Clone)]
pub struct SetFigures<'a> {
    /// Its name: its directory.
    pub name: &'a str,
    /// Its description.
    pub set: &'a SetDescription,
    /// All its nodes, in the order of the description.
    pub nodes: Vec<NodeFigures<'a>>,
    /// The figures of all that could be read; `None`: no node could.
    pub all: Option<&'a SetSummary>,
}

/// A node of a set.
#[derive(Debug, Clone)]
pub struct NodeFigures<'a> {
    /// The node.
    pub node: &'a SetNode,
    /// Its clock.
    pub clock: NodeClock,
    /// Its run directory.
    pub run: &'a str,
    /// Its summary; `None`: its run cannot be read.
    pub summary: Option<&'a Summary>,
}

impl SetFigures<'_> {
    /// The node of a place among those that could be read.
    pub(super) fn read(&self, at: usize) -> Option<&NodeFigures<'_>> {
        self.nodes.iter().filter(|node| node.summary.is_some()).nth(at)
    }

    /// The node of a rank.
    pub(super) fn node_of(&self, rank: u64) -> Option<&SetNode> {
        self.set.nodes.iter().find(|node| node.ranks.contains(&rank))
    }

    /// The node of an outlier. Thread `n` of an actor belongs to rank `n` modulo the ranks.
    pub(super) fn node_of_outlier(&self, outlier: &Outlier) -> Option<&SetNode> {
        self.node_of(outlier.ordinal % self.set.ranks.max(1))
    }
}
