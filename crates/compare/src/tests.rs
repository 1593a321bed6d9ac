//! Whole comparisons, and simulated runs with known truth. The tests print the rates that they measure: run
//! `cargo test -p compare -- --nocapture`.

use model::run::Varied;
use simulate::random::Random;

use super::{Amount, Better, Comparison, Fact, Figure, Group, Options, RunFigures, StallFigure, Verdict, compare};

mod machines;
mod simulated;

/// A standard normal number (Box, Muller 1958).
pub(super) fn normal(random: &mut Random) -> f64 {
    let uniform = |random: &mut Random| ((random.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn figure(name: &str, better: Better, amount: Amount) -> Figure {
    Figure { name: name.to_owned(), unit: "ns".to_owned(), better, amount }
}

fn group(name: &str, runs: Vec<RunFigures>) -> Group {
    Group { name: name.to_owned(), runs, ..Group::default() }
}

/// Runs with one metric; less is better.
fn levels(name: &str, values: &[f64]) -> Group {
    let run = |&value: &f64| RunFigures {
        metrics: vec![figure("write.p99", Better::Lower, Amount::Level(value))],
        ..RunFigures::default()
    };
    group(name, values.iter().map(run).collect())
}

fn one(a: &Group, b: &Group) -> Comparison {
    compare(a, &[b], Options::default()).remove(0)
}

#[test]
fn ten_runs_each_around_known_figures() {
    let spread = [0.98, 1.03, 1.0, 0.97, 1.01, 1.04, 0.99, 1.02, 0.96, 1.005];
    let a = levels("a", &spread.map(|factor| 37_158_912.0 * factor));
    let b = levels("b", &spread.map(|factor| 29_851_648.0 * factor));
    let found = one(&a, &b);
    let metric = &found.metrics[0];
    assert_eq!((metric.verdict, metric.need_runs), (Verdict::Better, None));
    assert!((metric.ratio.ratio - 0.8034).abs() < 0.001, "{:?}", metric.ratio);
    let (low, high) = metric.ratio.interval.unwrap();
    assert!(0.77 < low && low < 0.8034 && 0.8034 < high && high < 0.84, "{low} {high}");
    assert!((metric.p - 1.0825e-5).abs() < 1e-8, "{}", metric.p);
}

/// The lock was never released: the run that hangs has one wait, and the other one a thousand.
#[test]
fn a_side_that_hangs_is_not_better() {
    let runs = |name: &str, stalled: u64, unfinished_ns: Option<u64>| {
        let run = |nth: u64| RunFigures {
            measured_ns: Some(60_000_000_000),
            stalls: Some(vec![StallFigure {
                cause: "lock",
                operations: stalled + nth,
                time_ns: (stalled + nth) * 1_000_000,
            }]),
            unfinished_ns,
            ..RunFigures::default()
        };
        group(name, (0..8).map(run).collect())
    };
    let (busy, hung) = (runs("a", 1000, None), runs("b", 1, Some(50_000_000_000)));
    assert_eq!(one(&busy, &hung).stalls[0].verdict(), Verdict::Unfinished);
    assert_eq!(one(&hung, &busy).stalls[0].verdict(), Verdict::Unfinished);
    // An operation in flight when the recording ended says nothing.
    assert_eq!(one(&busy, &runs("b", 1, Some(50_000_000))).stalls[0].verdict(), Verdict::Better);
    // What is worse all the same is worse.
    assert_eq!(one(&busy, &runs("b", 9000, Some(50_000_000_000))).stalls[0].verdict(), Verdict::Worse);
}

#[test]
fn metrics_that_some_runs_lack_are_named() {
    let (all, mut some) = (levels("a", &[1.0, 2.0, 3.0]), levels("b", &[1.0, 2.0, 3.0]));
    some.runs[1].metrics.clear();
    let is_named =
        |found: &Comparison| found.cautions.iter().any(|caution| caution.contains("write.p99 (3 of 3, 2 of 3)"));
    assert!(is_named(&one(&all, &some)) && !is_named(&one(&all, &all)));
}

#[test]
fn equal_runs_are_equivalent_and_four_runs_are_not_enough() {
    let values: Vec<f64> = (0..10).map(|n| 1000.0 + f64::from(n)).collect();
    let a = levels("a", &values);
    assert_eq!(one(&a, &a).metrics[0].verdict, Verdict::Equivalent);
    let few = levels("b", &values[..4]);
    let found = one(&few, &few);
    assert_eq!((found.metrics[0].verdict, found.metrics[0].need_runs), (Verdict::NotEnoughData, Some(1)));
    assert!(found.cautions[0].contains("too few runs for a verdict (4 per side)"), "{:?}", found.cautions);
}

#[test]
fn a_difference_within_the_measured_noise_is_none() {
    let spread = [0.95, 1.05, 1.0, 0.96, 1.04, 1.06, 0.97, 1.02, 0.98, 1.01];
    let (a, b) = (levels("a", &spread.map(|x| 100.0 * x)), levels("b", &spread.map(|x| 103.0 * x)));
    assert_eq!(one(&a, &b).metrics[0].verdict, Verdict::NotEnoughData);
    // The same noise from A itself: its interval extends as far.
    let again = levels("again", &spread.map(|x| 103.0 * x));
    let options = Options { again: Some(&again), margin: 0.05 };
    let found = compare(&a, &[&b], options).remove(0);
    assert!((0.06..0.1).contains(&found.metrics[0].margin), "{}", found.metrics[0].margin);
    assert_eq!(found.metrics[0].verdict, Verdict::Equivalent);
}

#[test]
fn a_difference_hidden_by_large_noise_is_not_equivalence() {
    let spread = [0.50, 1.92, 1.0, 0.65, 1.55, 1.7, 0.6, 1.4, 0.75, 1.25];
    let [a, again, b] = [100.0, 103.0, 125.0].map(|level| levels("x", &spread.map(|x| level * x)));
    let found = compare(&a, &[&b], Options { again: Some(&again), margin: 0.05 }).remove(0);
    assert_eq!((found.metrics[0].margin, found.metrics[0].verdict), (0.1, Verdict::NotEnoughData));
}

fn traced(operations: u64) -> RunFigures {
    let stall = StallFigure { cause: "direct_reclaim", operations, time_ns: operations * 1_000_000 };
    RunFigures {
        measured_ns: Some(60_000_000_000),
        stalls: Some(if operations > 0 { vec![stall] } else { Vec::new() }),
        ..RunFigures::default()
    }
}

#[test]
fn stalls_by_cause_with_missing_causes_as_zero() {
    let a = group("a", [14, 12, 15, 13, 16, 14, 13, 15, 12, 18].map(traced).to_vec());
    let b = group("b", [3, 4, 2, 0, 3, 5, 3, 4, 2, 5].map(traced).to_vec());
    let stalls = &one(&a, &b).stalls[0];
    assert_eq!(stalls.cause, "direct_reclaim");
    assert!((stalls.per_run.0 - 14.2).abs() < 1e-9 && (stalls.per_run.1 - 3.1).abs() < 1e-9, "{:?}", stalls.per_run);
    let count = stalls.count.as_ref().unwrap();
    assert_eq!((count.verdict, stalls.time.verdict), (Verdict::Better, Verdict::Better));
    let (low, high) = count.ratio.interval.unwrap();
    assert!(low < 3.1 / 14.2 && 3.1 / 14.2 < high && high < 0.4, "{low} {high}");
}

#[test]
fn untraced_runs_have_unknown_stalls_not_zero() {
    let mut a: Vec<RunFigures> = [14, 12, 15, 13, 16].map(traced).to_vec();
    let b = group("b", [14, 12, 15, 13, 16].map(traced).to_vec());
    a[0].stalls = None;
    let found = one(&group("a", a), &b);
    let count = found.stalls[0].count.as_ref().unwrap();
    assert_eq!((count.a.len(), count.b.len(), count.verdict), (4, 5, Verdict::NotEnoughData));
}

fn with_facts(facts: &[(&str, &str)]) -> RunFigures {
    let fact = |&(what, value): &(&str, &str)| Fact::new(what, value);
    RunFigures { facts: facts.iter().map(fact).collect(), ..RunFigures::default() }
}

#[test]
fn differences_come_by_importance_before_settings_under_test() {
    let run = |kernel, scheduler, queue| {
        with_facts(&[("kernel", kernel), ("scheduler of data", scheduler), ("queue", queue), ("same", "x")])
    };
    let mut a = group("a", vec![run("6.18", "none", "1"), run("6.18", "none", "1")]);
    let mut b = group("b", vec![run("6.19", "bfq", "2"), run("6.18", "bfq", "2")]);
    a.settings.insert("scheduler".into(), "none".into());
    b.settings.insert("scheduler".into(), "bfq".into());
    let shown: Vec<String> = one(&a, &b)
        .differences
        .iter()
        .map(|one| format!("{}: {:?} {:?} {}", one.what, one.a, one.b, one.intended))
        .collect();
    assert_eq!(
        shown,
        [
            r#"kernel: Some("6.18") Some("6.18 (1), 6.19 (1)") false"#,
            r#"queue: Some("1") Some("2") false"#,
            r#"scheduler: Some("none") Some("bfq") true"#,
        ]
    );
}

/// A side of a sweep whose axis `disk` varies that setting.
fn swept(value: &str, vary: &str, key: &str, facts: &[&[(&str, &str)]]) -> Group {
    let varied =
        Varied { name: "disk".into(), vary: vary.into(), key: key.into(), followers: vec!["file_size".into()] };
    let runs = facts.iter().map(|facts| with_facts(facts)).collect();
    let settings = [("disk".to_owned(), value.to_owned())].into();
    Group { name: value.to_owned(), settings, varied: vec![varied], runs }
}

fn differing(a: &Group, b: &Group) -> Vec<(String, bool, Option<String>)> {
    one(a, b).differences.into_iter().map(|found| (found.what, found.intended, found.implied_by)).collect()
}

#[test]
fn changes_implied_by_the_axis_are_intended() {
    const LIMIT: &str = "disk limit, bytes/s";
    let facts = |limit, size, options| {
        [(LIMIT, limit), ("mount options", options), ("variable file_size", size), ("CPUs", "4")]
    };
    let (few, many) = (facts("20 MiB", "100", "rw"), facts("16 MiB", "80", "rw,noatime"));
    let a = swept("20m", "option", "disk-bps", &[&few, &few]);
    let b = swept("16m", "option", "disk-bps", &[&many, &many]);
    let implied_by = || Some("disk".to_owned());
    let expected = [
        ("mount options".to_owned(), false, None),
        ("disk".to_owned(), true, None),
        (LIMIT.to_owned(), true, implied_by()),
        ("variable file_size".to_owned(), true, implied_by()),
    ];
    assert_eq!(differing(&a, &b), expected);

    // A limit that was not in force in all runs of a side is implied by nothing.
    let b = swept("16m", "option", "disk-bps", &[&many, &few]);
    let found = differing(&a, &b);
    assert!(found.contains(&(LIMIT.to_owned(), false, None)), "{found:?}");
    // The axis implies nothing where both sides have the same value.
    let b = swept("20m", "option", "disk-bps", &[&many, &many]);
    assert!(differing(&a, &b).iter().all(|(_, intended, _)| !intended));
}

#[test]
fn a_condition_with_the_same_values_by_chance_is_listed() {
    let a = swept("2", "variable", "threads", &[&[("variable threads", "2"), ("CPUs", "2")]]);
    let b = swept("4", "variable", "threads", &[&[("variable threads", "4"), ("CPUs", "4")]]);
    assert_eq!(differing(&a, &b), [("CPUs".to_owned(), false, None), ("disk".to_owned(), true, None)]);
}

#[test]
fn conditions_unknown_to_another_tool_are_one_line() {
    let ours = group("a", vec![with_facts(&[("workload", "fsmark"), ("kernel", "6.18"), ("stallscope", "0.1")])]);
    let other = group("b", vec![with_facts(&[("workload", "fs_mark"), ("sync method", "none")])]);
    let shown: Vec<(String, Option<String>, Option<String>)> =
        one(&ours, &other).differences.into_iter().map(|one| (one.what, one.a, one.b)).collect();
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        ("workload".to_owned(), some("fsmark"), some("fs_mark")),
        ("conditions that the other side's tool does not record".to_owned(), some("2"), some("1")),
    ];
    assert_eq!(shown, expected);
    // Among recorded runs an unknown condition is a difference.
    let lacking = group("c", vec![with_facts(&[("workload", "fsmark"), ("stallscope", "0.1")])]);
    assert!(one(&ours, &lacking).differences.iter().any(|one| one.what == "kernel"));
}

#[test]
fn the_final_wait_for_io_does_not_change_the_measured_time() {
    let differs = |a_ms: &[u64], b_ms: &[u64]| {
        let side = |ms: &[u64]| {
            let run = |ms: &u64| RunFigures { measured_ns: Some(ms * 1_000_000), ..RunFigures::default() };
            group("x", ms.iter().map(run).collect())
        };
        one(&side(a_ms), &side(b_ms)).differences.iter().any(|one| one.what == "measured time")
    };
    assert!(!differs(&[500, 530], &[540, 590]));
    assert!(!differs(&[60_000, 60_000], &[62_000, 60_000]));
    assert!(differs(&[500, 500], &[500, 700]));
    assert!(differs(&[60_000, 60_000], &[64_000, 60_000]));
}

#[test]
fn runs_of_one_side_after_the_other_are_cautioned() {
    let at = |times: &[u64]| {
        let run = |&time| RunFigures { started_wall_ns: Some(time), ..RunFigures::default() };
        group("x", times.iter().map(run).collect())
    };
    let cautioned =
        |a: &[u64], b: &[u64]| one(&at(a), &at(b)).cautions.iter().any(|caution| caution.contains("alternate"));
    assert!(cautioned(&[1, 2, 3], &[4, 5, 6]));
    assert!(!cautioned(&[1, 4, 5], &[2, 3, 6]));
}

#[test]
fn the_correction_is_over_all_metrics_of_all_configurations() {
    let spread: [f64; 10] = [0.98, 1.03, 1.0, 0.97, 1.01, 1.04, 0.99, 1.02, 0.96, 1.005];
    let base = levels("a", &spread.map(|x| 100.0 * x));
    let configurations: Vec<Group> =
        (0..20).map(|n| levels(&n.to_string(), &spread.map(|x| (100.0 + 10.0 * f64::from(n == 0)) * x))).collect();
    let found = compare(&base, &configurations.iter().collect::<Vec<_>>(), Options::default());
    let first = &found[0].metrics[0];
    assert!((first.q / first.p - 20.0).abs() < 1e-9, "{} {}", first.p, first.q);
    assert_eq!(first.verdict, Verdict::Worse);
    assert!(found[1..].iter().all(|one| one.metrics[0].verdict == Verdict::Equivalent));
}
