//! Conditions in which the sides differ, or in which the runs of one side do.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{Group, RunFigures};

/// A condition that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub what: String,
    /// What it is in A; several values with the number of runs that have each.
    pub a: Option<String>,
    /// What it is in B.
    pub b: Option<String>,
    /// Whether it is what is tested.
    pub intended: bool,
}

/// Measured times that differ by more are a difference.
const DURATION_TOLERANCE: f64 = 0.05;

/// Settings under test first (a condition that shows the very same change is told by them), then what nobody meant to differ, in the order of the runs' own facts.
pub(super) fn differences(a: &Group, b: &Group) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    let settings: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    for what in settings.into_iter().filter(|what| a.settings.get(*what) != b.settings.get(*what)) {
        let (a, b) = (a.settings.get(what).cloned(), b.settings.get(what).cloned());
        found.push(Difference { what: what.clone(), a, b, intended: true });
    }
    for what in facts_in_order(a, b) {
        let (of_a, of_b) = (values(&a.runs, what), values(&b.runs, what));
        let all: BTreeSet<&Option<&str>> = of_a.keys().chain(of_b.keys()).collect();
        let (shown_a, shown_b) = (shown(&of_a), shown(&of_b));
        let is_tested = |setting: &Difference| {
            let same = (&setting.a, &setting.b) == (&shown_a, &shown_b);
            setting.intended && (same || what.strip_prefix("variable ") == Some(&setting.what))
        };
        if all.len() > 1 && !found.iter().any(is_tested) {
            found.push(Difference { what: what.to_owned(), a: shown_a, b: shown_b, intended: false });
        }
    }
    found.extend(duration(&a.runs, &b.runs));
    found
}

fn facts_in_order<'a>(a: &'a Group, b: &'a Group) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let all = a.runs.iter().chain(&b.runs).flat_map(|run| &run.facts).map(|fact| fact.what.as_str());
    all.filter(|what| seen.insert(*what)).collect()
}

/// How many runs have each value; `None` is a run that does not know it.
fn values<'a>(runs: &'a [RunFigures], what: &str) -> BTreeMap<Option<&'a str>, usize> {
    let mut values = BTreeMap::new();
    for run in runs {
        let value = run.facts.iter().find(|fact| fact.what == what).map(|fact| fact.value.as_str());
        *values.entry(value).or_insert(0) += 1;
    }
    values
}

fn shown(values: &BTreeMap<Option<&str>, usize>) -> Option<String> {
    let text = |value: &Option<&str>| value.map_or_else(|| "unknown".to_owned(), str::to_owned);
    match values.len() {
        0 => None,
        1 => values.keys().next().and_then(|value| value.map(str::to_owned)),
        _ => {
            let counted: Vec<String> = values.iter().map(|(value, runs)| format!("{} ({runs})", text(value))).collect();
            Some(counted.join(", "))
        }
    }
}

/// Whether the runs were to last a given time; the others last as long as their work takes, which is a finding and no
/// condition.
fn are_timed(runs: &[RunFigures]) -> bool {
    let by_work = |run: &RunFigures| {
        let has = |begin: &str| run.facts.iter().any(|fact| fact.what.starts_with(begin));
        (has("recipe") && !has("variable runtime")) || run.metrics.iter().any(|metric| metric.name == "elapsed")
    };
    !runs.iter().any(by_work)
}

/// No two runs take the same time to the nanosecond; only a different order of length is a difference.
fn duration(a: &[RunFigures], b: &[RunFigures]) -> Option<Difference> {
    if !are_timed(a) || !are_timed(b) {
        return None;
    }
    let longest = |runs: &[RunFigures]| runs.iter().filter_map(|run| run.measured_ns).max();
    let shortest = |runs: &[RunFigures]| runs.iter().filter_map(|run| run.measured_ns).min();
    let (low, high) = (shortest(a)?.min(shortest(b)?) as f64, longest(a)?.max(longest(b)?) as f64);
    let span = |runs| match (shortest(runs)? as f64 / 1e9, longest(runs)? as f64 / 1e9) {
        (low, high) if high - low < 0.05 => Some(format!("{low:.1} s")),
        (low, high) => Some(format!("{low:.1} to {high:.1} s")),
    };
    (high > low * (1.0 + DURATION_TOLERANCE)).then(|| Difference {
        what: "measured time".to_owned(),
        a: span(a),
        b: span(b),
        intended: false,
    })
}
