use compare::{Amount, Better, Comparison, Fact, Figure, Group, Options, RunFigures, StallFigure, compare};

use super::{benchstat, csv, many, markdown, mmtests, svg, text};
use crate::style::Style;

const FACTORS: [f64; 10] = [0.98, 1.03, 1.0, 0.97, 1.01, 1.04, 0.99, 1.02, 0.96, 1.005];

fn run(kernel: &str, factor: f64, work: f64, stalls: u64) -> RunFigures {
    let figure = |name: &str, unit: &str, better, value: f64| Figure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        amount: Amount::Level(value * factor),
    };
    RunFigures {
        name: "run".into(),
        measured_ns: Some(60_000_000_000),
        metrics: vec![
            figure("work_per_s", "/s", Better::Higher, work),
            figure("write.p99", "ns", Better::Lower, 37_158_912.0),
            figure("bytes_per_s", "bytes/s", Better::Higher, 1048576.0 * work),
        ],
        counters: vec![figure("vmstat.pgscan_direct", "pages/round", Better::Neither, 1000.0 / work)],
        stalls: Some(vec![StallFigure { cause: "direct_reclaim", operations: stalls, time_ns: stalls * 70_000_000 }]),
        facts: vec![Fact::new("kernel", kernel)],
        ..RunFigures::default()
    }
}

fn side(name: &str, kernel: &str, work: f64, stalls: [u64; 10]) -> Group {
    let runs = FACTORS.iter().zip(stalls).map(|(factor, stalls)| run(kernel, *factor, work, stalls)).collect();
    Group { name: name.to_owned(), runs, ..Group::default() }
}

/// As a sweep over two settings names its configurations.
fn with_long_names() -> Vec<Comparison> {
    let none = [14, 12, 15, 13, 16, 14, 13, 15, 12, 18];
    let a = side("file system=xfs scheduler=none memory=512m", "6.18", 8.77, none);
    let b = side("file system=xfs scheduler=mq-deadline memory=512m", "6.18", 11.16, none);
    let c = side("file system=xfs scheduler=bfq memory=512m", "6.18", 7.16, none);
    compare(&a, &[&b, &c], Options::default())
}

fn found() -> Vec<Comparison> {
    let a = side("v4.8", "4.8.0", 8.77, [14, 12, 15, 13, 16, 14, 13, 15, 12, 18]);
    let b = side("patched|<b>", "4.8.0-patched", 11.16, [3, 4, 2, 0, 3, 5, 3, 4, 2, 5]);
    compare(&a, &[&b], Options::default())
}

#[test]
fn one_screen() {
    insta::assert_snapshot!(text(&found()[0], false, Style::PLAIN));
}

/// A mail has 78 columns, whatever sides and metrics are called.
#[test]
fn a_text_fits_a_mail() {
    for comparison in [found(), with_long_names()].concat() {
        for all in [false, true] {
            let shown = text(&comparison, all, Style::PLAIN);
            assert!(shown.lines().all(|line| line.chars().count() <= 78), "{shown}");
            assert!(shown.contains("10+10"), "{shown}");
        }
    }
}

