//! Conditions that differ between the sides, or between the runs of one side.

use std::collections::{BTreeMap, BTreeSet};

use model::run::Varied;

use super::figures::{Group, RunFigures};
use super::implied_changes::{is_implied_by, is_set_by};
use super::machines::{Block, Blocks};

/// A condition that differs between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The condition.
    pub what: String,
    /// Its value in A; several values with the number of runs of each.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
    /// Whether it is under test, or implied by a setting under test.
    pub intended: bool,
    /// The setting under test that implies it; `None` for unintended differences and for the settings themselves.
    pub implied_by: Option<String>,
}

/// Relative difference of measured times that counts.
const DURATION_TOLERANCE: f64 = 0.05;
/// At the end a load waits for I/O in flight, for any measured time.
const LAST_OPERATIONS_NS: f64 = 1e8;

/// Unintended differences first, in the order of the runs' facts; then settings under test, which also stand for
/// conditions with the same change; then changes implied by these.
///
/// A condition in which machines differ, but the runs of none of them do, is no difference between runs that are
/// compared.
pub(super) fn differences(a: &Group, b: &Group, blocks: &Blocks<'_>) -> Vec<Difference> {
    let tested = tested(a, b);
    let mut others: Vec<Difference> = Vec::new();
    for what in facts_in_order(a, b) {
        let varying: Vec<&Block<'_>> = blocks.blocks.iter().filter(|block| varies(block, what)).collect();
        let of_a = values(varying.iter().flat_map(|block| block.a.iter().copied()), what);
        let of_b = values(varying.iter().flat_map(|block| block.b.iter().copied()), what);
        let found =
            Difference { what: what.to_owned(), a: shown(&of_a), b: shown(&of_b), intended: false, implied_by: None };
        // A condition that varies within a side is not implied by a setting that the side shares.
        let alike = varying.iter().all(|block| is_one(&block.a, what) && is_one(&block.b, what));
        if varying.is_empty() || tested.iter().any(|setting| setting.covers(&found, alike)) {
            continue;
        }
        let implied_by = if alike { source(&tested, what) } else { None };
        others.push(Difference { intended: implied_by.is_some(), implied_by, ..found });
    }
    if let Some(found) = duration(&a.runs, &b.runs) {
        let implied_by = source(&tested, &found.what);
        others.push(Difference { intended: implied_by.is_some(), implied_by, ..found });
    }
    let others = merge_passing_mounts(merge_unknown(others, a, b), blocks);
    let (following, mut found): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| one.intended);
    found.extend(tested.into_iter().map(|setting| setting.difference));
    found.extend(following);
    found
}

/// Where only one side was recorded by this program, most conditions are known on one side only. These are unknown
/// rather than different, and become one line.
fn merge_unknown(others: Vec<Difference>, a: &Group, b: &Group) -> Vec<Difference> {
    let ours = |group: &Group| group.runs.iter().any(|run| run.facts.iter().any(|fact| fact.what == "stallscope"));
    if ours(a) == ours(b) {
        return others;
    }
    let (one_sided, mut found): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|one| one.a.is_none() || one.b.is_none());
    let count =
        |of_a: bool| one_sided.iter().filter(|one| if of_a { one.a.is_some() } else { one.b.is_some() }).count();
    if !one_sided.is_empty() {
        found.push(Difference {
            what: "conditions that the other side's tool does not record".to_owned(),
            a: Some(count(true).to_string()),
            b: Some(count(false).to_string()),
            intended: false,
            implied_by: None,
        });
    }
    found
}

/// Mounts that are not under test and that some run lacks come and go with other programs, by the dozen on some
/// machines. They are one line.
fn merge_passing_mounts(mut others: Vec<Difference>, blocks: &Blocks<'_>) -> Vec<Difference> {
    let of_run = |run: &'_ RunFigures| -> BTreeSet<String> {
        run.facts.iter().filter_map(|fact| fact.foreign_mount.clone()).collect()
    };
    let passing_in = |block: &Block<'_>| -> Vec<String> {
        let of_runs: Vec<BTreeSet<String>> = block.runs().map(of_run).collect();
        let in_some: BTreeSet<&String> = of_runs.iter().flatten().collect();
        let lacked = |mount: &&String| !of_runs.iter().all(|mounts| mounts.contains(*mount));
        in_some.into_iter().filter(lacked).cloned().collect()
    };
    let passing: BTreeSet<String> = blocks.blocks.iter().flat_map(passing_in).collect();
    let of_side = |of_a: bool| -> BTreeSet<String> {
        let runs = blocks.blocks.iter().flat_map(|block| if of_a { &block.a } else { &block.b });
        runs.flat_map(|run| of_run(run)).collect()
    };
    let (of_a, of_b) = (of_side(true), of_side(false));
    let facts = || blocks.blocks.iter().flat_map(|block| block.runs()).flat_map(|run| &run.facts);
    let of_passing: BTreeSet<&str> = facts()
        .filter(|fact| fact.foreign_mount.as_ref().is_some_and(|mount| passing.contains(mount)))
        .map(|fact| fact.what.as_str())
        .collect();
    others.retain(|one| !of_passing.contains(one.what.as_str()));
    if !passing.is_empty() {
        let count = |side: &BTreeSet<String>| Some(side.intersection(&passing).count().to_string());
        others.push(Difference {
            what: "mounts not under test, and not in every run".to_owned(),
            a: count(&of_a),
            b: count(&of_b),
            intended: false,
            implied_by: None,
        });
    }
    others
}

