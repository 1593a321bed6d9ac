//! Whole comparisons, and simulated runs whose truth is known. The rates that these tests measure are printed; see them
//! with `cargo test -p compare -- --nocapture`.

use model::run::Varied;
use simulate::random::Random;

use super::{Amount, Better, Comparison, Fact, Figure, Group, Options, RunFigures, StallFigure, Verdict, compare};

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

/// Runs with one metric, of which less is better.
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
fn the_documents_figures_as_ten_runs_each() {
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

#[test]
fn the_same_runs_twice_are_equivalent_and_four_runs_are_not_enough() {
    let values: Vec<f64> = (0..10).map(|n| 1000.0 + f64::from(n)).collect();
    let a = levels("a", &values);
    assert_eq!(one(&a, &a).metrics[0].verdict, Verdict::Equivalent);
    let few = levels("b", &values[..4]);
    let found = one(&few, &few);
    assert_eq!((found.metrics[0].verdict, found.metrics[0].need_runs), (Verdict::NotEnoughData, Some(1)));
    assert!(found.cautions[0].contains("with 4 runs"), "{:?}", found.cautions);
}

#[test]
fn a_difference_within_the_measured_noise_is_none() {
    let spread = [0.95, 1.05, 1.0, 0.96, 1.04, 1.06, 0.97, 1.02, 0.98, 1.01];
    let (a, b) = (levels("a", &spread.map(|x| 100.0 * x)), levels("b", &spread.map(|x| 103.0 * x)));
    assert_eq!(one(&a, &b).metrics[0].verdict, Verdict::NotEnoughData);
    // The same noise again, from A itself: its interval reaches as far.
    let again = levels("again", &spread.map(|x| 103.0 * x));
    let options = Options { again: Some(&again), margin: 0.05 };
    let found = compare(&a, &[&b], options).remove(0);
    assert!((0.06..0.1).contains(&found.metrics[0].margin), "{}", found.metrics[0].margin);
    assert_eq!(found.metrics[0].verdict, Verdict::Equivalent);
}

#[test]
fn what_is_lost_in_great_noise_is_not_the_same() {
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
fn stalls_by_cause_and_a_cause_that_did_not_occur_is_none_of_it() {
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
fn runs_that_were_not_traced_have_no_stalls_rather_than_none() {
    let mut a: Vec<RunFigures> = [14, 12, 15, 13, 16].map(traced).to_vec();
    let b = group("b", [14, 12, 15, 13, 16].map(traced).to_vec());
    a[0].stalls = None;
    let found = one(&group("a", a), &b);
    let count = found.stalls[0].count.as_ref().unwrap();
    assert_eq!((count.a.len(), count.b.len(), count.verdict), (4, 5, Verdict::NotEnoughData));
}

fn with_facts(facts: &[(&str, &str)]) -> RunFigures {
    let fact = |&(what, value): &(&str, &str)| Fact { what: what.to_owned(), value: value.to_owned() };
    RunFigures { facts: facts.iter().map(fact).collect(), ..RunFigures::default() }
}

#[test]
fn what_differs_comes_in_the_order_of_its_weight_and_what_is_tested_after_it() {
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

/// A side of a sweep whose axis `disk` was over that kind of thing.
fn swept(value: &str, vary: &str, key: &str, facts: &[&[(&str, &str)]]) -> Group {
    let varied =
        Varied { name: "disk".into(), vary: vary.into(), key: key.into(), followers: vec!["file_size".into()] };
    let runs = facts.iter().map(|facts| with_facts(facts)).collect();
    let settings = [("disk".to_owned(), value.to_owned())].into();
    Group { name: value.to_owned(), settings, varied: vec![varied], runs }
}

fn differing(a: &Group, b: &Group) -> Vec<(String, bool, Option<String>)> {
    one(a, b).differences.into_iter().map(|one| (one.what, one.intended, one.follows)).collect()
}

#[test]
fn what_follows_from_the_axis_is_meant_to_differ() {
    const LIMIT: &str = "disk limit, bytes/s";
    let facts = |limit, size, options| {
        [(LIMIT, limit), ("mount options", options), ("variable file_size", size), ("CPUs", "4")]
    };
    let (few, many) = (facts("20 MiB", "100", "rw"), facts("16 MiB", "80", "rw,noatime"));
    let a = swept("20m", "option", "disk-bps", &[&few, &few]);
    let b = swept("16m", "option", "disk-bps", &[&many, &many]);
    let follows = || Some("disk".to_owned());
    let expected = [
        ("mount options".to_owned(), false, None),
        ("disk".to_owned(), true, None),
        (LIMIT.to_owned(), true, follows()),
        ("variable file_size".to_owned(), true, follows()),
    ];
    assert_eq!(differing(&a, &b), expected);

    // A limit that was not in force in all runs of a side follows from nothing.
    let b = swept("16m", "option", "disk-bps", &[&many, &few]);
    let told = differing(&a, &b);
    assert!(told.contains(&(LIMIT.to_owned(), false, None)), "{told:?}");
    // The axis explains nothing where both sides have the same of it.
    let b = swept("20m", "option", "disk-bps", &[&many, &many]);
    assert!(differing(&a, &b).iter().all(|(_, intended, _)| !intended));
}

#[test]
fn a_condition_that_shows_the_same_values_by_chance_is_told() {
    let a = swept("2", "variable", "threads", &[&[("variable threads", "2"), ("CPUs", "2")]]);
    let b = swept("4", "variable", "threads", &[&[("variable threads", "4"), ("CPUs", "4")]]);
    assert_eq!(differing(&a, &b), [("CPUs".to_owned(), false, None), ("disk".to_owned(), true, None)]);
}

#[test]
fn what_another_tool_does_not_tell_is_one_line() {
    let ours = group("a", vec![with_facts(&[("workload", "fsmark"), ("kernel", "6.18"), ("stallscope", "0.1")])]);
    let other = group("b", vec![with_facts(&[("workload", "fs_mark"), ("sync method", "none")])]);
    let shown: Vec<(String, Option<String>, Option<String>)> =
        one(&ours, &other).differences.into_iter().map(|one| (one.what, one.a, one.b)).collect();
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        ("workload".to_owned(), some("fsmark"), some("fs_mark")),
        ("conditions that the other side's tool does not tell".to_owned(), some("2"), some("1")),
    ];
    assert_eq!(shown, expected);
    // Of runs of our own an unknown condition is one that differs.
    let lacking = group("c", vec![with_facts(&[("workload", "fsmark"), ("stallscope", "0.1")])]);
    assert!(one(&ours, &lacking).differences.iter().any(|one| one.what == "kernel"));
}

#[test]
fn what_is_waited_for_at_the_end_makes_no_other_measured_time() {
    let told = |a_ms: &[u64], b_ms: &[u64]| {
        let side = |ms: &[u64]| {
            let run = |ms: &u64| RunFigures { measured_ns: Some(ms * 1_000_000), ..RunFigures::default() };
            group("x", ms.iter().map(run).collect())
        };
        one(&side(a_ms), &side(b_ms)).differences.iter().any(|one| one.what == "measured time")
    };
    assert!(!told(&[500, 530], &[540, 590]));
    assert!(!told(&[60_000, 60_000], &[62_000, 60_000]));
    assert!(told(&[500, 500], &[500, 700]));
    assert!(told(&[60_000, 60_000], &[64_000, 60_000]));
}

#[test]
fn runs_made_one_side_after_the_other_are_told() {
    let at = |times: &[u64]| {
        let run = |&time| RunFigures { started_wall_ns: Some(time), ..RunFigures::default() };
        group("x", times.iter().map(run).collect())
    };
    let told = |a: &[u64], b: &[u64]| one(&at(a), &at(b)).cautions.iter().any(|caution| caution.contains("alternate"));
    assert!(told(&[1, 2, 3], &[4, 5, 6]));
    assert!(!told(&[1, 4, 5], &[2, 3, 6]));
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
