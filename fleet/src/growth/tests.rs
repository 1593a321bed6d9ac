//! Growth that is there is found, everywhere or on few hosts, and noise is not.

use statistics::RankTests;

use super::{Growth, HostDays, binomial_upper_tail, growth, periods};
use crate::random::Random;

/// Hosts with days of noise, of which some grow by a factor.
fn fleet(seed: u64, hosts: usize, grown: usize, factor: f64) -> Vec<HostDays> {
    let mut random = Random::of(seed);
    let mut days = |factor: f64| -> Vec<f64> { (0..7).map(|_| factor * (0.2 + random.unit())).collect() };
    let of = |at: usize| HostDays {
        host: at.to_string(),
        before: days(1.0),
        after: days(if at < grown { factor } else { 1.0 }),
    };
    (0..hosts).map(of).collect()
}

fn tested(hosts: &[HostDays]) -> Growth {
    growth(hosts, (0.0, 0.0), &mut RankTests::default())
}

#[test]
fn noise_is_no_growth() {
    let false_ones = (0..100).filter(|&seed| tested(&fleet(seed, 200, 0, 1.0)).p <= 0.05).count();
    assert!(false_ones <= 10, "{false_ones} of 100");
}

#[test]
fn growth_on_one_host_in_fifty_is_found_and_its_hosts_are_named() {
    // The size of the goal: 2 % of 1,000 hosts. Days differ by a factor of up to 6, so that not each host stands out by itself.
    let found = tested(&fleet(1, 1000, 20, 3.0));
    assert!(found.p < 1e-3, "{found:?}");
    let right = found.grown.iter().filter(|&&at| at < 20).count();
    assert!(right >= 8 && found.grown.len() - right <= 2, "{:?}", found.grown);
    assert!(found.ratio_of_grown.is_some_and(|ratio| (2.0..4.5).contains(&ratio)), "{found:?}");
}

#[test]
fn a_little_growth_everywhere_is_found_with_its_interval() {
    let found = tested(&fleet(2, 300, 300, 1.2));
    let (low, high) = found.interval.unwrap();
    assert!(found.p < 1e-4 && low < 1.2 && 1.2 < high && low > 1.1, "{found:?}");
}

#[test]
fn what_shrinks_does_not_grow() {
    assert!(tested(&fleet(3, 300, 300, 0.5)).p > 0.5);
}

#[test]
fn what_is_new_has_no_ratio() {
    let new = HostDays { host: "a".into(), before: vec![0.0; 7], after: vec![1.0; 7] };
    let found = tested(&vec![new; 30]);
    assert!(found.p < 1e-4 && found.ratio().is_infinite() && found.interval.is_none(), "{found:?}");
}

#[test]
fn hosts_without_it_and_hosts_of_one_period_count_in_rates_alone() {
    let one = HostDays { host: "a".into(), before: Vec::new(), after: vec![8.0; 2] };
    let found = growth(&[one], (2.0, 2.0), &mut RankTests::default());
    assert_eq!((found.p, found.rates), (1.0, (0.0, 4.0)));
}

#[test]
fn the_binomial_tail_is_that_of_r() {
    // pbinom(k - 1, n, p, lower.tail = FALSE)
    for (n, chance, k, expected) in [(10, 0.5, 5, 0.623_046_875), (1000, 0.01, 26, 1.558_67e-5), (3, 0.1, 0, 1.0)] {
        let found = binomial_upper_tail(n, chance, k);
        assert!((found / expected - 1.0).abs() < 1e-4, "{n} {chance} {k}: {found}");
    }
}

#[test]
fn many_days_are_few_periods() {
    assert_eq!(periods(&[1.0, 2.0]), [1.0, 2.0]);
    let many: Vec<f64> = (0..30).map(f64::from).collect();
    let found = periods(&many);
    assert_eq!(found.len(), 8);
    assert!((found[0] - 1.0).abs() < 1e-9, "{found:?}");
}
