//! Compares two groups of runs, or many with a baseline: figures in, verdicts out.

use std::collections::{BTreeMap, BTreeSet};

use super::cautions::cautions;
use super::differences::{Difference, are_comparable_as_runs, differences};
use super::figures::{Amount, Better, Figure, Group, RunFigures};
use super::verdict::{CONFIDENCE, EQUIVALENCE_CONFIDENCE, FEWEST_RUNS, Findings, SIGNIFICANCE, Verdict, log_variance};
use statistics::RankTests;
use statistics::q_values;
use statistics::{Count, RateRatio};
use statistics::{LogRatios, Ratio};

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

/// A metric on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Values of the runs of A; runs without a value are omitted.
    pub a: Vec<f64>,
    /// The runs' values of B.
    pub b: Vec<f64>,
    /// B to A.
    pub ratio: Ratio,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// Exact, two-sided.
    pub p: f64,
    /// Corrected for the number of metrics.
    pub q: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Additional runs per side for a verdict; `None` where there is a verdict, or the number is unknown.
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
    /// The typical value of A: the median of its runs; for events the total count over the total time, as in the ratio.
    pub fn typical_a(&self) -> f64 {
        self.typical.0
    }

    /// The typical value of B.
    pub fn typical_b(&self) -> f64 {
        self.typical.1
    }

    /// Sort key: by verdict, then decided differences by size. Others keep their order.
    fn importance(&self) -> (Verdict, f64) {
        if !self.verdict.is_decided() {
            return (self.verdict, 0.0);
        }
        // Rounded: rates that differ only in the last digit keep their order.
        let size = (self.ratio.ratio.ln().abs() * 1e6).round();
        (self.verdict, if size.is_nan() { 0.0 } else { -size })
    }
}

/// Stalls of one cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStalls {
    /// The cause.
    pub cause: &'static str,
    /// Operations with this main cause, per run, or per second if the runs' lengths differ (see its unit). `None` where there
    /// was none.
    pub count: Option<Compared>,
    /// Mean number of these in a run of A and of B.
    pub per_run: (f64, f64),
    /// Time lost to it, per run or per second.
    pub time: Compared,
    /// Mean time lost to it in a run of A and of B, ns.
    pub time_per_run_ns: (f64, f64),
}

impl ComparedStalls {
    /// The verdict on the count, or on the time where it never was the main cause.
    pub fn verdict(&self) -> Verdict {
        self.count.as_ref().unwrap_or(&self.time).verdict
    }

    fn importance(&self) -> (Verdict, f64) {
        (self.verdict(), -self.time.typical_a().max(self.time.typical_b()))
    }
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
    for comparison in &mut found {
        comparison.metrics.sort_by(|x, y| order(x.importance(), y.importance()));
        comparison.counters.sort_by(|x, y| order(x.importance(), y.importance()));
        comparison.stalls.sort_by(|x, y| order(x.importance(), y.importance()));
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
    a: &[RunFigures],
    b: &[RunFigures],
    figures: impl Fn(&RunFigures) -> &Vec<Figure>,
    margins: &Margins,
    tests: &mut RankTests,
) -> Vec<Compared> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for figure in a.iter().flat_map(&figures) {
        if seen.insert(figure.name.as_str()) {
            let amounts = |runs: &[RunFigures]| -> Vec<Amount> {
                let of_run = |run| {
                    figures(run).iter().find(|other: &&Figure| other.name == figure.name && other.unit == figure.unit)
                };
                runs.iter().filter_map(of_run).map(|figure| figure.amount).collect()
            };
            all.extend(compared(figure, &amounts(a), &amounts(b), margins, tests));
        }
    }
    all
}

/// `None` where a side has no value, or all values on both are zero.
fn compared(what: &Figure, a: &[Amount], b: &[Amount], margins: &Margins, tests: &mut RankTests) -> Option<Compared> {
    let values = |amounts: &[Amount]| amounts.iter().filter_map(|amount| amount.value()).collect::<Vec<f64>>();
    let (a_values, b_values) = (values(a), values(b));
    let p = tests.p(&a_values, &b_values)?;
    if a_values.iter().chain(&b_values).all(|&value| value == 0.0) {
        return None;
    }
    let estimate = match (counts(a), counts(b)) {
        (Some(a), Some(b)) => Estimate::of_counts(&a, &b, p)?,
        _ => Estimate::of_levels(&a_values, &b_values, tests)?,
    };
    let findings = Findings {
        better: what.better,
        runs: a_values.len().min(b_values.len()),
        fewest: FEWEST_RUNS,
        ratio: estimate.ratio,
        narrow: estimate.narrow.interval,
        log_ratio: estimate.log_ratio,
        variance: estimate.variance,
        margin: margins.margin(&what.name),
    };
    Some(Compared {
        name: what.name.clone(),
        unit: what.unit.clone(),
        better: what.better,
        a: a_values,
        b: b_values,
        ratio: findings.ratio,
        margin: findings.margin,
        p,
        q: p,
        verdict: Verdict::NotEnoughData,
        need_runs: None,
        typical: estimate.typical,
        findings,
    })
}

