//! The findings on a run on several nodes: sums over all, and whose they are.

use explain::blame::{Explanation, together};
use model::set::{NodeClock, SetNode};
use serde_json::{Value, json};

use super::confidence;
use super::sentence::{Kind, LEAST, Sentence, Writer};
use super::slow::slow;
use super::{causes, culprit, has_operations, json as values_of, lost_ns};

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
    /// The document of `explain --json` of its run.
    pub document: Value,
}

/// The sums over all nodes, and the document of `explain --json` of the set: that of a run over all nodes, whose stalls, root
/// blockers and convoys have a `node`, with `nodes`. Times are on the clock of rank 0, except in the nodes' own documents.
pub fn set_document(name: &str, nodes: &[ExplainedNode<'_>], most_stalls: usize) -> (Explanation, Value) {
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
    document["clock_error_ns"] = nodes.iter().map(|node| node.clock.error_ns).max().flatten().into();
    if nodes.iter().any(|node| node.clock.error_ns.is_none()) {
        document["clock_error_ns"] = Value::Null;
    }
    let part = main_part(&document);
    document["nodes"] = nodes.iter().map(|node| of_node(node, &document, part)).collect();
    document["confidence"] = confidence::of(&document);
    document["findings"] = values_of(&set_findings(&document));
    (all, document)
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

fn of_node(node: &ExplainedNode<'_>, document: &Value, part: &str) -> Value {
    let own = |key: &str| node.document.pointer(key).and_then(Value::as_u64).unwrap_or(0);
    let wall_ns = own(&format!("{part}/wall_ns"));
    let all_ns = document.pointer(&format!("{part}/wall_ns")).and_then(Value::as_u64).unwrap_or(0);
    let mut value = crate::set_node::node(node.node, node.clock, node.run);
    value["slow_operations"] = own(&super::slow::count_path(part)).into();
    value["wall_ns"] = wall_ns.into();
    value["share"] = json!(wall_ns as f64 / all_ns.max(1) as f64);
    value["explanation"] = node.document.clone();
    value
}

fn main_part(document: &Value) -> &'static str {
    if has_operations(document, "/command") { "/command" } else { "" }
}

/// Five sentences: how many operations were slow, on which node, why, who held them there, and how sure that is. Empty where
/// none was slow.
pub fn set_findings(document: &Value) -> Vec<Sentence> {
    let part = main_part(document);
    if !has_operations(document, part) {
        return Vec::new();
    }
    let sentences =
        [slow(document, part), nodes(document), causes(document, part), blockers(document, part), sure(document, part)];
    sentences.into_iter().flatten().collect()
}

/// `Node b has 85 % of that time, 12 operations of 3.00 s; then node a, 15 %; the longest was on node b.`
fn nodes(document: &Value) -> Option<Sentence> {
    let list = document["nodes"].as_array()?;
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(list[*at]["wall_ns"].as_u64()));
    let (first, rest) = order.split_first()?;
    let mut writer = Writer::new(document);
    writer.say("Node ");
    writer.value(&format!("/nodes/{first}/node"), Kind::Name)?;
    writer.say(" has ");
    writer.value(&format!("/nodes/{first}/share"), Kind::Share)?;
    writer.say(" of that time, ");
    writer.counted(&format!("/nodes/{first}/slow_operations"), "operation")?;
    writer.say(" of ");
    writer.value(&format!("/nodes/{first}/wall_ns"), Kind::Duration)?;
    if let Some(second) = rest.first() {
        writer.say("; then node ");
        writer.value(&format!("/nodes/{second}/node"), Kind::Name)?;
        writer.say(", ");
        writer.value(&format!("/nodes/{second}/share"), Kind::Share)?;
    }
    let is_own = |stall: &Value| stall["neighbour"] != true;
    if let Some(longest) = document["stalls"].as_array().and_then(|stalls| stalls.iter().position(is_own)) {
        writer.say("; the longest was on node ");
        writer.value(&format!("/stalls/{longest}/node"), Kind::Name)?;
    }
    Some(writer.end())
}

/// The largest root blocker with its node, and that of another node.
fn blockers(document: &Value, part: &str) -> Option<Sentence> {
    let mut sentence = culprit(document, part)?;
    let list = document.pointer(&format!("{part}/culprits"))?.as_array()?;
    let least_ns = LEAST * lost_ns(document, part)?;
    let is_large = |culprit: &Value| culprit["time_ns"].as_f64() >= Some(least_ns);
    if !list.first().is_some_and(is_large) {
        return Some(sentence);
    }
    let mut writer = Writer::new(document);
    writer.say("That is on node ");
    writer.value(&format!("{part}/culprits/0/node"), Kind::Name)?;
    let name = |culprit: &Value| ["task", "device_name", "device"].into_iter().find(|key| culprit[*key].is_string());
    let is_other = |culprit: &Value| culprit["node"] != list[0]["node"] && is_large(culprit) && name(culprit).is_some();
    if let Some(at) = list.iter().position(is_other) {
        let path = format!("{part}/culprits/{at}");
        writer.say("; on node ");
        writer.value(&format!("{path}/node"), Kind::Name)?;
        writer.say(" it is ");
        writer.value(&format!("{path}/{}", name(&list[at])?), Kind::Name)?;
        writer.say(": ");
        super::cost(&mut writer, &path)?;
    }
    sentence.join(writer.end());
    Some(sentence)
}

/// The evidence, and how well times of different nodes can be compared.
fn sure(document: &Value, part: &str) -> Option<Sentence> {
    let mut sentence = confidence::sentence(document, part)?;
    let mut writer = Writer::new(document);
    writer.say("Times of different nodes are related within ");
    if writer.value("/clock_error_ns", Kind::Duration).is_some() {
        sentence.join(writer.end());
    }
    Some(sentence)
}

#[cfg(test)]
mod tests;
