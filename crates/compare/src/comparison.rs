//! Two sets of runs, or many against one: figures in, verdicts out.

use std::collections::{BTreeMap, BTreeSet};

use super::cautions::cautions;
use super::differences::{Difference, differences};
use super::figures::{Amount, Better, Figure, Group, RunFigures};
use super::verdict::{CONFIDENCE, EQUIVALENCE_CONFIDENCE, FEWEST_RUNS, Findings, SIGNIFICANCE, Verdict, log_variance};
use statistics::RankTests;
use statistics::q_values;
use statistics::{Count, RateRatio};
use statistics::{LogRatios, Ratio};

/// A difference that does not matter, unless another is asked for or measured.
pub const MARGIN: f64 = 0.05;

/// Noise beyond so many times the margin is no margin but a lack of runs: nothing is the same for being lost in it.
const NOISIEST: f64 = 2.0;

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Differences up to this share do not matter: 0.05.
    pub margin: f64,
    /// More runs of the baseline: their differences to it are noise, and no difference that is as small matters.
    pub again: Option<&'a Group>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { margin: MARGIN, again: None }
    }
}

/// What is found of one side against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Name and number of runs of the baseline, A.
    pub a: (String, usize),
    /// Name and number of runs of the other side, B.
    pub b: (String, usize),
    /// Conditions that differ, the intended ones first.
    pub differences: Vec<Difference>,
    /// What makes it less sure, a sentence each.
    pub cautions: Vec<String>,
    /// Metrics that a person cares for, the most important first.
    pub metrics: Vec<Compared>,
    /// Stalls by cause.
    pub stalls: Vec<ComparedStalls>,
    /// The kernel's counters per unit of work, those that differ most first.
    pub counters: Vec<Compared>,
}

/// A metric on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way it is good.
    pub better: Better,
    /// The runs' values of A; runs without one left out.
    pub a: Vec<f64>,
    /// The runs' values of B.
    pub b: Vec<f64>,
    /// B to A.
    pub ratio: Ratio,
    /// A difference up to this share counts as none.
    pub margin: f64,
    /// Exact, two-sided.
    pub p: f64,
    /// Corrected for the number of metrics.
    pub q: f64,
    /// What may be said.
    pub verdict: Verdict,
    /// Runs that each side lacks for a verdict; `None` where there is one, or it cannot be known.
    pub need_runs: Option<u64>,
    typical: (f64, f64),
    findings: Findings,
}

impl PartialEq for Findings {
    fn eq(&self, other: &Findings) -> bool {
        self.ratio == other.ratio && self.narrow == other.narrow && self.margin == other.margin
    }
}

impl Compared {
    /// The typical value of A: the median of its runs; of happenings all of them by all of the time, as in the ratio.
    pub fn typical_a(&self) -> f64 {
        self.typical.0
    }

    /// The typical value of B.
    pub fn typical_b(&self) -> f64 {
        self.typical.1
    }

    /// By what it is sorted among its like: verdicts first, and what differs by its size. What does not keeps its place.
    fn importance(&self) -> (Verdict, f64) {
        if !self.verdict.is_decided() {
            return (self.verdict, 0.0);
        }
        // Rounded, so that rates that are one and the same but for the last digit keep their order.
        let size = (self.ratio.ratio.ln().abs() * 1e6).round();
        (self.verdict, if size.is_nan() { 0.0 } else { -size })
    }
}

/// Stalls of one cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStalls {
    /// Which cause.
    pub cause: &'static str,
    /// How many operations it stalled more than anything else did; per second. `None` where there was none.
    pub count: Option<Compared>,
    /// How many that are in a run, on average, of A and of B.
    pub per_run: (f64, f64),
    /// Time lost to it per second.
    pub time: Compared,
    /// Time lost to it in a run, ns, on average, of A and of B.
    pub time_per_run_ns: (f64, f64),
}

impl ComparedStalls {
    /// What may be said: of how many there are, or of the time where it never took the largest part.
    pub fn verdict(&self) -> Verdict {
        self.count.as_ref().unwrap_or(&self.time).verdict
    }

