//! Runs on several machines.

use simulate::random::Random;
use statistics::{Count, RankTests, RateRatio, StratifiedRatios};

use super::simulated::{count, percent};
use super::{figure, group, normal, one};
use crate::{Amount, Better, Fact, Group, RunFigures, Verdict};

/// Runs of one metric: machine and value.
fn runs(name: &str, values: &[(&str, f64)]) -> Group {
    let run = |&(machine, value): &(&str, f64)| RunFigures {
        metrics: vec![figure("write.p99", Better::Lower, Amount::Level(value))],
        facts: vec![Fact::new("kernel", if machine == "slow" { "6.1" } else { "6.12" }), Fact::new("machine", machine)],
        ..RunFigures::default()
    };
    group(name, values.iter().map(run).collect())
}

const SPREAD: [f64; 5] = [0.98, 1.03, 1.0, 0.97, 1.01];

fn on(machine: &'static str, level: f64) -> Vec<(&'static str, f64)> {
    SPREAD.iter().map(|factor| (machine, level * factor)).collect()
}

#[test]
fn runs_are_compared_within_machines() {
    let (a, b) = ([on("fast", 100.0), on("slow", 900.0)].concat(), [on("fast", 130.0), on("slow", 1170.0)].concat());
    let found = one(&runs("a", &a), &runs("b", &b));
    let metric = &found.metrics[0];
    assert_eq!(metric.verdict, Verdict::Worse);
    let (low, high) = metric.ratio.interval.unwrap();
    assert!((metric.ratio.ratio - 1.3).abs() < 1e-9 && 1.2 < low && high < 1.4, "{low} {high}");
    let machines: Vec<(&str, usize, usize)> =
        found.machines.iter().map(|machine| (machine.name.as_str(), machine.a, machine.b)).collect();
    assert_eq!(machines, [("fast", 5, 5), ("slow", 5, 5)]);
    assert_eq!((found.machines_differ_in.as_slice(), found.differences.len()), (["kernel".to_owned()].as_slice(), 0));
    assert!(found.cautions.iter().all(|caution| !caution.contains("machine")), "{:?}", found.cautions);
}

/// More runs of B on the slow machine: pooled, B would be three times as slow.
#[test]
fn uneven_numbers_of_runs_on_machines_are_no_effect() {
    let a = [on("fast", 100.0), on("slow", 900.0)[..1].to_vec(), on("fast", 100.0)].concat();
    let b = [on("fast", 100.0)[..2].to_vec(), on("slow", 900.0), on("slow", 900.0)].concat();
    let metric = &one(&runs("a", &a), &runs("b", &b)).metrics[0];
    assert!(metric.p > 0.3 && !metric.verdict.is_decided(), "{metric:?}");
    assert!((metric.ratio.ratio - 1.0).abs() < 0.03, "{:?}", metric.ratio);
}

#[test]
fn a_difference_on_one_machine_remains_a_difference() {
    let mut b = runs("b", &[on("fast", 100.0), on("slow", 900.0)].concat());
    b.runs[1].facts[0].value = "6.13".into();
    let a = runs("a", &[on("fast", 100.0), on("slow", 900.0)].concat());
    let found = one(&a, &b);
    let kernel = found.differences.iter().find(|difference| difference.what == "kernel").unwrap();
    assert_eq!((kernel.a.as_deref(), kernel.b.as_deref()), (Some("6.12"), Some("6.12 (4), 6.13 (1)")));
}

#[test]
fn machines_of_one_side_are_left_out_and_without_a_common_one_all_are_pooled() {
    let a = runs("a", &[on("fast", 100.0), on("old", 5000.0)].concat());
    let found = one(&a, &runs("b", &on("fast", 100.0)));
    assert_eq!(found.metrics[0].a.len(), 5);
    assert!(
        found.cautions[0].starts_with("5 runs are left out of every figure: machines (old) ran"),
        "{:?}",
        found.cautions
    );
    let apart = one(&runs("a", &on("fast", 100.0)), &runs("b", &on("slow", 900.0)));
    assert!(apart.machines.is_empty() && apart.differences.iter().any(|difference| difference.what == "machine"));
    assert_eq!(apart.metrics[0].verdict, Verdict::Worse);
}

