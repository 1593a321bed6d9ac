use super::StratifiedRatios;
use crate::{LogRatios, RankTests};

const A: [f64; 6] = [8.77, 8.91, 9.11, 8.5, 9.4, 8.2];
const B: [f64; 5] = [11.16, 9.3, 10.8, 8.9, 9.7];

#[test]
fn one_stratum_has_the_test_and_the_ratio_of_its_sides() {
    let mut tests = RankTests::default();
    let one = StratifiedRatios::of(&[(A.to_vec(), B.to_vec()), (vec![5.0], Vec::new())]).unwrap();
    assert!((one.p() - tests.p(&A, &B).unwrap()).abs() < 1e-12);
    for confidence in [0.9, 0.95, 0.99] {
        let expected = LogRatios::of(&A, &B).unwrap().ratio(confidence, &mut tests);
        let found = one.ratio(confidence, &mut tests);
        assert!((found.ratio - expected.ratio).abs() < 1e-12);
        assert_eq!(found.interval, expected.interval);
        assert!((found.confidence.unwrap() - expected.confidence.unwrap()).abs() < 1e-12);
    }
    assert!(StratifiedRatios::of(&[(vec![5.0], Vec::new())]).is_none());
}

/// All 20 * 6 = 120 splits of both strata, by hand: the weights are 5/4 of one another's (values + 1: 7 and 5), 4 and 6
/// steps.
#[test]
fn the_test_counts_all_splits_within_the_strata() {
    let strata = [(vec![1.0, 2.0, 4.0], vec![3.0, 5.0, 6.0]), (vec![70.0, 80.0], vec![90.0, 75.0])];
    let sums = |values: usize, drawn: u32| {
        let of = move |set: u32| (0..values).filter(|at| set >> at & 1 == 1).map(|at| at + 1).sum::<usize>();
        (0..1_u32 << values).filter(move |set| set.count_ones() == drawn).map(of).collect::<Vec<usize>>()
    };
    let (first, second) = (sums(6, 3), sums(4, 2));
    // Steps 4 * 7 / 7 = 4 and 4 * 7 / 5 = 5.6, so 6; divided by 2.
    let all: Vec<usize> = first.iter().flat_map(|x| second.iter().map(move |y| 2 * x + 3 * y)).collect();
    // Ranks of A: 1, 2, 4 and 1, 3.
    let found = 2 * 7 + 3 * 4;
    let below = all.iter().filter(|sum| **sum <= found).count() as f64 / all.len() as f64;
    assert_eq!(all.len(), 120);
    assert!((StratifiedRatios::of(&strata).unwrap().p() - 2.0 * below).abs() < 1e-12);
}

/// Two machines, one ten times as slow as the other: pooled, an effect of 20 % is lost between them.
#[test]
fn differences_between_strata_hide_no_effect_and_make_none() {
    let spread = [0.98, 1.03, 1.0, 0.97, 1.01];
    let times = |level: f64| spread.map(|factor| level * factor).to_vec();
    let mut tests = RankTests::default();
    let strata = [(times(100.0), times(120.0)), (times(1000.0), times(1200.0))];
    type Sides = (Vec<f64>, Vec<f64>);
    let pooled = |side: fn(&Sides) -> &Vec<f64>| strata.iter().flat_map(side).copied().collect::<Vec<f64>>();
    assert!(tests.p(&pooled(|both| &both.0), &pooled(|both| &both.1)).unwrap() > 0.05);
    let found = StratifiedRatios::of(&strata).unwrap();
    assert!(found.p() < 1e-4, "{}", found.p());
    let ratio = found.ratio(0.95, &mut tests);
    let (low, high) = ratio.interval.unwrap();
    assert!((ratio.ratio - 1.2).abs() < 1e-9 && 1.15 < low && high < 1.25, "{low} {high}");
    // More runs of B on the slow machine are no effect.
    let uneven = [(times(100.0), times(100.0)[..2].to_vec()), (times(1000.0)[..2].to_vec(), times(1000.0))];
    assert!(StratifiedRatios::of(&uneven).unwrap().p() > 0.5);
}

#[test]
fn many_values_are_approximated() {
    let mut tests = RankTests::default();
    let times =
        |level: f64, runs: u32| (0..runs).map(|n| level * (1.0 + 0.01 * f64::from(n * 7 % 13))).collect::<Vec<f64>>();
    let of = |runs| {
        let strata: Vec<(Vec<f64>, Vec<f64>)> =
            [10.0, 30.0, 50.0].iter().map(|level| (times(*level, runs), times(*level * 1.015, runs))).collect();
        StratifiedRatios::of(&strata).unwrap()
    };
    // 120 values are enumerated, 132 are not: twice as much evidence would differ by more.
    let (exact, close) = (of(20), of(22));
    assert!(exact.is_small() && !close.is_small());
    assert!(exact.p() < 0.1 && close.p() < 0.1 && exact.p() / close.p() < 2.0, "{} {}", exact.p(), close.p());
    let width = |found: &StratifiedRatios, tests: &mut RankTests| {
        let (low, high) = found.ratio(0.95, tests).interval.unwrap();
        high / low - 1.0
    };
    let (narrow, wide) = (width(&close, &mut tests), width(&exact, &mut tests));
    assert!(narrow <= wide * 1.05 && narrow > 0.7 * wide, "{narrow} {wide}");
}
