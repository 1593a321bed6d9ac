//! Cautions: what weakens a comparison, and the remedy.

use model::quantity::{counted, verb};
use model::simulation::Origin;
use statistics::Steadiness;

use super::compared::Compared;
use super::figures::{Group, RunFigures};
use super::machines::{Block, Blocks};
use super::verdict::FEWEST_RUNS;

/// Names shown of a list.
const NAMED: usize = 3;

/// One sentence each, the most important first.
pub(super) fn cautions(a: &Group, b: &Group, blocks: &Blocks<'_>) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(simulated(a, b));
    found.extend(one_sided(blocks));
    found.extend(too_few(blocks));
    let is_simulated = a.runs.iter().chain(&b.runs).any(|run| run.simulated.is_some());
    if !is_simulated {
        found.extend(not_interleaved(blocks));
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
            "SIMULATED runs are compared with runs on a machine ({of_a} of {} in A are simulated, {of_b} of {} in B): \
             a \
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

/// Runs that are compared with none.
fn one_sided(blocks: &Blocks<'_>) -> Option<String> {
    let count: usize = blocks.one_sided.iter().map(|block| block.a.len() + block.b.len()).sum();
    (count > 0).then(|| {
        format!(
            "{} {} left out of every figure: machines ({}) ran one side alone, so that machines and sides \
             cannot be distinguished",
            counted(count as u64, "run"),
            verb(count as u64, "is", "are"),
            named(blocks.one_sided.iter().map(|block| block.name()))
        )
    })
}

/// Metrics whose change is not the same on all machines: their intervals exclude each other.
pub(super) fn disagreeing(metrics: &[Compared], blocks: &Blocks<'_>) -> Option<String> {
    let apart: Vec<String> = metrics.iter().filter_map(|metric| apart(metric, blocks)).collect();
    (!apart.is_empty()).then(|| {
        format!(
            "machines disagree, so one common ratio fits none of them: {}; compare the runs of each",
            named(apart.iter().map(String::as_str))
        )
    })
}

/// Metrics that some runs of a side lack: the others may be those in which all went well.
pub(super) fn of_some_runs(metrics: &[Compared], blocks: &Blocks<'_>) -> Option<String> {
    let count = |of: fn(&Block<'_>) -> usize| blocks.blocks.iter().map(of).sum::<usize>();
    let (a, b) = (count(|block| block.a.len()), count(|block| block.b.len()));
    let lacking = metrics.iter().filter(|metric| metric.a.len() < a || metric.b.len() < b);
    let words = |metric: &Compared| format!("{} ({} of {a}, {} of {b})", metric.name, metric.a.len(), metric.b.len());
    let lacking: Vec<String> = lacking.map(words).collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "not all runs of A and B have a value: {}; those without may be the slow ones",
            named(lacking.iter().map(String::as_str))
        )
    })
}

fn apart(metric: &Compared, blocks: &Blocks<'_>) -> Option<String> {
    let known =
        || metric.by_machine.iter().zip(&blocks.blocks).filter_map(|(ratio, block)| Some((block.name(), (*ratio)?)));
    let with_ends = || known().filter_map(|(name, ratio)| Some((name, ratio.ratio, ratio.interval?)));
    let least = with_ends().min_by(|x, y| x.2.1.total_cmp(&y.2.1))?;
    let most = with_ends().max_by(|x, y| x.2.0.total_cmp(&y.2.0))?;
    let side = |(name, ratio, _): (&str, f64, _)| format!("x {ratio:.2} on {name}");
    (least.2.1 < most.2.0).then(|| format!("{} ({}, {})", metric.name, side(least), side(most)))
}

fn too_few(blocks: &Blocks<'_>) -> Option<String> {
    let count = |of: fn(&Block<'_>) -> usize| blocks.blocks.iter().map(of).sum::<usize>();
    let fewest = count(|block| block.a.len()).min(count(|block| block.b.len()));
    (fewest < FEWEST_RUNS)
        .then(|| format!("too few runs for a verdict ({fewest} per side); use at least {FEWEST_RUNS}, preferably 10"))
}

/// Unless the runs alternate, changes over time (a disk filling up, another load starting) look like a difference
/// between the sides. On machines that run at the same time each other's order does not matter.
fn not_interleaved(blocks: &Blocks<'_>) -> Option<String> {
    let apart: Vec<(&Block<'_>, &str)> =
        blocks.blocks.iter().filter_map(|block| Some((block, first_side(block)?))).collect();
    let (_, first) = apart.first()?;
    let which = match apart.iter().all(|(_, side)| side == first) {
        true => format!("all runs of {first} precede the others"),
        false => "all runs of one side precede the others".to_owned(),
    };
    let place = match blocks.are_machines() {
        true => format!("on {}, ", named(apart.iter().map(|(block, _)| block.name()))),
        false => String::new(),
    };
    Some(format!(
        "{place}{which}: changes over time look like a difference between the sides; alternate them (A B B A ...)"
    ))
}

/// The side whose runs all precede the others.
fn first_side(block: &Block<'_>) -> Option<&'static str> {
    let started = |runs: &[&RunFigures]| runs.iter().map(|run| run.started_wall_ns).collect::<Option<Vec<u64>>>();
    let (a, b) = (started(&block.a)?, started(&block.b)?);
    let (a_first, a_last) = (a.iter().min()?, a.iter().max()?);
    let (b_first, b_last) = (b.iter().min()?, b.iter().max()?);
    let apart = a.len() + b.len() > 2 && (a_last < b_first || b_last < a_first);
    apart.then_some(if a_last < b_first { "A" } else { "B" })
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
            "{} of {} {} not steady: the rate of work changed by {} from start to end ({}); use a longer \
             warm-up, or files and memory that do not fill up during the run",
            with_trend.len(),
            counted(runs.len() as u64, "run"),
            verb(with_trend.len() as u64, "was", "were"),
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
            "{count} of {} {} too short to check for a steady state; run longer, or use shorter report intervals",
            counted(runs.len() as u64, "run"),
            verb(count as u64, "is", "are")
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