/// As a sweep of as many parts as repetitions has them. Ranks within a machine would only be a sign; also of event
/// rates.
#[test]
fn one_run_a_side_on_each_machine_has_the_signed_rank_test() {
    let machines = ["a", "b", "c", "d", "e", "f", "g"];
    let side = |name: &str, ratio: f64| {
        let values = machines.iter().zip(1..).map(|(machine, n)| (*machine, ratio * f64::from(n * n) * 100.0));
        runs(name, &values.collect::<Vec<_>>())
    };
    let metric = &one(&side("a", 1.0), &side("b", 1.5)).metrics[0];
    assert!((metric.p - 2.0 / 128.0).abs() < 1e-12 && metric.verdict == Verdict::Worse, "{metric:?}");
    assert!((metric.ratio.ratio - 1.5).abs() < 1e-9, "{:?}", metric.ratio);
    let mut rates = [side("a", 1.0), side("b", 1.5)];
    for run in rates.iter_mut().flat_map(|group| &mut group.runs) {
        let Amount::Level(value) = run.metrics[0].amount else { unreachable!() };
        run.metrics[0].amount = Amount::Count { events: value / 100.0, over: 1.0 };
    }
    let rate = &one(&rates[0], &rates[1]).metrics[0];
    assert!((rate.p - metric.p).abs() < 1e-12 && (rate.ratio.ratio - 1.5).abs() < 1e-9, "{rate:?}");
    // All events over all time.
    assert!((rate.typical_a() - 20.0).abs() < 1e-9 && (rate.typical_b() - 30.0).abs() < 1e-9);
}

#[test]
fn opposite_changes_are_named() {
    let twice = |machine: &'static str, level: f64| [on(machine, level), on(machine, level * 1.001)].concat();
    let a = runs("a", &[twice("fast", 100.0), twice("slow", 900.0)].concat());
    let b = runs("b", &[twice("fast", 200.0), twice("slow", 450.0)].concat());
    let found = one(&a, &b);
    let caution = found.cautions.iter().find(|caution| caution.starts_with("machines disagree")).unwrap();
    assert!(caution.contains("write.p99 (x 0.50 on slow, x 2.00 on fast)"), "{caution}");
}

/// Machines with levels of their own, each with `runs` runs a side.
fn draw(random: &mut Random, machines: usize, runs: usize, ratio: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
    let machine = |random: &mut Random| {
        let level = (1.5 * normal(random)).exp();
        let mut side = |ratio: f64| (0..runs).map(|_| level * ratio * (0.1 * normal(random)).exp()).collect();
        (side(1.0), side(ratio))
    };
    (0..machines).map(|_| machine(random)).collect()
}

const TRIALS: usize = 2_000;

#[test]
fn the_interval_over_machines_holds_the_truth_and_the_test_is_wrong_in_5_percent_at_most() {
    let mut tests = RankTests::default();
    for (machines, runs) in [(2, 5), (3, 3), (6, 2), (10, 2)] {
        let mut random = Random::new(21);
        let (mut held, mut wrong) = (0, 0);
        for _ in 0..TRIALS {
            let strata = StratifiedRatios::of(&draw(&mut random, machines, runs, 0.8)).unwrap();
            let (low, high) = strata.ratio(0.95, &mut tests).interval.unwrap();
            held += usize::from(low <= 0.8 && 0.8 <= high);
            wrong += usize::from(StratifiedRatios::of(&draw(&mut random, machines, runs, 1.0)).unwrap().p() <= 0.05);
        }
        let (held, wrong) = (percent(held, TRIALS), percent(wrong, TRIALS));
        println!(
            "{machines} machines of {runs} runs a side: interval holds the truth in {held:.2} %, {wrong:.2} % wrong"
        );
        assert!((93.5..=98.0).contains(&held) && wrong <= 5.5, "{machines}, {runs}: {held} {wrong}");
    }
}

#[test]
fn intervals_of_rate_ratios_over_machines_hold_the_truth() {
    for (machines, runs) in [(2, 5), (3, 3), (6, 2), (5, 3)] {
        for (a, b) in [(14.0, 14.0), (14.0, 5.0)] {
            for dispersion in [0.0, 0.2, 1.0] {
                let mut random = Random::new(22);
                let mut held = 0;
                for _ in 0..TRIALS {
                    let machine = |_| {
                        let level = (0.7 * normal(&mut random)).exp();
                        let mut side = |mean: f64| -> Vec<Count> {
                            (0..runs)
                                .map(|_| Count { events: count(&mut random, mean * level, dispersion), over: 1.0 })
                                .collect()
                        };
                        (side(a), side(b))
                    };
                    let strata: Vec<_> = (0..machines).map(machine).collect();
                    let (low, high) = RateRatio::of_strata(&strata).unwrap().ratio(0.95).interval.unwrap();
                    held += usize::from(low <= b / a && b / a <= high);
                }
                let held = percent(held, TRIALS);
                println!(
                    "{machines} machines of {runs} runs, {a} to {b}, dispersion {dispersion}: holds the truth in \
                     {held:.2} %"
                );
                assert!((92.5..=98.5).contains(&held), "{machines}, {runs}, {a} to {b}, {dispersion}: {held} %");
            }
        }
    }
}