/// The estimated ratio of a metric.
struct Estimate {
    ratio: Ratio,
    narrow: Ratio,
    variance: Option<f64>,
    log_ratio: f64,
    typical: (f64, f64),
}

impl Estimate {
    fn of_counts(a: &[Count], b: &[Count], p: f64) -> Option<Estimate> {
        let rates = RateRatio::of(a, b)?;
        Some(Estimate {
            ratio: agreeing(rates.ratio(CONFIDENCE), p),
            narrow: rates.ratio(EQUIVALENCE_CONFIDENCE),
            variance: Some(rates.variance_of_one_run),
            log_ratio: rates.log_ratio,
            typical: (rate(a), rate(b)),
        })
    }

    fn of_levels(a: &[f64], b: &[f64], tests: &mut RankTests) -> Option<Estimate> {
        let ratios = LogRatios::of(a, b)?;
        let ratio = ratios.ratio(CONFIDENCE, tests);
        Some(Estimate {
            ratio,
            narrow: ratios.ratio(EQUIVALENCE_CONFIDENCE, tests),
            variance: log_variance(a, b),
            log_ratio: ratio.ratio.ln(),
            typical: (median(a), median(b)),
        })
    }
}

fn rate(counts: &[Count]) -> f64 {
    counts.iter().map(|count| count.events).sum::<f64>() / counts.iter().map(|count| count.over).sum::<f64>()
}

/// The interval of a rate ratio assumes a model, the test does not: where the test finds no difference, the interval is
/// extended to contain 1.
fn agreeing(ratio: Ratio, p: f64) -> Ratio {
    let interval =
        ratio.interval.map(|(low, high)| if p > SIGNIFICANCE { (low.min(1.0), high.max(1.0)) } else { (low, high) });
    Ratio { interval, ..ratio }
}

/// The counts, if all amounts are counts.
fn counts(amounts: &[Amount]) -> Option<Vec<Count>> {
    let count = |amount: &Amount| match *amount {
        Amount::Count { events, over } if over > 0.0 => Some(Count { events, over }),
        _ => None,
    };
    amounts.iter().map(count).collect()
}

/// Stalls by cause. Runs without a trace do not count.
fn stalls(a: &[RunFigures], b: &[RunFigures], margins: &Margins, tests: &mut RankTests) -> Vec<ComparedStalls> {
    let all = a.iter().chain(b).filter_map(|run| run.stalls.as_ref()).flatten();
    let causes: BTreeSet<&'static str> = all.map(|stall| stall.cause).collect();
    // One unit for values and ratio: of runs that end with their work, a shorter one has fewer stalls, not more per second.
    let per_run = are_comparable_as_runs(a, b);
    let unit = |of: &str| format!("{of}/{}", if per_run { "run" } else { "s" });
    let of_cause = |cause: &'static str| {
        let of = |runs: &[RunFigures]| -> Vec<(f64, f64, f64)> {
            let known = |run: &RunFigures| {
                let stall = run.stalls.as_ref()?.iter().find(|stall| stall.cause == cause);
                let (operations, time_ns) = stall.map_or((0, 0), |stall| (stall.operations, stall.time_ns));
                let seconds = run.measured_ns? as f64 / 1e9;
                Some((operations as f64, time_ns as f64, if per_run { 1.0 } else { seconds }))
            };
            runs.iter().filter_map(known).collect()
        };
        let (a, b) = (of(a), of(b));
        let figure =
            |name: String, of: &str| Figure { name, unit: unit(of), better: Better::Lower, amount: Amount::Level(0.0) };
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
            count: compared(&figure(format!("stalls.{cause}"), ""), &count(&a), &count(&b), margins, tests),
            per_run: (mean(&a, |run| run.0), mean(&b, |run| run.0)),
            time_per_run_ns: (mean(&a, |run| run.1), mean(&b, |run| run.1)),
            time: compared(&figure(format!("stall_time.{cause}"), "ns"), &time(&a), &time(&b), margins, tests)?,
        })
    };
    causes.into_iter().filter_map(of_cause).collect()
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2])
}
