//! Compares two groups of runs, or many with a baseline: figures in, verdicts out.

use std::collections::{BTreeMap, BTreeSet};

use super::cautions::{cautions, disagreeing, of_some_runs};
use super::compared::{Compared, ComparedStalls};
use super::differences::{Difference, are_comparable_as_runs, differences};
use super::estimate::{Estimate, ratio_of_block};
use super::figures::{Amount, Better, Figure, Group, RunFigures};
use super::machines::{Blocks, Machine};
use super::verdict::{CONFIDENCE, FEWEST_RUNS, Findings, Verdict};
use statistics::RankTests;
use statistics::q_values;

/// The default margin: smaller differences do not matter.
pub const MARGIN: f64 = 0.05;

/// Upper limit of the measured noise floor, in margins. More noise means too few runs, not a wider equivalence.
const NOISIEST: f64 = 2.0;

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Differences up to this share do not matter: 0.05.
    pub margin: f64,
    /// Extra baseline runs (A/A) that set the noise floor.
    pub again: Option<&'a Group>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { margin: MARGIN, again: None }
    }
}

/// One side compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Name and number of runs of the baseline, A.
    pub a: (String, usize),
    /// Name and number of runs of the other side, B.
    pub b: (String, usize),
    /// Machines within which runs are compared, where there are several; else empty.
    pub machines: Vec<Machine>,
    /// Conditions in which these machines differ.
    pub machines_differ_in: Vec<String>,
    /// Conditions that differ, the unintended ones first.
    pub differences: Vec<Difference>,
    /// Cautions, one sentence each.
    pub cautions: Vec<String>,
    /// Metrics of interest, the most important first.
    pub metrics: Vec<Compared>,
    /// Stalls by cause.
    pub stalls: Vec<ComparedStalls>,
    /// Kernel counters per unit of work, the largest differences first.
    pub counters: Vec<Compared>,
}

/// Compares each of the others with the baseline. One correction for multiple tests covers all of them.
pub fn compare(baseline: &Group, others: &[&Group], options: Options<'_>) -> Vec<Comparison> {
    let mut tests = RankTests::default();
    let margins = Margins::of(baseline, options, &mut tests);
    let mut found: Vec<Comparison> =
        others.iter().map(|other| uncorrected(baseline, other, &margins, &mut tests)).collect();
    correct(found.iter_mut().flat_map(|comparison| {
        let stalls = comparison.stalls.iter_mut().flat_map(|stalls| stalls.count.iter_mut().chain([&mut stalls.time]));
        comparison.metrics.iter_mut().chain(stalls)
    }));
    // Counters are a separate family: hundreds of them would mask the few metrics that matter.
    correct(found.iter_mut().flat_map(|comparison| comparison.counters.iter_mut()));
    for (comparison, other) in found.iter_mut().zip(others) {
        comparison.censor(baseline, other);
    }
    for comparison in &mut found {
        comparison.metrics.sort_by(|x, y| order(x.importance(), y.importance()));
        comparison.counters.sort_by(|x, y| order(x.importance(), y.importance()));
        comparison.stalls.sort_by(|x, y| order(x.importance(), y.importance()));
    }
    found
}

impl Comparison {
    /// A side that hangs is not better, whatever it did less of meanwhile. A metric of which some runs have only a
    /// lower bound has no verdict: the runs with a value are the fast ones.
    fn censor(&mut self, a: &Group, b: &Group) {
        let runs = || a.runs.iter().chain(&b.runs);
        let is_censored = |metric: &str| runs().any(|run| run.censored.iter().any(|name| name == metric));
        for metric in self.metrics.iter_mut().filter(|metric| is_censored(&metric.name)) {
            (metric.verdict, metric.need_runs) = (Verdict::Censored, None);
        }
        let hangs = |group: &Group| group.runs.iter().any(RunFigures::hangs);
        let (a, b) = (hangs(a), hangs(b));
        let of_stalls = self.stalls.iter_mut().flat_map(|stalls| stalls.count.iter_mut().chain([&mut stalls.time]));
        for metric in self.metrics.iter_mut().chain(of_stalls) {
            let is_of_hung = match metric.verdict {
                Verdict::Better => b,
                Verdict::Worse => a,
                _ => false,
            };
            if is_of_hung {
                metric.verdict = Verdict::Unfinished;
            }
        }
    }
}

