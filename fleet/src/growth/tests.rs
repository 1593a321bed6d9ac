//! Growth that is there is found, everywhere or on few hosts, and noise is not.

use statistics::Strata;

use super::{Growth, HostDays, growth, stretches};
use statistics::SplitMix64;

mod power;

/// Hosts with days of noise, of which some grow by a factor.
fn fleet(seed: u64, hosts: usize, grown: usize, factor: f64) -> Vec<HostDays> {
    of_days(seed, hosts, (7, 7), |random, at, is_after| {
        (0.2 + random.unit()) * if is_after && at < grown { factor } else { 1.0 }
    })
}

/// Hosts with so many days on each side, each as the function gives it for a host and a side.
fn of_days(
    seed: u64,
    hosts: usize,
    days: (usize, usize),
    day: impl Fn(&mut SplitMix64, usize, bool) -> f64,
) -> Vec<HostDays> {
    let mut random = SplitMix64::of(seed);
    let of = |at: usize| HostDays {
        host: at.to_string(),
        before: (0..days.0).map(|_| day(&mut random, at, false)).collect(),
        after: (0..days.1).map(|_| day(&mut random, at, true)).collect(),
    };
    (0..hosts).map(of).collect()
}

fn tested(hosts: &[HostDays]) -> Growth {
    growth(hosts, (0.0, 0.0), &mut Strata::default())
}

#[test]
fn noise_is_no_growth() {
    let false_ones = (0..100).filter(|&seed| tested(&fleet(seed, 200, 0, 1.0)).p <= 0.05).count();
    assert!(false_ones <= 10, "{false_ones} of 100");
}

/// Means of few skewed days are more skewed than means of many: hosts' ratios of means lie to one side.
#[test]
fn skewed_noise_in_periods_of_different_lengths_is_no_growth() {
    for days in [(3, 20), (20, 3), (8, 30), (30, 8), (1, 5), (60, 2)] {
        let skewed = |random: &mut SplitMix64, _: usize, _: bool| (1.5 * random.normal()).exp();
        let found = (0..20).filter(|&seed| tested(&of_days(seed, 500, days, skewed)).p <= 0.05).count();
        assert!(found <= 3, "{days:?}: {found} of 20");
    }
}

/// Rare stalls: most days have none.
#[test]
fn days_without_stalls_are_ties_and_no_growth() {
    for days in [(7, 7), (20, 3), (3, 20)] {
        let rare = |random: &mut SplitMix64, _: usize, _: bool| if random.unit() < 0.1 { random.unit() } else { 0.0 };
        let found = (0..20).filter(|&seed| tested(&of_days(seed, 500, days, rare)).p <= 0.05).count();
        assert!(found <= 3, "{days:?}: {found} of 20");
    }
}

#[test]
fn growth_on_one_host_in_fifty_is_found_and_its_hosts_are_named() {
    // Days differ by a factor of up to 6, so that not each host is significant alone.
    for (hosts, grown, expected) in [(1000, 20, 1e-6), (500, 10, 1e-3)] {
        let found = tested(&fleet(1, hosts, grown, 3.0));
        assert!(found.p < expected, "{found:?}");
        let right = found.grown.iter().filter(|&&at| at < grown).count();
        assert!(found.grown.len() - right <= 2, "{:?}", found.grown);
        assert!(found.grown.is_empty() || found.ratio_of_grown.is_some_and(|ratio| (2.0..4.5).contains(&ratio)));
    }
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
    assert!(found.p < 1e-4 && found.rates.0 == 0.0 && found.interval.is_none(), "{found:?}");
}

#[test]
fn hosts_without_it_and_hosts_of_one_period_count_in_rates_alone() {
    let one = HostDays { host: "a".into(), before: Vec::new(), after: vec![8.0; 2] };
    let found = growth(&[one], (2.0, 2.0), &mut Strata::default());
    assert_eq!((found.p, found.rates), (1.0, (0.0, 4.0)));
}

#[test]
fn many_days_are_few_stretches_of_one_length() {
    assert_eq!(stretches(&[1.0, 2.0], 1), [1.0, 2.0]);
    assert_eq!(stretches(&[9.0, 1.0, 2.0, 3.0, 4.0], 2), [3.0, 7.0]);
    assert!(stretches(&[1.0], 2).is_empty());
}
