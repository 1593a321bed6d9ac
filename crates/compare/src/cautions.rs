//! What makes a comparison less sure than it looks, and what to do about it.

use model::simulation::Origin;

use super::figures::{Group, RunFigures};
use super::verdict::FEWEST_RUNS;
use statistics::Steadiness;

/// Names shown of a list.
const NAMED: usize = 3;

/// One sentence each, the weightiest first.
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

/// What a model says of a kernel is no measurement of one.
fn simulated(a: &Group, b: &Group) -> Vec<String> {
    let mut found = Vec::new();
    let count = |group: &Group| group.runs.iter().filter(|run| run.simulated.is_some()).count();
    let (of_a, of_b, all) = (count(a), count(b), a.runs.len() + b.runs.len());
    if of_a + of_b == all && all > 0 {
        found.push("SIMULATED: all runs were made by models; nothing here was measured on a machine".to_owned());
    } else if of_a + of_b > 0 {
        found.push(format!(
            "SIMULATED runs are compared with runs of a machine ({of_a} of {} in A are simulated, {of_b} of {} in B): a \
             model leaves out most of what takes time, so only directions can be compared, and no size",
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
                "{}: simulated runs of one seed are one and the same run and no repetitions; give each another --seed",
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
    (fewest < FEWEST_RUNS).then(|| {
        format!("with {fewest} runs on a side nothing can be said; make at least {FEWEST_RUNS}, better 10, on each")
    })
}

/// Whatever changes with time (a disk that fills up, a neighbour that comes) looks like a difference of the sides, unless
/// their runs alternate.
fn not_interleaved(a: &[RunFigures], b: &[RunFigures]) -> Option<String> {
    let started = |runs: &[RunFigures]| runs.iter().map(|run| run.started_wall_ns).collect::<Option<Vec<u64>>>();
    let (a, b) = (started(a)?, started(b)?);
    let (a_first, a_last) = (a.iter().min()?, a.iter().max()?);
    let (b_first, b_last) = (b.iter().min()?, b.iter().max()?);
    let apart = a.len() + b.len() > 2 && (a_last < b_first || b_last < a_first);
    apart.then(|| {
        let first = if a_last < b_first { "A" } else { "B" };
        format!(
            "all runs of {first} were made before the others: what changed with time meanwhile looks like a difference of \
             the sides; alternate them (A B B A ...)"
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
            "{} of {} runs were not steady: their rate of work changed by {} from begin to end ({}); give them a longer \
             warm-up, or files and memory that do not fill up meanwhile",
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
            "whether {count} of {} runs were steady cannot be seen in so few intervals; make the runs longer or the report \
             intervals shorter",
            runs.len()
        )
    })
}

/// The runs' own cautions; what several runs say is said once.
fn of_runs(runs: &[&RunFigures]) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for caution in &run.cautions {
            match said.iter_mut().find(|(text, _)| *text == caution.as_str()) {
                Some((_, names)) => names.push(&run.name),
                None => said.push((caution, vec![&run.name])),
            }
        }
    }
    let sentence = |(text, names): (&str, Vec<&str>)| {
        let who = if names.len() == runs.len() { "all runs".to_owned() } else { named(names.into_iter()) };
        format!("{who}: {text}")
    };
    said.into_iter().map(sentence).collect()
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