fn order(x: (Verdict, f64), y: (Verdict, f64)) -> std::cmp::Ordering {
    x.0.cmp(&y.0).then(x.1.total_cmp(&y.1))
}

fn uncorrected(a: &Group, b: &Group, margins: &Margins, tests: &mut RankTests) -> Comparison {
    let blocks = Blocks::of(a, b);
    let metrics = all_compared(&blocks, |run| &run.metrics, margins, tests);
    let mut cautions = cautions(a, b, &blocks);
    cautions.extend(disagreeing(&metrics, &blocks));
    cautions.extend(of_some_runs(&metrics, &blocks));
    Comparison {
        a: (a.name.clone(), a.runs.len()),
        b: (b.name.clone(), b.runs.len()),
        machines: blocks.machines(),
        machines_differ_in: blocks.differ_in(),
        differences: differences(a, b, &blocks),
        cautions,
        metrics,
        stalls: stalls(a, b, &blocks, margins, tests),
        counters: all_compared(&blocks, |run| &run.counters, margins, tests),
    }
}

/// Margins by metric.
struct Margins {
    general: f64,
    measured: BTreeMap<String, f64>,
}

impl Margins {
    /// The noise floor of a metric is the larger end of the A/A interval, up to [`NOISIEST`].
    fn of(baseline: &Group, options: Options<'_>, tests: &mut RankTests) -> Margins {
        let mut margins = Margins { general: options.margin, measured: BTreeMap::new() };
        let Some(again) = options.again.filter(|again| again.runs.len() >= FEWEST_RUNS) else { return margins };
        let same = uncorrected(baseline, again, &margins, tests);
        let of_stalls = same.stalls.iter().flat_map(|stalls| stalls.count.iter().chain([&stalls.time]));
        for metric in same.metrics.iter().chain(&same.counters).chain(of_stalls) {
            let Some((low, high)) = metric.ratio.interval else { continue };
            let floor = (-low.ln()).max(high.ln()).exp() - 1.0;
            margins.measured.insert(metric.name.clone(), floor.min(NOISIEST * options.margin));
        }
        margins
    }

    fn margin(&self, metric: &str) -> f64 {
        self.measured.get(metric).copied().unwrap_or(self.general)
    }
}

/// Every metric that runs of both sides have, in order of first appearance.
fn all_compared(
    blocks: &Blocks<'_>,
    figures: impl Fn(&RunFigures) -> &Vec<Figure>,
    margins: &Margins,
    tests: &mut RankTests,
) -> Vec<Compared> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    let of_a = blocks.blocks.iter().flat_map(|block| &block.a);
    for figure in of_a.flat_map(|run| figures(run)) {
        if seen.insert(figure.name.as_str()) {
            let amount = |run: &RunFigures| {
                let same = |other: &&Figure| other.name == figure.name && other.unit == figure.unit;
                figures(run).iter().find(same).map(|figure| figure.amount)
            };
            all.extend(compared(figure, &blocks.values(amount), margins, tests));
        }
    }
    all
}

/// `None` where a side has no value, or all values on both are zero.
fn compared(
    what: &Figure,
    blocks: &[(Vec<Amount>, Vec<Amount>)],
    margins: &Margins,
    tests: &mut RankTests,
) -> Option<Compared> {
    let estimate = Estimate::of(blocks, tests)?;
    let findings = Findings {
        better: what.better,
        runs: estimate.a.len().min(estimate.b.len()),
        fewest: FEWEST_RUNS,
        ratio: estimate.ratio,
        narrow: estimate.narrow.interval,
        log_ratio: estimate.log_ratio,
        variance: estimate.variance,
        margin: margins.margin(&what.name),
    };
    // Bonferroni: all intervals hold together with the confidence of one.
    let confidence = 1.0 - (1.0 - CONFIDENCE) / blocks.len() as f64;
    let of_block = |block: &(Vec<Amount>, Vec<Amount>)| ratio_of_block(block, confidence, tests);
    let by_machine = if blocks.len() > 1 { blocks.iter().map(of_block).collect() } else { Vec::new() };
    Some(Compared {
        name: what.name.clone(),
        unit: what.unit.clone(),
        better: what.better,
        a: estimate.a,
        b: estimate.b,
        ratio: findings.ratio,
        by_machine,
        margin: findings.margin,
        p: estimate.p,
        q: estimate.p,
        verdict: Verdict::NotEnoughData,
        need_runs: None,
        typical: estimate.typical,
        findings,
    })
}

