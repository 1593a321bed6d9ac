//! The same of a run on several nodes: what is common to them as text, and below it each node's charts and stalls.

use std::fmt::Write as _;

use model::quantity::Nanoseconds;
use page::Limits;
use remedy::Remedies;
use report::document::ExplainedNodes;
use report::style::{Style, printable};
use serde_json::Value;

use super::options::ReportArgs;
use super::output::write;
use crate::reading::document::{self, RunDocument};
use crate::reading::explained_set::ExplainedSet;
use crate::reading::run_set::{NodeRun, RunSet};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Nodes whose charts are in the page: more cannot be read side by side, nor loaded quickly.
const NODES: usize = 8;

pub(super) fn report(args: &ReportArgs, set: &RunSet, screen: &Screen) -> Result<Exit, Failure> {
    let is_traced = set.read().all(|(_, run)| run.has_trace());
    let scope = set.scope(&args.scope, screen)?;
    let explained = is_traced
        .then(|| ExplainedSet::of(set, None, 1, &scope, &Remedies::shipped(), screen))
        .transpose()?
        .map(|explained| (explained.together(1), explained));
    let nodes = chosen(set, explained.as_ref().map(|(together, _)| &together.document));
    let read = |node: &&NodeRun| {
        let _busy = screen.busy(&format!("reading {}", node.name()));
        RunDocument::read(&node.path, (Limits::FILE, &scope), page::wanted_counter, screen)
    };
    let runs: Vec<RunDocument> = nodes.iter().map(read).collect::<Result<_, _>>()?;
    let advised =
        |(run, node): (_, &&NodeRun)| (run, RunDocument::prediction(run).map(|pending| pending.predict()), line(node));
    let document = document::of_nodes(&runs.iter().zip(&nodes).map(advised).collect::<Vec<_>>());
    let integrity = explained.as_ref().map_or_else(|| set.integrity(), |(_, explained)| explained.integrity().clone());
    let above = integrity.banner(Style::PLAIN) + &text(set, explained.as_ref(), &nodes, screen);
    write(args, &page::report_below(&above, &document), &integrity, screen)
}

/// The nodes in the page, in their order: of many those that lost the most time.
fn chosen<'a>(set: &'a RunSet, explained: Option<&Value>) -> Vec<&'a NodeRun> {
    let mut nodes: Vec<&NodeRun> = set.read().map(|(node, _)| node).collect();
    let lost_ns = |node: &&NodeRun| {
        let mut all = explained.and_then(|document| document["nodes"].as_array()).into_iter().flatten();
        all.find(|one| one["node"] == node.node.name.as_str()).and_then(|one| one["wall_ns"].as_u64())
    };
    nodes.sort_by_key(|node| std::cmp::Reverse(lost_ns(node)));
    nodes.truncate(NODES);
    nodes.sort_by_key(|node| node.node.ranks.first().copied());
    nodes
}

fn line(node: &NodeRun) -> String {
    let ranks = report::set::ranks(&node.node.ranks);
    let clock = match node.clock.error_ns {
        Some(error_ns) => {
            let (sign, offset_ns) =
                if node.clock.offset_ns < 0 { ("-", node.clock.offset_ns) } else { ("+", node.clock.offset_ns) };
            format!("clock {sign}{}, known within {}", Nanoseconds(offset_ns.unsigned_abs()), Nanoseconds(error_ns))
        }
        None => "clock not measured".to_owned(),
    };
    format!("Node {}, ranks {ranks}; {clock}.", printable(&node.node.name))
}

/// The figures and the answer of all nodes, as `show` and `explain` print them.
fn text(
    set: &RunSet,
    explained: Option<&(ExplainedNodes, ExplainedSet<'_>)>,
    nodes: &[&NodeRun],
    screen: &Screen,
) -> String {
    let summaries = set.summarize(screen);
    let (name, runs) = (set.directory.display().to_string(), set.run_names());
    let mut text = report::set::text(&set.figures(&name, &runs, &summaries), Style::PLAIN);
    if let Some((together, _)) = explained {
        let _ = write!(text, "\n{}", report::answer::text(&together.answer, Some(&name), Style::PLAIN));
    }
    let read = set.read().count();
    if nodes.len() < read {
        let left_out = read - nodes.len();
        let _ = write!(
            text,
            "\nBelow are the {NODES} nodes that lost the most time; a report of one of the other {left_out}: \
                              stallscope report {name}/node-NAME\n"
        );
    }
    text
}
