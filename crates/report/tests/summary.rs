//! A whole summary as text, as JSON and as simoop's lines, from rows made by hand.

use explain::series::SeriesSet;
use explain::summary::{RecordingFacts, Summary, SummaryBuilder};
use model::event::{Ending, RunEvent};
use model::latency::index_of;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::{Host, Limits, RecipeAsRun, RunDescription};
use model::time::Moment;
use report::style::Style;

const SECOND: u64 = 1_000_000_000;

fn description() -> RunDescription {
    RunDescription {
        version: "0".into(),
        sample_interval_ns: SECOND,
        report_interval_ns: Some(10 * SECOND),
        slower_than_ns: SECOND,
        seed: Some(1),
        recipe: Some(RecipeAsRun {
            wholes: vec![],
            name: "simoop".into(),
            text: String::new(),
            variables: vec![],
            words: vec![],
            directories: vec!["/mnt/a".into()],
            warmup_ns: 0,
        }),
        host: Host {
            kernel_release: "6.18".into(),
            architecture: "x86_64".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            ..Host::default()
        },
        limits: Limits { memory_bytes: Some(512 << 20), cgroup_version: Some(1), ..Limits::default() },
        ..RunDescription::new("simoop", Moment::default())
    }
}

fn interval(class: &str, start_s: u64, latencies_ns: &[u64]) -> IntervalRecord {
    IntervalRecord {
        phase: "run".into(),
        class: class.into(),
        start_ns: start_s * SECOND,
        end_ns: (start_s + 10) * SECOND,
        count: latencies_ns.len() as u64,
        sum_ns: latencies_ns.iter().sum(),
        max_ns: latencies_ns.iter().copied().max(),
        buckets: latencies_ns.iter().map(|&ns| Bucket { index: index_of(ns), count: 1 }).collect(),
        ..IntervalRecord::default()
    }
}

fn stall_counter() -> SeriesSet {
    let mut series = SeriesSet::default();
    let name = "vmstat.allocstall_movable".to_owned();
    let descriptor = MetricDescriptor {
        id: MetricId(0),
        name,
        instance: String::new(),
        unit: Unit::Count,
        semantics: Semantics::Counter,
        device: None,
    };
    series.describe(&[descriptor], |_| true);
    for sample in 0..=20u32 {
        let at = Moment { monotonic_ns: u64::from(sample) * SECOND, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 500_000, took_ns: 0 });
        let value = Some(i64::from(sample.max(10) - 10) * 45);
        series.feed(&[MetricChange { sample, metric: MetricId(0), value }]);
    }
    series
}

/// ```text
/// s     0                  10                 20
/// read  1 s 2 s            36.9 s             one still running for 12 s
/// path of the slow one is hostile
/// ```
fn summary() -> Summary {
    let mut builder = SummaryBuilder::new(description());
    builder.event(&RunEvent::PhaseStarted { phase: "run".into(), measured: true, at_ns: 0 });
    builder.interval(&interval("read", 0, &[SECOND, 2 * SECOND]));
    builder.interval(&interval("round", 0, &[SECOND; 88]));
    let stuck =
        IntervalRecord { stuck: 1, oldest_running_ns: Some(12 * SECOND), ..interval("read", 10, &[36_896_768_000]) };
    builder.interval(&stuck);
    builder.interval(&interval("round", 10, &[SECOND; 91]));
    builder.operation(&OperationRecord {
        kind: OperationKind::Slow,
        class: "read".into(),
        tid: 42,
        start_ns: 3 * SECOND,
        duration_ns: 36_896_768_000,
        bytes: None,
        errno: None,
        path: Some("/mnt/a/set/\x1b[2Jx".into()),
        offset_bytes: None,
        fault: None,
    });
    builder.event(&RunEvent::ClockStep { at_ns: 5 * SECOND, by_ns: 3_600 * SECOND as i64 });
    builder.event(&RunEvent::PhaseEnded { phase: "run".into(), at_ns: 20 * SECOND, bytes: 0 });
    builder.event(&RunEvent::Ended { at_ns: 20 * SECOND, how: Ending::Interrupted });
    let facts = RecordingFacts { metrics: 1, archive_bytes: Some(9000), sample_bytes: Some(4200) };
    builder.summarise(&stall_counter(), facts)
}

#[test]
fn simoop_lines() {
    insta::assert_snapshot!(report::simoop::report(&summary()));
}

#[test]
fn text_without_a_terminal_is_plain_ascii() {
    let text = report::summary::text("RUN", &summary(), Style::PLAIN);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn unknown_is_null_in_json_and_never_zero() {
    let document = report::json::summary("RUN", &summary());
    assert_eq!(document["duration_s"], 20.0);
    let read = &document["operations"]["read"];
    assert_eq!(
        (&read["count"], &read["stuck"], &read["stuck_oldest_ns"]),
        (&3.into(), &1.into(), &(12 * SECOND).into())
    );
    assert_eq!(read["max_ns"], 36_896_768_000_u64);
    assert!(document["operations"].get("write").is_none(), "a class that did not occur is absent");
    assert_eq!(document["rates"]["alloc_stalls_per_s"]["p99"], 45.0);
    assert!(document["memory_cgroup"]["limit_hits_per_s"].is_null());
    assert_eq!(document["recording"]["bytes_per_sample"], 200.0);
}

#[test]
fn failures_are_listed_by_kind_with_the_first_position() {
    let mut summary = summary();
    let failed = OperationRecord {
        kind: OperationKind::Failed,
        class: "write".into(),
        tid: 1,
        start_ns: 4 * SECOND,
        duration_ns: 5,
        bytes: None,
        errno: Some(5),
        path: Some("/mnt/a/set/0000/003".into()),
        offset_bytes: Some(4096),
        fault: None,
    };
    let kind = explain::summary::FailureCount {
        class: "write".into(),
        measured: true,
        errno: Some(5),
        fault: None,
        count: 1234,
        at_least: true,
        files: Some(12),
        first: Some(failed),
    };
    let unknown = explain::summary::FailureCount {
        errno: None,
        count: 7,
        at_least: false,
        files: None,
        first: None,
        ..kind.clone()
    };
    summary.failures = vec![kind, unknown];
    let text = report::summary::text("RUN", &summary, Style::PLAIN);
    let section = text.split("Failed operations\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let squeezed: Vec<String> =
        section.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(squeezed[1], "write at least 1,234 EIO 12 at 4.0 s, set/0000/003 from byte 4096");
    assert_eq!(squeezed[2], "write 7 not recorded: too many at once");
    let document = report::json::summary("RUN", &summary);
    assert_eq!(document["failures"][0]["error"], "EIO");
    assert_eq!(document["failures"][0]["first"]["offset_bytes"], 4096);
    assert!(document["failures"][1]["error"].is_null() && document["failures"][1]["first"].is_null());
}
