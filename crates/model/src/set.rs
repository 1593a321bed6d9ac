//! The set of a run on several nodes (`set.json`): one run, whose nodes each have a run directory. docs/MPI.md
//! describes it.

use serde::{Deserialize, Serialize};

use crate::quantity::counted;

/// Version of `set.json`.
pub const SET_VERSION: u32 = 1;
/// Most nodes of a set.
pub const MOST_NODES: usize = 4096;
/// Longest name of a node, bytes.
pub const NAME_BYTES: usize = 96;

/// A run on several nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetDescription {
    /// [`SET_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The workload.
    pub workload: String,
    /// Wall clock of rank 0 at the begin, ns since 1970.
    pub started_wall_ns: i64,
    /// Whether rank 0 wrote it at the end; else it is what was known at the begin.
    pub is_final: bool,
    /// Number of all ranks.
    pub ranks: u64,
    /// The nodes, that of rank 0 first.
    pub nodes: Vec<SetNode>,
}

/// A node: the ranks that share memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetNode {
    /// Its name in the set; its run is in `node-NAME`.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its ranks, ascending; the first is its leader.
    pub ranks: Vec<u64>,
    /// Its clock at the begin; `None`: not measured.
    #[serde(default)]
    pub clock_at_begin: Option<ClockOffset>,
    /// Its clock at the end; `None`: not measured.
    #[serde(default)]
    pub clock_at_end: Option<ClockOffset>,
    /// Why rank 0 gave it up while the load ran; `None`: it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// The offset of a node's monotonic clock to that of rank 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// This node's clock minus that of rank 0, ns.
    pub offset_ns: i64,
    /// Bound of the error of that, ns.
    pub error_ns: u64,
}

/// The clock of a node, as times of the set need it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeClock {
    /// This node's clock minus that of rank 0, ns.
    pub offset_ns: i64,
    /// Bound of the error of a time on it; `None`: unknown.
    pub error_ns: Option<u64>,
}

impl NodeClock {
    /// A time of this node on the clock of rank 0.
    pub fn common_ns(&self, at_ns: u64) -> u64 {
        let common = i128::from(at_ns) - i128::from(self.offset_ns);
        u64::try_from(common.max(0)).unwrap_or(u64::MAX)
    }
}

impl SetNode {
    /// The name of its run directory.
    pub fn directory(&self) -> String {
        format!("node-{}", self.name)
    }

    /// Its clock: measured twice, it is taken to be in the middle, and what it moved by adds half to the error. `None`:
    /// never measured.
    pub fn clock(&self) -> Option<NodeClock> {
        let (begin, end) = match (self.clock_at_begin, self.clock_at_end) {
            (Some(begin), Some(end)) => (begin, end),
            (Some(only), None) | (None, Some(only)) => (only, only),
            (None, None) => return None,
        };
        let moved = i128::from(end.offset_ns) - i128::from(begin.offset_ns);
        let offset_ns = (i128::from(begin.offset_ns) + moved / 2) as i64;
        let drift_ns = u64::try_from(moved.unsigned_abs().div_ceil(2)).unwrap_or(u64::MAX);
        let error_ns = begin.error_ns.max(end.error_ns).saturating_add(drift_ns);
        Some(NodeClock { offset_ns, error_ns: Some(error_ns) })
    }
}

impl SetDescription {
    /// What is wrong with it: it comes from a file that anybody may have written.
    pub fn mistake(&self) -> Option<String> {
        if self.nodes.is_empty() || self.nodes.len() > MOST_NODES {
            return Some(format!("{} nodes; a set has 1 to {MOST_NODES}", self.nodes.len()));
        }
        if let Some(node) = self.nodes.iter().find(|node| !is_plain(&node.name)) {
            return Some(format!("the name of a node is not a plain name: {:?}", shortened(&node.name)));
        }
        let mut names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Some(format!("two nodes are called {}", pair[0]));
        }
        let mut ranks: Vec<u64> = self.nodes.iter().flat_map(|node| node.ranks.iter().copied()).collect();
        ranks.sort_unstable();
        let is_each_once = ranks.iter().copied().eq(0..self.ranks);
        (!is_each_once).then(|| format!("its nodes do not have each of its {} once", counted(self.ranks, "rank")))
    }
}

/// Whether a name is a plain component of a path: letters, digits, `-`, `_` and `.`, not first.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES && !name.starts_with('.') && name.chars().all(is_plain_char)
}

/// The nearest plain name.
pub fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|c| if is_plain_char(c) { c } else { '-' }).take(NAME_BYTES).collect();
    match plain.trim_start_matches('.') {
        "" => "unknown".to_owned(),
        plain => plain.to_owned(),
    }
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::{ClockOffset, NodeClock, SetDescription, SetNode, is_plain, plain};

    fn node(name: &str, ranks: &[u64]) -> SetNode {
        let (name, host) = (name.to_owned(), name.to_owned());
        SetNode { name, host, ranks: ranks.to_vec(), clock_at_begin: None, clock_at_end: None, lost: None }
    }

    fn set(nodes: &[SetNode], ranks: u64) -> SetDescription {
        let (workload, nodes) = ("ior".to_owned(), nodes.to_vec());
        SetDescription { version: 1, workload, started_wall_ns: 0, is_final: true, ranks, nodes }
    }

    #[test]
    fn names_that_leave_the_set_are_refused() {
        for name in ["", ".", "..", "../x", "a/b", "a\0b", "a b", ".hidden", "\u{202e}a", &"x".repeat(97)] {
            assert!(!is_plain(name), "{name:?}");
            assert!(is_plain(&plain(name)), "{name:?}");
            assert!(set(&[node(name, &[0])], 1).mistake().unwrap().contains("plain"), "{name:?}");
        }
        assert!(is_plain("node-1.example_2") && plain("node-1.example_2") == "node-1.example_2");
    }

    #[test]
    fn each_rank_is_on_one_node() {
        assert_eq!(set(&[node("a", &[0, 2]), node("b", &[1])], 3).mistake(), None);
        for (nodes, ranks) in [
            (vec![node("a", &[0]), node("b", &[0])], 2),
            (vec![node("a", &[0]), node("b", &[2])], 3),
            (vec![node("a", &[0]), node("a", &[1])], 2),
            (vec![node("a", &[0])], u64::MAX),
            (vec![], 0),
        ] {
            assert!(set(&nodes, ranks).mistake().is_some(), "{nodes:?}");
        }
    }

    #[test]
    fn a_clock_that_drifts_is_known_less_well() {
        let measured = |offset_ns, error_ns| Some(ClockOffset { offset_ns, error_ns });
        let mut node = node("a", &[0]);
        assert_eq!(node.clock(), None);
        node.clock_at_begin = measured(-100, 7);
        assert_eq!(node.clock(), Some(NodeClock { offset_ns: -100, error_ns: Some(7) }));
        node.clock_at_end = measured(-60, 9);
        assert_eq!(node.clock(), Some(NodeClock { offset_ns: -80, error_ns: Some(29) }));
        assert_eq!(node.clock().unwrap().common_ns(1000), 1080);
        node.clock_at_begin = measured(i64::MIN, u64::MAX);
        node.clock_at_end = measured(i64::MAX, 0);
        assert_eq!(node.clock().unwrap().error_ns, Some(u64::MAX));
        assert_eq!(NodeClock { offset_ns: i64::MAX, error_ns: None }.common_ns(5), 0);
        assert_eq!(NodeClock { offset_ns: i64::MIN, error_ns: None }.common_ns(u64::MAX), u64::MAX);
    }
}