/// Stalls of one cause in one run.
#[derive(Clone, Copy)]
struct Stalled {
    operations: f64,
    time_ns: f64,
    /// 1, or the run's length.
    over: f64,
}

/// Stalls by cause. Runs without a trace do not count.
fn stalls(a: &Group, b: &Group, blocks: &Blocks<'_>, margins: &Margins, tests: &mut RankTests) -> Vec<ComparedStalls> {
    let runs = || blocks.blocks.iter().flat_map(|block| block.runs());
    let causes: BTreeSet<&'static str> =
        runs().filter_map(|run| run.stalls.as_ref()).flatten().map(|stall| stall.cause).collect();
    // One unit for values and ratio: of runs that end with their work, a shorter one has fewer stalls, not more per
    // second.
    let per_run = are_comparable_as_runs(&a.runs, &b.runs);
    let unit = |of: &str| format!("{of}/{}", if per_run { "run" } else { "s" });
    let of_cause = |cause: &'static str| {
        let stalled = |run: &RunFigures| {
            let stall = run.stalls.as_ref()?.iter().find(|stall| stall.cause == cause);
            let (operations, time_ns) = stall.map_or((0, 0), |stall| (stall.operations, stall.time_ns));
            let seconds = run.measured_ns? as f64 / 1e9;
            let over = if per_run { 1.0 } else { seconds };
            Some(Stalled { operations: operations as f64, time_ns: time_ns as f64, over })
        };
        let count = |run: &RunFigures| {
            stalled(run).map(|stalled| Amount::Count { events: stalled.operations, over: stalled.over })
        };
        let time = |run: &RunFigures| stalled(run).map(|stalled| Amount::Level(stalled.time_ns / stalled.over));
        let figure =
            |name: String, of: &str| Figure { name, unit: unit(of), better: Better::Lower, amount: Amount::Level(0.0) };
        let by_block = blocks.values(stalled);
        Some(ComparedStalls {
            cause,
            count: compared(&figure(format!("stalls.{cause}"), ""), &blocks.values(count), margins, tests),
            per_run: means(&by_block, |stalled| stalled.operations),
            time_per_run_ns: means(&by_block, |stalled| stalled.time_ns),
            time: compared(&figure(format!("stall_time.{cause}"), "ns"), &blocks.values(time), margins, tests)?,
        })
    };
    causes.into_iter().filter_map(of_cause).collect()
}

/// Means over the runs of A and of B.
fn means(blocks: &[(Vec<Stalled>, Vec<Stalled>)], figure: fn(&Stalled) -> f64) -> (f64, f64) {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let of_a = blocks.iter().flat_map(|(a, _)| a).map(figure).collect();
    (mean(of_a), mean(blocks.iter().flat_map(|(_, b)| b).map(figure).collect()))
}

/// Corrects for the number of tests and sets the verdicts. Metrics with too few runs are not tested.
fn correct<'a>(family: impl Iterator<Item = &'a mut Compared>) {
    let mut family: Vec<&mut Compared> = family.collect();
    let tested = |metric: &&&mut Compared| metric.findings.runs >= FEWEST_RUNS;
    let p_values: Vec<f64> = family.iter().filter(tested).map(|metric| metric.p).collect();
    let mut q_values = q_values(&p_values).into_iter();
    for metric in &mut family {
        if metric.findings.runs >= FEWEST_RUNS {
            metric.q = q_values.next().unwrap_or(1.0);
        }
        metric.verdict = metric.findings.verdict(metric.q);
        metric.need_runs = (metric.verdict == Verdict::NotEnoughData).then(|| metric.findings.need_runs()).flatten();
    }
}