/// The same sides on two machines, of which one is ten times as slow.
#[test]
fn machines_are_named_in_the_texts_and_in_json() {
    let on_machines = |name: &str, work: f64| {
        let mut group = side(name, "6.12", work, [10; 10]);
        for (at, run) in group.runs.iter_mut().enumerate() {
            let (machine, kernel) = if at % 2 == 0 { ("db-1", "6.1") } else { ("db-2<b>", "6.12") };
            run.facts = vec![Fact::new("kernel", kernel), Fact::new("machine", machine)];
        }
        group
    };
    let found = compare(&on_machines("a", 9.0), &[&on_machines("b", 11.0)], Options::default());
    let sentence =
        "runs of A and B are compared within 2 machines, db-1 (5 and 5), db-2<b> (5 and 5), which differ in kernel";
    let in_one_line = text(&found[0], false, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains(sentence), "{in_one_line}");
    let overview = many("a", &found, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(overview.contains(sentence), "{overview}");
    assert!(markdown(&found).contains(&format!("- {}", sentence.replace('<', "&lt;"))));
    let document = crate::json::comparison(&found[0]);
    assert_eq!(document["machines"][1], serde_json::json!({"name": "db-2<b>", "a_runs": 5, "b_runs": 5}));
    assert_eq!(document["machines_differ_in"], serde_json::json!(["kernel"]));
    assert_eq!(document["metrics"][0]["by_machine"].as_array().unwrap().len(), 2);
}

#[test]
fn long_names_are_short_in_headings() {
    let found = with_long_names();
    insta::assert_snapshot!(text(&found[0], false, Style::PLAIN));
    insta::assert_snapshot!(mmtests(&found));
    let chart = svg(&found);
    assert!(chart.contains(">scheduler=bfq</text>") && !chart.contains("memory"), "{chart}");
}

#[test]
fn many_begin_with_an_overview() {
    insta::assert_snapshot!(many("v4.8", &[found(), found()].concat(), Style::PLAIN));
}

/// Also with more metrics than fit, and with long names, which are written out once.
#[test]
fn many_fit_a_mail() {
    let with = |name: &str, metrics: &[&str]| {
        let mut group = side(name, "6.18", if name == "baseline" { 9.0 } else { 18.0 }, [3; 10]);
        for run in &mut group.runs {
            let first = run.metrics[0].clone();
            run.metrics.extend(metrics.iter().map(|name| Figure { name: (*name).to_owned(), ..first.clone() }));
        }
        group
    };
    let metrics = ["a_rather_long_metric.p99", "another_long_metric.p999", "files_per_s"];
    let names = ["file system=xfs scheduler=mq-deadline memory=512m", "file system=xfs scheduler=bfq memory=512m"];
    let (a, b) = (with("baseline", &metrics), names.map(|name| with(name, &metrics)));
    let found = compare(&a, &[&b[0], &b[1]], Options::default());
    let shown = many("baseline", &found, Style::PLAIN);
    assert!(shown.lines().all(|line| line.chars().count() <= 78), "{shown}");
    let in_one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(names.iter().all(|name| in_one_line.contains(name)), "{shown}");
    assert_eq!(shown.matches("a_rather_long_metric.p99").count(), 1, "{shown}");
    let rows = shown.lines().filter(|line| line.starts_with("  scheduler=bfq ")).count();
    assert_eq!(rows, 4, "three parts, and the largest difference: {shown}");
}

#[test]
fn markdown_for_an_issue() {
    insta::assert_snapshot!(markdown(&found()));
}

#[test]
fn csv_for_a_spreadsheet() {
    insta::assert_snapshot!(csv(&found()));
}

/// benchstat reads this; see docs/COMPARE.md.
#[test]
fn lines_that_benchstat_reads() {
    let shown = benchstat(&found());
    assert!(shown.starts_with("Unit B/s better=higher\nUnit ops/s better=higher\nBenchmark"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("BenchmarkWrite.p99/side=v4.8 1 ")).count(), 10, "{shown}");
    let odd = |line: &&str| line.starts_with("Benchmark") && line.split(' ').count() != 4;
    assert_eq!(shown.lines().find(odd), None);
}

#[test]
fn a_name_that_ends_in_a_number_is_no_number_of_threads() {
    let mut found = found();
    found[0].b.0 = "queue-16".to_owned();
    let shown = benchstat(&found);
    assert!(shown.contains("/side=queue-16-1 1 "), "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("Benchmark") && !line.contains("-1 1 ")), "{shown}");
}

#[test]
fn the_form_of_mmtests() {
    insta::assert_snapshot!(mmtests(&found()));
}

/// A sweep's configurations do not fit on one line.
#[test]
fn the_charts_legend_stays_within_the_chart() {
    let names: Vec<String> = (0..12).map(|at| format!("fs=xfs threads={at} memory={at}00m")).collect();
    let stalls = [1; 10];
    let sides: Vec<Group> = names.iter().map(|name| side(name, "6.18", 8.0, stalls)).collect();
    let shown = svg(&compare(&sides[0], &sides[1..].iter().collect::<Vec<_>>(), Options::default()));
    let circles: Vec<&str> = shown.lines().filter(|line| line.contains("r=\"4\"")).collect();
    let number = |line: &str, name: &str| -> f64 {
        line.split_once(&format!("{name}=\"")).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
    };
    assert_eq!(circles.len(), 12);
    assert!(circles.iter().all(|line| number(line, "cx") < 1000.0), "{circles:?}");
    assert!(number(circles[11], "cy") > number(circles[0], "cy"));
    let lane = shown.lines().find(|line| line.contains("fill-opacity")).unwrap();
    assert!(number(lane, "cy") > number(circles[11], "cy") + 20.0, "the first lane lies below the legend");
}

#[test]
fn the_chart_has_a_point_for_each_run_and_hides_no_markup() {
    let shown = svg(&found());
    assert_eq!(shown.matches("fill-opacity=\"0.6\"").count(), 3 * 20);
    assert!(shown.contains("patched|&lt;b&gt;") && !shown.contains("<b>"), "{shown}");
    assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
}
