//! The figures of a run on several nodes. It is one run, and so one observation: its nodes are parts of it, which add
//! up.

use model::run::RunDescription;
use model::set::NodeClock;

use super::facts::facts;
use super::figures::{Amount, Fact, Figure, RunFigures};
use super::reader::RunReader;
use explain::blame::{Explanation, together};
use explain::series::SeriesSet;
use explain::summary::{OfNode, SetSummary, Summary};

/// A node's part of a run.
#[derive(Debug)]
pub struct NodeRun {
    /// Its rows of the table `intervals`.
    pub reader: RunReader,
    /// Its description.
    pub run: RunDescription,
    /// Its summary.
    pub summary: Summary,
    /// Its series of wanted counters.
    pub series: SeriesSet,
    /// Its explanation; `None` without a trace.
    pub explanation: Option<Explanation>,
    /// Its clock.
    pub clock: NodeClock,
}

/// The figures of the whole run; `None` without any part.
pub fn set_figures(name: &str, parts: &[NodeRun]) -> Option<RunFigures> {
    let of_nodes: Vec<OfNode<'_>> =
        parts.iter().map(|part| OfNode { summary: &part.summary, clock: part.clock }).collect();
    let whole = SetSummary::of(&of_nodes)?.whole;
    let explained: Option<Vec<&Explanation>> = parts.iter().map(|part| part.explanation.as_ref()).collect();
    let explanation = explained.map(|explained| together(&explained));
    let first = &parts.first()?.run;
    let reader = RunReader::of_phases(&whole);
    let mut figures = reader.figures(name, first, &whole, &SeriesSet::default(), explanation.as_ref());
    figures.counters = counters(&reader, parts, &whole);
    figures.facts = facts_of(parts);
    Some(figures)
}

/// The growth of counters on all nodes, per unit of all work. A counter that a node lacks is left out: its sum is
/// unknown.
fn counters(reader: &RunReader, parts: &[NodeRun], whole: &Summary) -> Vec<Figure> {
    let of_node = |node: &NodeRun| {
        let own = node.reader.figures("", &node.run, &node.summary, &node.series, None).counters;
        (own, node.reader.work(&node.run, &node.summary, node.summary.duration_ns as f64 / 1e9).0)
    };
    let own: Vec<(Vec<Figure>, f64)> = parts.iter().map(of_node).collect();
    let Some((first, _)) = own.first() else { return Vec::new() };
    let (all_work, _) = reader.work(&parts[0].run, whole, whole.duration_ns as f64 / 1e9);
    let sum = |figure: &Figure| {
        let grown = own.iter().map(|(figures, work)| {
            let same = figures.iter().find(|other| (&other.name, &other.unit) == (&figure.name, &figure.unit))?;
            same.amount.value().map(|value| value * work)
        });
        let grown: f64 = grown.sum::<Option<f64>>()?;
        (all_work > 0.0).then(|| Figure { amount: Amount::Level(grown / all_work), ..figure.clone() })
    };
    first.iter().filter_map(sum).collect()
}

/// The conditions of all nodes; where they differ, those of each, in the order of the nodes.
fn facts_of(parts: &[NodeRun]) -> Vec<Fact> {
    let of_parts: Vec<Vec<Fact>> = parts.iter().map(|part| facts(&part.run)).collect();
    let mut all: Vec<Fact> = Vec::new();
    for fact in of_parts.iter().flatten() {
        if all.iter().any(|known| known.what == fact.what) {
            continue;
        }
        let value = |facts: &Vec<Fact>| {
            facts.iter().find(|known| known.what == fact.what).map_or("none", |known| &known.value).to_owned()
        };
        let mut values: Vec<String> = of_parts.iter().map(value).collect();
        values.dedup();
        all.push(Fact { value: values.join(" | "), ..fact.clone() });
    }
    let after_workload = all.len().min(1);
    all.insert(after_workload, Fact::new("nodes", parts.len().to_string()));
    all
}
