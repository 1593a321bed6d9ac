//! The document of `explain --json`, and that of a run on several nodes.

use explain::blame::{Culprit, Explanation, together};
use explain::whatif::Advice;
use model::set::{NodeClock, SetNode};
use serde_json::{Value, json};

use crate::answer::{Answer, confidence};

/// The document of a run, with the answer and what would help.
pub fn document(run: &str, explanation: &Explanation, advice: &Advice, answer: &Answer) -> Value {
    let mut document = crate::json::explanation(run, explanation);
    document["what_if"] = crate::json::what_if(advice);
    document["behind"] = crate::json::behind(&advice.behind);
    document["confidence"] = confidence(explanation);
    document["answer"] = answer.json();
    document
}

/// A node's run, explained.
#[derive(Debug, Clone)]
pub struct ExplainedNode<'a> {
    /// The node.
    pub node: &'a SetNode,
    /// Its clock.
    pub clock: NodeClock,
    /// Its run directory.
    pub run: &'a str,
    /// Its explanation.
    pub explanation: &'a Explanation,
    /// Its answer.
    pub answer: &'a Answer,
    /// The document of `explain --json` of its run.
    pub document: Value,
}

/// A run on several nodes, explained.
#[derive(Debug, Clone)]
pub struct ExplainedNodes {
    /// The sums over all nodes.
    pub all: Explanation,
    /// What they say.
    pub answer: Answer,
    /// The document of `explain --json` of the set: that of a run over all nodes, whose stalls, root blockers and
    /// convoys have a `node`, with `nodes`. Times are on the clock of rank 0, except in the nodes' own documents.
    pub document: Value,
}

impl ExplainedNodes {
    /// Of these nodes, with so many stalls.
    pub fn of(name: &str, nodes: &[ExplainedNode<'_>], most_stalls: usize) -> ExplainedNodes {
        let all = together(&nodes.iter().map(|node| node.explanation).collect::<Vec<_>>());
        let mut document = crate::json::explanation(name, &all);
        for path in ["/culprits", "/command/culprits", "/neighbours/culprits"] {
            put(&mut document, path, collected(nodes, path, "time_ns"));
        }
        for path in ["/processes", "/cgroups"] {
            put(&mut document, path, collected(nodes, path, "wall_ns"));
        }
        put(&mut document, "/convoys", collected(nodes, "/convoys", "time_ns"));
        let mut stalls = collected(nodes, "/stalls", "duration_ns");
        stalls.truncate(most_stalls);
        document["stalls_listed"] = stalls.len().into();
        put(&mut document, "/stalls", stalls);
        let clocks: Option<Vec<u64>> = nodes.iter().map(|node| node.clock.error_ns).collect();
        document["clock_error_ns"] = clocks.and_then(|errors| errors.into_iter().max()).into();
        let lost: Vec<(u64, u64)> = nodes.iter().map(|node| lost(node.explanation, &all)).collect();
        let all_ns = lost.iter().map(|(_, ns)| ns).sum();
        document["nodes"] = nodes.iter().zip(&lost).map(|(node, lost)| of_node(node, *lost, all_ns)).collect();
        let answer = answer(nodes, &all, &lost);
        document["confidence"] = confidence(&all);
        document["answer"] = answer.json();
        ExplainedNodes { all, answer, document }
    }
}

/// Slow operations of a node, and their time: of the load, where that was slow on any node.
fn lost(node: &Explanation, all: &Explanation) -> (u64, u64) {
    match (&node.command, &all.command) {
        (of_node, Some(command)) if command.operations > 0 => {
            of_node.as_ref().map_or((0, 0), |of_node| (of_node.operations, of_node.wall_ns))
        }
        _ => (node.slow_operations, node.wall_ns),
    }
}

/// The answer over all nodes: their root blockers in one order.
fn answer(nodes: &[ExplainedNode<'_>], all: &Explanation, lost: &[(u64, u64)]) -> Answer {
    let is_command = all.command.as_ref().is_some_and(|command| command.operations > 0);
    let of = |explanation: &Explanation| match &explanation.command {
        Some(command) if is_command => command.culprits.clone(),
        _ => explanation.culprits.clone(),
    };
    let named = |node: &ExplainedNode<'_>| {
        of(node.explanation).into_iter().map(|one| (node.node.name.clone(), one)).collect::<Vec<_>>()
    };
    let mut culprits: Vec<(String, Culprit)> = nodes.iter().flat_map(named).collect();
    culprits.sort_by_key(|(_, culprit)| std::cmp::Reverse(culprit.time_ns));
    let (of_nodes, culprits): (Vec<String>, Vec<Culprit>) = culprits.into_iter().unzip();
    let mut all = all.clone();
    match &mut all.command {
        Some(command) if is_command => command.culprits = culprits,
        _ => all.culprits = culprits,
    }
    all.processes = nodes.iter().flat_map(|node| node.explanation.processes.iter().cloned()).collect();
    all.stalls = nodes.iter().flat_map(|node| node.explanation.stalls.iter().cloned()).collect();
    all.stalls.sort_by_key(|stall| std::cmp::Reverse(stall.duration_ns));
    let clocks: Option<Vec<u64>> = nodes.iter().map(|node| node.clock.error_ns).collect();
    let of_node: Vec<(&str, u64, u64)> =
        nodes.iter().zip(lost).map(|(node, (count, ns))| (node.node.name.as_str(), *count, *ns)).collect();
    Answer::of_nodes(&all, &|at| of_nodes.get(at).cloned())
        .with_nodes(&of_node, clocks.and_then(|errors| errors.into_iter().max()))
}

/// The entries of a list of all nodes, each with its node, the largest first.
fn collected(nodes: &[ExplainedNode<'_>], path: &str, by: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for node in nodes {
        for entry in node.document.pointer(path).and_then(Value::as_array).into_iter().flatten() {
            let mut entry = entry.clone();
            for key in ["start_ns", "end_ns"] {
                if let Some(at_ns) = entry[key].as_u64() {
                    entry[key] = node.clock.common_ns(at_ns).into();
                    entry["clock_error_ns"] = node.clock.error_ns.into();
                }
            }
            entry["node"] = node.node.name.as_str().into();
            all.push(entry);
        }
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry[by].as_u64()));
    all
}

/// Only where the document has that list.
fn put(document: &mut Value, path: &str, list: Vec<Value>) {
    if let Some(place) = document.pointer_mut(path) {
        *place = list.into();
    }
}

fn of_node(node: &ExplainedNode<'_>, (operations, wall_ns): (u64, u64), all_ns: u64) -> Value {
    let mut value = crate::set_node::node(node.node, node.clock, node.run);
    value["slow_operations"] = operations.into();
    value["wall_ns"] = wall_ns.into();
    value["share"] = json!(wall_ns as f64 / all_ns.max(1) as f64);
    value["explanation"] = node.document.clone();
    value
}

#[cfg(test)]
mod tests;