    fn importance(&self) -> (Verdict, f64) {
        (self.verdict(), -self.time.typical_a().max(self.time.typical_b()))
    }
}

/// Compares each of the others with the baseline. The correction for many metrics is one over all of them together.
pub fn compare(baseline: &Group, others: &[&Group], options: Options<'_>) -> Vec<Comparison> {
    let mut tests = RankTests::default();
    let margins = Margins::of(baseline, options, &mut tests);
    let mut found: Vec<Comparison> =
        others.iter().map(|other| uncorrected(baseline, other, &margins, &mut tests)).collect();
    correct(found.iter_mut().flat_map(|one| {
        let stalls = one.stalls.iter_mut().flat_map(|stalls| stalls.count.iter_mut().chain([&mut stalls.time]));
        one.metrics.iter_mut().chain(stalls)
    }));
    // Counters are a family of their own: hundreds of them would drown the few metrics that matter.
    correct(found.iter_mut().flat_map(|one| one.counters.iter_mut()));
    for one in &mut found {
        one.metrics.sort_by(|x, y| order(x.importance(), y.importance()));
        one.counters.sort_by(|x, y| order(x.importance(), y.importance()));
        one.stalls.sort_by(|x, y| order(x.importance(), y.importance()));
    }
    found
}

fn order(x: (Verdict, f64), y: (Verdict, f64)) -> std::cmp::Ordering {
    x.0.cmp(&y.0).then(x.1.total_cmp(&y.1))
}

fn uncorrected(a: &Group, b: &Group, margins: &Margins, tests: &mut RankTests) -> Comparison {
    Comparison {
        a: (a.name.clone(), a.runs.len()),
        b: (b.name.clone(), b.runs.len()),
        differences: differences(a, b),
        cautions: cautions(a, b),
        metrics: all_compared(&a.runs, &b.runs, |run| &run.metrics, margins, tests),
        stalls: stalls(&a.runs, &b.runs, margins, tests),
        counters: all_compared(&a.runs, &b.runs, |run| &run.counters, margins, tests),
    }
}

/// What is no difference, by metric.
struct Margins {
    general: f64,
    measured: BTreeMap<String, f64>,
}

