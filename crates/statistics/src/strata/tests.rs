use super::{Strata, Stratum, all_strata_p, few_strata_p, sum_p};
use crate::RankTests;

fn strata(sides: &[(&[f64], &[f64])]) -> Vec<Stratum> {
    let mut strata = Strata::default();
    sides.iter().map(|(a, b)| strata.stratum(a, b).unwrap()).collect()
}

/// Three values on each side, side B larger than, mixed with, or smaller than A.
const LARGER: (&[f64], &[f64]) = (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
const MIXED: (&[f64], &[f64]) = (&[1.0, 4.0, 5.0], &[2.0, 3.0, 6.0]);
const SMALLER: (&[f64], &[f64]) = (&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]);

#[test]
fn p_of_a_stratum_is_that_of_the_rank_sum_test_also_with_ties_and_unequal_sides() {
    for (a, b) in [
        LARGER,
        (&[0.0, 0.0, 0.0, 1.0, 2.0, 0.0], &[3.0, 0.0, 5.0, 2.0, 8.0, 4.0]),
        (&[1.0, 1.0, 2.0], &[2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 9.0]),
        (&[0.5, 0.0, 0.1, 1.0, 2.0, 0.0, 3.0], &[3.0, 4.0]),
    ] {
        let p = strata(&[(a, b)])[0].p();
        let two_sided = RankTests::default().p(a, b).unwrap();
        assert!((p - two_sided / 2.0).abs() < 1e-12, "{a:?} {b:?}: {p} {two_sided}");
    }
    assert!(Strata::default().stratum(&[], &[1.0]).is_none());
}

/// By hand: one of 20 splits of six values puts the larger ones on side B; no other split of so few values scores at
/// the smaller level.
#[test]
fn the_chance_of_strata_that_stand_out_is_exact() {
    let check = |sides: &[(&[f64], &[f64])], expected: f64| {
        let found = sum_p(&strata(sides), 0);
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    };
    check(&[LARGER], 0.05);
    check(&[LARGER; 3], 0.05_f64.powi(3));
    check(&[LARGER, LARGER, MIXED], 3.0 * 0.05 * 0.05 * 0.95 + 0.05_f64.powi(3));
    check(&[MIXED, SMALLER], 1.0);
    check(&[], 1.0);
}

#[test]
fn small_chances_do_not_drown_in_rounding() {
    let p = few_strata_p(&strata(&[LARGER; 40]));
    assert!((p / (2.0 * 0.05_f64.powi(40)) - 1.0).abs() < 1e-9, "{p}");
}

#[test]
fn a_little_everywhere_adds_up_and_opposite_strata_cancel_out() {
    let p = |sides: &[(&[f64], &[f64])]| all_strata_p(&strata(sides));
    // Exact: 1/20, then 1/20 squared.
    assert!((0.03..0.06).contains(&p(&[LARGER])) && (0.001..0.01).contains(&p(&[LARGER; 2])));
    assert!(p(&[LARGER; 10]) < 1e-6 && p(&[SMALLER; 10]) == 1.0 && p(&[]) == 1.0);
    assert!(p(&[LARGER, SMALLER, LARGER, SMALLER]) > 0.4);
}

/// Strata that are each far to one side vary more than their values' order alone would.
#[test]
fn values_that_depend_on_each_other_make_the_test_weaker() {
    let sides: Vec<_> = (0..100).map(|at| if at < 60 { LARGER } else { SMALLER }).collect();
    let p = all_strata_p(&strata(&sides));
    // 60 of 100 coins: 0.028.
    assert!((0.015..0.05).contains(&p), "{p}");
}