/// A setting that is not the same on both sides.
struct Tested<'a> {
    difference: Difference,
    /// What it sets, where a sweep recorded it.
    varied: Vec<&'a Varied>,
}

fn tested<'a>(a: &'a Group, b: &'a Group) -> Vec<Tested<'a>> {
    let settings: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    let differ = settings.into_iter().filter(|what| a.settings.get(*what) != b.settings.get(*what));
    let tested = |what: &String| {
        let (of_a, of_b) = (a.settings.get(what).cloned(), b.settings.get(what).cloned());
        let varied = a.varied.iter().chain(&b.varied).filter(|varied| varied.name == *what);
        Tested {
            difference: Difference { what: what.clone(), a: of_a, b: of_b, intended: true, implied_by: None },
            varied: varied.collect(),
        }
    };
    differ.map(tested).collect()
}

/// The first setting that implies a condition.
fn source(tested: &[Tested<'_>], what: &str) -> Option<String> {
    let explains = |setting: &&Tested| setting.varied.iter().any(|varied| is_implied_by(varied, what));
    tested.iter().find(explains).map(|setting| setting.difference.what.clone())
}

impl Tested<'_> {
    /// Whether a condition is the setting itself and need not be listed as well. Where no sweep recorded what the
    /// setting sets, the name or the values decide.
    fn covers(&self, condition: &Difference, alike: bool) -> bool {
        let same = (&self.difference.a, &self.difference.b) == (&condition.a, &condition.b);
        if self.varied.is_empty() {
            return same || condition.what.strip_prefix("variable ") == Some(&self.difference.what);
        }
        let is_it = |varied: &Varied| is_set_by(varied, &condition.what);
        let shows_it = |varied: &Varied| same && is_implied_by(varied, &condition.what);
        alike && self.varied.iter().any(|varied| is_it(varied) || shows_it(varied))
    }
}

fn facts_in_order<'a>(a: &'a Group, b: &'a Group) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let all = a.runs.iter().chain(&b.runs).flat_map(|run| &run.facts).map(|fact| fact.what.as_str());
    all.filter(|what| seen.insert(*what)).collect()
}

fn value_of<'a>(run: &'a RunFigures, what: &str) -> Option<&'a str> {
    run.facts.iter().find(|fact| fact.what == what).map(|fact| fact.value.as_str())
}

/// Whether a condition differs between runs of a block.
fn varies(block: &Block<'_>, what: &str) -> bool {
    let mut values = block.runs().map(|run| value_of(run, what));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// Whether it is the same in all of these runs.
fn is_one(runs: &[&RunFigures], what: &str) -> bool {
    runs.windows(2).all(|pair| value_of(pair[0], what) == value_of(pair[1], what))
}

/// Number of runs with each value; `None` for runs without it.
fn values<'a>(runs: impl Iterator<Item = &'a RunFigures>, what: &str) -> BTreeMap<Option<&'a str>, usize> {
    let mut values = BTreeMap::new();
    for run in runs {
        *values.entry(value_of(run, what)).or_insert(0) += 1;
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

/// Whether the runs had a fixed duration. Other runs last as long as their work takes, which is a result, not a
/// condition.
fn are_timed(runs: &[RunFigures]) -> bool {
    let by_work = |run: &RunFigures| {
        let has = |begin: &str| run.facts.iter().any(|fact| fact.what.starts_with(begin));
        (has("recipe") && !has("variable runtime")) || run.metrics.iter().any(|metric| metric.name == "elapsed")
    };
    !runs.iter().any(by_work)
}

/// Whether a run is the unit of what happened in it: the runs last as long as their work takes, or equally long.
pub(super) fn are_comparable_as_runs(a: &[RunFigures], b: &[RunFigures]) -> bool {
    are_timed(a) == are_timed(b) && duration(a, b).is_none()
}

/// Measured times never agree to the nanosecond; only a larger difference counts.
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
    (high > low * (1.0 + DURATION_TOLERANCE) + LAST_OPERATIONS_NS).then(|| Difference {
        what: "measured time".to_owned(),
        a: span(a),
        b: span(b),
        intended: false,
        implied_by: None,
    })
}
