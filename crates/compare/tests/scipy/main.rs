//! The tests and intervals of comparisons and sweeps beside those of SciPy, on the inputs of cases.json, which cases.py
//! writes.

use compare::{Amount, Better, Figure, Group, RunFigures, scaling};
use model::latency::index_of;
use model::operation::{Bucket, IntervalRecord};
use serde::Deserialize;
use statistics::{BlockRatios, Distribution, LogRatios, RankTests, Ratio, Steadiness, StratifiedRatios};
use statistics::{q_values, steadiness};

const CONFIDENCE: f64 = 0.95;
/// Of exact tests and estimates; inputs are rounded to six digits.
const EXACT: f64 = 1e-9;
/// Of normal tails, which are Student's with 10^6 degrees of freedom.
const ASYMPTOTIC: f64 = 1e-4;

#[derive(Deserialize)]
struct Cases {
    rank_sums: Vec<Sides>,
    signed_ranks: Vec<Blocks>,
    shifts: Vec<Sides>,
    block_shifts: Vec<Blocks>,
    stratifieds: Vec<Strata>,
    q_values: Vec<Corrected>,
    medians: Vec<Median>,
    quantiles: Vec<Quantile>,
    trends: Vec<Trend>,
}

#[derive(Debug, Deserialize)]
struct Sides {
    a: Vec<f64>,
    b: Vec<f64>,
    p: Option<f64>,
    log_ratio: Option<f64>,
    log_interval: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
struct Blocks {
    logs: Vec<f64>,
    p: Option<f64>,
    log_ratio: Option<f64>,
    log_interval: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
struct Strata {
    strata: Vec<Sides>,
    p: f64,
}

#[derive(Debug, Deserialize)]
struct Corrected {
    p_values: Vec<f64>,
    q_values: Vec<f64>,
}

#[derive(Debug, Deserialize)]
struct Median {
    values: Vec<f64>,
    median: f64,
    interval: Option<(f64, f64)>,
}

#[derive(Debug, Deserialize)]
struct Quantile {
    values: Vec<u64>,
    quantile: f64,
    exact: u64,
    smooth: f64,
}

#[derive(Debug, Deserialize)]
struct Trend {
    rates: Vec<f64>,
    change: f64,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("cases.json")).unwrap()
}

/// SciPy's exact tails are differences to 1.
fn near(found: f64, expected: f64, relative: f64) -> bool {
    (found - expected).abs() <= relative * expected.abs() + 1e-12
}

/// Checks the p of each case, those of more values than exact distributions are enumerated for less closely.
fn check_p(found: f64, expected: f64, values: usize, exact_up_to: usize, case: &dyn std::fmt::Debug) {
    let within = if values > exact_up_to { ASYMPTOTIC } else { EXACT };
    assert!(near(found, expected, within), "{found} is not {expected}: {case:?}");
}

fn check_ratio(found: Ratio, log_ratio: Option<f64>, log_interval: Option<(f64, f64)>, case: &dyn std::fmt::Debug) {
    assert!((found.ratio.ln() - log_ratio.unwrap()).abs() < EXACT, "{found:?}: {case:?}");
    let found = found.interval.map(|(low, high)| (low.ln(), high.ln()));
    let is_same = match (found, log_interval) {
        (Some(found), Some(expected)) => (found.0 - expected.0).abs().max((found.1 - expected.1).abs()) < EXACT,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    assert!(is_same, "{found:?} is not {log_interval:?}: {case:?}");
}

#[test]
fn rank_sum_tests() {
    let (cases, mut tests) = (cases().rank_sums, RankTests::default());
    assert!(cases.len() >= 40);
    for case in &cases {
        let found = tests.p(&case.a, &case.b).unwrap();
        check_p(found, case.p.unwrap(), case.a.len() + case.b.len(), 60, case);
    }
}

#[test]
fn signed_rank_tests() {
    let cases = cases().signed_ranks;
    assert!(cases.len() >= 30);
    for case in &cases {
        let found = BlockRatios::of(case.logs.clone()).unwrap().p();
        check_p(found, case.p.unwrap(), case.logs.len(), 100, case);
    }
}

#[test]
fn intervals_of_shifts_are_inverted_tests() {
    let mut tests = RankTests::default();
    for case in &cases().shifts {
        let found = LogRatios::of(&case.a, &case.b).unwrap().ratio(CONFIDENCE, &mut tests);
        check_ratio(found, case.log_ratio, case.log_interval, case);
    }
    for case in &cases().block_shifts {
        let found = BlockRatios::of(case.logs.clone()).unwrap().ratio(CONFIDENCE);
        check_ratio(found, case.log_ratio, case.log_interval, case);
    }
}

#[test]
fn stratified_tests_are_those_of_all_splits() {
    for case in &cases().stratifieds {
        let strata: Vec<(Vec<f64>, Vec<f64>)> =
            case.strata.iter().map(|sides| (sides.a.clone(), sides.b.clone())).collect();
        check_p(StratifiedRatios::of(&strata).unwrap().p(), case.p, 0, usize::MAX, case);
    }
}

#[test]
fn false_discovery_rates() {
    for case in &cases().q_values {
        let found = q_values(&case.p_values);
        let all_near = found.iter().zip(&case.q_values).all(|(found, expected)| near(*found, *expected, EXACT));
        assert!(found.len() == case.q_values.len() && all_near, "{found:?}: {case:?}");
    }
}

/// Of the cells of a sweep's table.
#[test]
fn medians_and_their_intervals() {
    for case in &cases().medians {
        let figure = |&value: &f64| Figure {
            name: "rate".into(),
            unit: "/s".into(),
            better: Better::Higher,
            amount: Amount::Level(value),
        };
        let run = |value| RunFigures { metrics: vec![figure(value)], ..RunFigures::default() };
        let group = Group { runs: case.values.iter().map(run).collect(), ..Group::default() };
        let table = scaling(&[&group], "rate").unwrap();
        let cell = table.cells[0][0].as_ref().unwrap();
        assert!(near(cell.median, case.median, EXACT), "{cell:?}: {case:?}");
        assert_eq!(cell.interval, case.interval, "{case:?}");
    }
}

#[test]
fn quantiles_of_operations() {
    for case in &cases().quantiles {
        let mut all = Distribution::default();
        let bucket = |&value: &u64| Bucket { index: index_of(value), count: 1 };
        all.add(&IntervalRecord {
            count: case.values.len() as u64,
            sum_ns: case.values.iter().sum(),
            max_ns: case.values.iter().copied().max(),
            buckets: case.values.iter().map(bucket).collect(),
            ..IntervalRecord::default()
        });
        assert_eq!(all.quantile_ns(case.quantile), Some(case.exact), "{case:?}");
        let smooth = all.smooth_quantile_ns(case.quantile).unwrap();
        assert!(near(smooth, case.smooth, 1e-7), "{smooth}: {case:?}");
    }
}

#[test]
fn changes_over_a_run() {
    for case in &cases().trends {
        let Steadiness::Trend { change, p } = steadiness(&case.rates) else { panic!("no trend: {case:?}") };
        assert!(near(change, case.change, EXACT) && p < 0.01, "{change} {p}: {case:?}");
    }
}