impl Margins {
    /// The noise floor of a metric is the larger end of the interval of A against A, within reason.
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

/// Every metric that some run of both sides has, in the order of their first appearance.
fn all_compared(
    a: &[RunFigures],
    b: &[RunFigures],
    figures: impl Fn(&RunFigures) -> &Vec<Figure>,
    margins: &Margins,
    tests: &mut RankTests,
) -> Vec<Compared> {
    let mut seen = BTreeSet::new();
    let mut compared = Vec::new();
    for figure in a.iter().flat_map(&figures) {
        if seen.insert(figure.name.as_str()) {
            let amounts = |runs: &[RunFigures]| -> Vec<Amount> {
                let of_run = |run| figures(run).iter().find(|one: &&Figure| one.name == figure.name);
                runs.iter().filter_map(of_run).map(|figure| figure.amount).collect()
            };
            compared.extend(one(figure, &amounts(a), &amounts(b), margins, tests));
        }
    }
    compared
}

/// `None` where a side has no value, or all values on both are zero.
fn one(what: &Figure, a: &[Amount], b: &[Amount], margins: &Margins, tests: &mut RankTests) -> Option<Compared> {
    let values = |amounts: &[Amount]| amounts.iter().filter_map(|amount| amount.value()).collect::<Vec<f64>>();
    let (a_values, b_values) = (values(a), values(b));
    let p = tests.p(&a_values, &b_values)?;
    if a_values.iter().chain(&b_values).all(|&value| value == 0.0) {
        return None;
    }
    let (ratio, narrow, variance, log_ratio, typical) = match (counts(a), counts(b)) {
        (Some(a), Some(b)) => {
            let rates = RateRatio::of(&a, &b)?;
            let variance = Some(rates.variance_of_one_run);
            let ratio = agreeing(rates.ratio(CONFIDENCE), p);
            let typical = (rate(&a), rate(&b));
            (ratio, rates.ratio(EQUIVALENCE_CONFIDENCE), variance, rates.log_ratio, typical)
        }
        _ => {
            let ratios = LogRatios::of(&a_values, &b_values)?;
            let ratio = ratios.ratio(CONFIDENCE, tests);
            let narrow = ratios.ratio(EQUIVALENCE_CONFIDENCE, tests);
            let typical = (median(&a_values), median(&b_values));
            (ratio, narrow, log_variance(&a_values, &b_values), ratio.ratio.ln(), typical)
        }
    };
    let findings = Findings {
        better: what.better,
        runs: a_values.len().min(b_values.len()),
        ratio,
        narrow: narrow.interval,
        log_ratio,
        variance,
        margin: margins.margin(&what.name),
    };
    Some(Compared {
        name: what.name.clone(),
        unit: what.unit.clone(),
        better: what.better,
        a: a_values,
        b: b_values,
        ratio,
        margin: findings.margin,
        p,
        q: p,
        verdict: Verdict::NotEnoughData,
        need_runs: None,
        typical,
        findings,
    })
}

fn rate(counts: &[Count]) -> f64 {
    counts.iter().map(|count| count.events).sum::<f64>() / counts.iter().map(|count| count.over).sum::<f64>()
}

/// The interval of a rate ratio leans on a model, the test on none: where the test sees no difference, 1 is in the interval.
fn agreeing(ratio: Ratio, p: f64) -> Ratio {
    let interval =
        ratio.interval.map(|(low, high)| if p > SIGNIFICANCE { (low.min(1.0), high.max(1.0)) } else { (low, high) });
    Ratio { interval, ..ratio }
}

/// The happenings, where all values are such.
fn counts(amounts: &[Amount]) -> Option<Vec<Count>> {
    let count = |amount: &Amount| match *amount {
        Amount::Count { events, over } if over > 0.0 => Some(Count { events, over }),
        _ => None,
    };
    amounts.iter().map(count).collect()
}

/// Runs that were not traced know nothing of causes and do not count.
fn stalls(a: &[RunFigures], b: &[RunFigures], margins: &Margins, tests: &mut RankTests) -> Vec<ComparedStalls> {
    let all = a.iter().chain(b).filter_map(|run| run.stalls.as_ref()).flatten();
    let causes: BTreeSet<&'static str> = all.map(|stall| stall.cause).collect();
    let compared = |cause: &'static str| {
        let of = |runs: &[RunFigures]| -> Vec<(f64, f64, f64)> {
            let known = |run: &RunFigures| {
                let stall = run.stalls.as_ref()?.iter().find(|stall| stall.cause == cause);
                let (operations, time_ns) = stall.map_or((0, 0), |stall| (stall.operations, stall.time_ns));
                Some((operations as f64, time_ns as f64, run.measured_ns? as f64 / 1e9))
            };
            runs.iter().filter_map(known).collect()
        };
        let (a, b) = (of(a), of(b));
        let figure = |name: String, unit: &str| Figure {
            name,
            unit: unit.to_owned(),
            better: Better::Lower,
            amount: Amount::Level(0.0),
        };
        let count = |side: &[(f64, f64, f64)]| -> Vec<Amount> {
            side.iter().map(|&(events, _, over)| Amount::Count { events, over }).collect()
        };
        let time = |side: &[(f64, f64, f64)]| -> Vec<Amount> {
            side.iter().map(|&(_, time_ns, over)| Amount::Level(time_ns / over)).collect()
        };
        let mean = |side: &[(f64, f64, f64)], figure: fn(&(f64, f64, f64)) -> f64| {
            side.iter().map(figure).sum::<f64>() / side.len() as f64
        };
        Some(ComparedStalls {
            cause,
            count: one(&figure(format!("stalls.{cause}"), "/s"), &count(&a), &count(&b), margins, tests),
            per_run: (mean(&a, |one| one.0), mean(&b, |one| one.0)),
            time_per_run_ns: (mean(&a, |one| one.1), mean(&b, |one| one.1)),
            time: one(&figure(format!("stall_time.{cause}"), "ns/s"), &time(&a), &time(&b), margins, tests)?,
        })
    };
    causes.into_iter().filter_map(compared).collect()
}

/// Corrects for the number of tests, and gives the verdicts. A metric without enough runs was not tested.
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2])
}
