//! Cautions: what weakens a comparison, and the remedy.

use model::simulation::Origin;

use super::figures::{Group, RunFigures};
use super::verdict::FEWEST_RUNS;
use statistics::Steadiness;

/// Names shown of a list.
const NAMED: usize = 3;

/// One sentence each, the most important first.
pub(super) fn cautions(a: &Group, b: &Group) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(simulated(a, b));
    found.extend(too_few(a, b));
    let is_simulated = a.runs.iter().chain(&b.runs).any(|run| run.simulated.is_some());
    if !is_simulated {
        found.extend(not_interleaved(&a.runs, &b.runs));
    }
    let runs: Vec<&RunFigures> = a.runs.iter().chain(&b.runs).collect();
    found.extend(unsteady(&runs));
    found.extend(too_short(&runs));
    found.extend(of_runs(&runs));
    found
}

/// A simulation is not a measurement of a kernel.
fn simulated(a: &Group, b: &Group) -> Vec<String> {
    let mut found = Vec::new();
    let count = |group: &Group| group.runs.iter().filter(|run| run.simulated.is_some()).count();
    let (of_a, of_b, all) = (count(a), count(b), a.runs.len() + b.runs.len());
    if of_a + of_b == all && all > 0 {
        found.push("SIMULATED: all runs are simulations; nothing here was measured on a machine".to_owned());
    } else if of_a + of_b > 0 {
        found.push(format!(
            "SIMULATED runs are compared with runs on a machine ({of_a} of {} in A are simulated, {of_b} of {} in B): a \
             model omits most of what takes time, so compare only directions, not sizes",
            a.runs.len(),
            b.runs.len()
        ));
    }
    for group in [a, b] {
        let mut seeds: Vec<(&str, &str, Option<u64>)> =
            group.runs.iter().filter_map(|run| run.simulated.as_ref()).map(key).collect();
        seeds.sort_unstable();
        if seeds.windows(2).any(|pair| pair[0] == pair[1] && pair[0].2.is_some()) {
            found.push(format!(
                "{}: simulated runs with the same seed are identical, not repetitions; use a different --seed for each",
                group.name
            ));
        }
    }
    found
}

fn key(origin: &Origin) -> (&str, &str, Option<u64>) {
    (&origin.model, &origin.policy, origin.seed)
}

fn too_few(a: &Group, b: &Group) -> Option<String> {
    let fewest = a.runs.len().min(b.runs.len());
    (fewest < FEWEST_RUNS)
        .then(|| format!("too few runs for a verdict ({fewest} per side); use at least {FEWEST_RUNS}, preferably 10"))
}

/// Unless the runs alternate, changes over time (a disk filling up, another load starting) look like a difference between
/// the sides.
fn not_interleaved(a: &[RunFigures], b: &[RunFigures]) -> Option<String> {
    let started = |runs: &[RunFigures]| runs.iter().map(|run| run.started_wall_ns).collect::<Option<Vec<u64>>>();
    let (a, b) = (started(a)?, started(b)?);
    let (a_first, a_last) = (a.iter().min()?, a.iter().max()?);
    let (b_first, b_last) = (b.iter().min()?, b.iter().max()?);
    let apart = a.len() + b.len() > 2 && (a_last < b_first || b_last < a_first);
    apart.then(|| {
        let first = if a_last < b_first { "A" } else { "B" };
        format!(
            "all runs of {first} precede the others: changes over time look like a difference between the sides; alternate \
             them (A B B A ...)"
        )
    })
}

fn unsteady(runs: &[&RunFigures]) -> Option<String> {
    let with_trend: Vec<(&str, f64)> = runs
        .iter()
        .filter_map(|run| match run.steadiness {
            Steadiness::Trend { change, .. } => Some((run.name.as_str(), change)),
            _ => None,
        })
        .collect();
    let least = with_trend.iter().map(|(_, change)| *change).fold(f64::INFINITY, f64::min);
    let most = with_trend.iter().map(|(_, change)| *change).fold(f64::NEG_INFINITY, f64::max);
    (!with_trend.is_empty()).then(|| {
        format!(
            "{} of {} runs were not steady: their rate of work changed by {} from start to end ({}); use a longer warm-up, \
             or files and memory that do not fill up during the run",
            with_trend.len(),
            runs.len(),
            if least == most { percent(least) } else { format!("{} to {}", percent(least), percent(most)) },
            named(with_trend.iter().map(|(name, _)| *name)),
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:+.0} %", share * 100.0)
}

fn too_short(runs: &[&RunFigures]) -> Option<String> {
    let short = |run: &&&RunFigures| matches!(run.steadiness, Steadiness::TooShort { .. });
    let count = runs.iter().filter(short).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} runs have too few intervals to check for a steady state; use longer runs or shorter report \
             intervals",
            runs.len()
        )
    })
}

/// Cautions of the runs; a caution of several runs appears once.
fn of_runs(runs: &[&RunFigures]) -> Vec<String> {
    let mut merged: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for caution in &run.cautions {
            match merged.iter_mut().find(|(text, _)| *text == caution.as_str()) {
                Some((_, names)) => names.push(&run.name),
                None => merged.push((caution, vec![&run.name])),
            }
        }
    }
    let sentence = |(text, names): (&str, Vec<&str>)| {
        let who = if names.len() == runs.len() { "all runs".to_owned() } else { named(names.into_iter()) };
        format!("{who}: {text}")
    };
    merged.into_iter().map(sentence).collect()
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
