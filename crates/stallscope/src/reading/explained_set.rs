//! A run on several nodes → why its slow operations were slow, on which node.

use explain::blame::Explanation;
use explain::whatif::Advice;
use remedy::Remedies;
use report::answer::Answer;
use report::document::{ExplainedNode, ExplainedNodes};
use report::style::Style;
use serde_json::Value;

use crate::reading::explanation::{advice, explanation_in};
use crate::reading::integrity::Integrity;
use crate::reading::run_set::{NodeRun, RunSet};
use crate::reading::scope::ScopeArgs;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// A set whose nodes are explained.
pub struct ExplainedSet<'a> {
    set: &'a RunSet,
    nodes: Vec<OfNode<'a>>,
    name: String,
    integrity: Integrity,
}

struct OfNode<'a> {
    node: &'a NodeRun,
    run: String,
    explanation: Explanation,
    advice: Advice,
    answer: Answer,
    document: Value,
}

impl<'a> ExplainedSet<'a> {
    /// Explains each node that can be read, with the `worst` stalls of each.
    pub fn of(
        set: &'a RunSet,
        slower_than_ns: Option<u64>,
        worst: usize,
        scope: &ScopeArgs,
        remedies: &Remedies,
        screen: &Screen,
    ) -> Result<ExplainedSet<'a>, Failure> {
        let mut nodes = Vec::new();
        let mut integrity = Integrity::default();
        integrity.add(&set.directory, set.damage(), Vec::new());
        for (node, run) in set.read() {
            let scope = scope.of(run.description())?;
            let warn = |warning: &str| screen.warning(warning);
            let (explanation, accounting) = explanation_in(scope, run, slower_than_ns, worst, warn);
            let advice = advice(run, &explanation, &accounting, remedies);
            let answer = Answer::of(&explanation, &advice);
            let document = report::document::document(&node.name(), &explanation, &advice, &answer);
            integrity.join(&Integrity::of(run).explained(Some(&explanation)));
            nodes.push(OfNode { node, run: node.name(), explanation, advice, answer, document });
        }
        Ok(ExplainedSet { set, nodes, name: set.directory.display().to_string(), integrity })
    }

    fn nodes(&self) -> Vec<ExplainedNode<'_>> {
        self.nodes.iter().map(explained).collect()
    }

    /// The sums over all nodes, the answer, and the document of `explain --json`.
    pub fn together(&self, worst: usize) -> ExplainedNodes {
        ExplainedNodes::of(&self.name, &self.nodes(), worst)
    }

    /// The text of `explain`.
    pub fn text(&self, together: &ExplainedNodes, worst: usize, style: Style) -> String {
        report::set::explained((&self.name, &self.set.description), together, &self.nodes(), (worst, style))
    }

    /// What it lacks.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// Why the operations of each node were slow.
    pub fn explanations(&self) -> impl Iterator<Item = (String, &Explanation)> {
        self.nodes.iter().map(|node| (report::style::printable(&node.node.node.name), &node.explanation))
    }

    /// What would help each node.
    pub fn advice(&self) -> impl Iterator<Item = (String, &Advice)> {
        self.nodes.iter().map(|node| (report::style::printable(&node.node.node.name), &node.advice))
    }
}

/// Prints the findings on all nodes of a run that has just ended. `false`: not all of their runs can be read here, or
/// were traced.
#[cfg(feature = "mpi")]
pub fn print_brief(directory: &std::path::Path, screen: &Screen) -> bool {
    let Ok(Some(set)) = crate::reading::run_set::open(directory) else { return false };
    if set.read().filter(|(_, run)| run.has_trace()).count() < set.nodes.len() {
        return false;
    }
    let trace_bytes = set.read().map(|(_, run)| run.trace_bytes()).sum();
    if !crate::reading::explanation::is_affordable(trace_bytes, directory, screen) {
        return true;
    }
    let busy = screen.busy("explaining");
    let explained = ExplainedSet::of(&set, None, 1, &ScopeArgs::default(), &Remedies::shipped(), screen);
    let Ok(explained) = explained else { return false };
    let together = explained.together(1);
    drop(busy);
    screen.result(&report::set::brief(&directory.display().to_string(), &together, screen.style()));
    true
}

fn explained<'a>(of: &'a OfNode<'_>) -> ExplainedNode<'a> {
    let OfNode { node, run, explanation, answer, document, .. } = of;
    ExplainedNode { node: &node.node, clock: node.clock, run, explanation, answer, document: document.clone() }
}
