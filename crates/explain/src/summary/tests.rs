use model::event::{Ending, RunEvent};
use model::latency::index_of;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, Fault, IntervalRecord, OperationKind, OperationRecord};
use model::preflight::Finding;
use model::run::RunDescription;
use model::time::Moment;

use super::{RecordingFacts, SummaryBuilder, wanted_metric};
use crate::series::SeriesSet;

const SECOND: u64 = 1_000_000_000;

fn description() -> RunDescription {
    RunDescription {
        version: "0".into(),
        sample_interval_ns: SECOND,
        report_interval_ns: Some(10 * SECOND),
        slower_than_ns: SECOND,
        ..RunDescription::new("simoop", Moment { monotonic_ns: 100 * SECOND, wall_ns: 0 })
    }
}

fn interval(phase: &str, class: &str, start_s: u64, latencies_ns: &[u64], stuck: u64) -> IntervalRecord {
    IntervalRecord {
        phase: phase.into(),
        class: class.into(),
        start_ns: (100 + start_s) * SECOND,
        end_ns: (110 + start_s) * SECOND,
        count: latencies_ns.len() as u64,
        bytes: 1 << 20,
        sum_ns: latencies_ns.iter().sum(),
        max_ns: latencies_ns.iter().copied().max(),
        buckets: latencies_ns.iter().map(|&ns| Bucket { index: index_of(ns), count: 1 }).collect(),
        stuck,
        oldest_running_ns: (stuck > 0).then_some(7 * SECOND),
        ..IntervalRecord::default()
    }
}

fn phase(builder: &mut SummaryBuilder, name: &str, measured: bool, start_s: u64, end_s: u64) {
    builder.event(&RunEvent::PhaseStarted { phase: name.into(), measured, at_ns: (100 + start_s) * SECOND });
    builder.event(&RunEvent::PhaseEnded { phase: name.into(), at_ns: (100 + end_s) * SECOND, bytes: 5 });
}

fn operation(kind: OperationKind, start_s: u64, duration_s: u64) -> OperationRecord {
    OperationRecord {
        kind,
        class: "write".into(),
        tid: 42,
        start_ns: (100 + start_s) * SECOND,
        duration_ns: duration_s * SECOND,
        bytes: None,
        errno: None,
        path: None,
        offset_bytes: None,
        fault: None,
    }
}

/// Module xfs was loaded meanwhile, and its source attached; that of nbd was not.
#[test]
fn a_source_is_missing_as_it_was_last() {
    let of = |name: &str, available: bool| match available {
        true => Finding::available(name, "waits"),
        false => Finding::missing(name, "waits", "its module is not loaded", "load it"),
    };
    let mut builder = SummaryBuilder::new(RunDescription {
        preflight: vec![of("tracing: XFS log", false), of("tracing: locks", true)],
        ..description()
    });
    for finding in [of("tracing: XFS log", true), of("tracing: nbd", false)] {
        builder.event(&RunEvent::Source { at_ns: 101 * SECOND, finding });
    }
    let missing = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).missing;
    assert_eq!(missing.iter().map(|finding| finding.capability.as_str()).collect::<Vec<_>>(), ["tracing: nbd"]);
}

/// ```text
/// s      0     10        20
///        |warmup|   run   |
/// write  <-9s->
/// write     <----7s---->
/// ```
#[test]
fn the_worst_operations_are_those_whose_latency_counts() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "warmup", false, 0, 10);
    phase(&mut builder, "run", true, 10, 20);
    builder.operation(&operation(OperationKind::Slow, 0, 9));
    builder.operation(&operation(OperationKind::Slow, 5, 7));
    let worst = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).worst;
    assert_eq!(worst.iter().map(|kept| kept.duration_ns / SECOND).collect::<Vec<_>>(), [7]);
}

/// ```text
/// s   0     10        20        30
///     |warmup|   run               |
/// read  9s       1 ms      2s, stuck
/// ```
#[test]
fn warm_up_does_not_count_and_operations_stuck_at_the_end_do() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "warmup", false, 0, 10);
    phase(&mut builder, "run", true, 10, 30);
    builder.interval(&interval("warmup", "read", 0, &[9 * SECOND], 0));
    builder.interval(&interval("run", "read", 10, &[1_000_000], 3));
    builder.interval(&interval("run", "read", 20, &[2 * SECOND], 1));
    builder.event(&RunEvent::Ended { at_ns: 130 * SECOND, how: Ending::Done });
    let summary = builder.summarise(&SeriesSet::default(), RecordingFacts::default());

    assert_eq!((summary.duration_ns, summary.warmup_ns), (20 * SECOND, 10 * SECOND));
    let read = &summary.operations[0];
    assert_eq!(read.latencies.count(), 2);
    assert_eq!(read.latencies.max_ns(), Some(2 * SECOND));
    assert_eq!((read.stuck, read.stuck_oldest_ns), (1, Some(7 * SECOND)));
    assert_eq!(summary.slow[0].count, 1);
    assert_eq!(summary.ending, Some(Ending::Done));
}

#[test]
fn the_work_rate_is_over_intervals_and_its_mean_over_the_time() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 0, 20);
    builder.interval(&interval("run", "round", 0, &[SECOND; 10], 0));
    builder.interval(&interval("run", "round", 10, &[SECOND; 30], 0));
    let summary = builder.summarise(&SeriesSet::default(), RecordingFacts::default());
    assert!(summary.operations.is_empty(), "rounds are a rate, not a latency");
    let (name, work) = &summary.rates[0];
    assert_eq!(name, "work");
    assert_eq!((work.mean_per_s, work.p50_per_s, work.last_per_s), (2.0, 1.0, 3.0));
    assert!(!summary.rates.iter().any(|(name, _)| name == "alloc_stalls"), "an unknown rate is absent, not zero");
}

#[test]
fn an_operation_seen_stuck_and_then_slow_is_one_of_the_worst_once() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 0, 30);
    let seen = |kind, duration_s| operation(kind, 1, duration_s);
    builder.operation(&seen(OperationKind::Stuck, 3));
    builder.operation(&seen(OperationKind::Stuck, 13));
    builder.operation(&seen(OperationKind::Slow, 17));
    let worst = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).worst;
    assert_eq!(worst.len(), 1);
    assert_eq!((worst[0].kind, worst[0].duration_ns), (OperationKind::Slow, 17 * SECOND));
}

/// ```text
/// s      0     10        20
///        |warmup|   run   |
/// write  1 fails  5 fail: EIO on two files, a short write, and two unknown
/// ```
#[test]
fn failures_are_counted_by_kind_and_sum_up_with_lost_records() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "warmup", false, 0, 10);
    phase(&mut builder, "run", true, 10, 20);
    let failing = |phase: &str, start_s, errors| {
        let ended = vec![SECOND; 6];
        IntervalRecord { errors, ..interval(phase, "write", start_s, &ended, 0) }
    };
    builder.interval(&failing("warmup", 0, 1));
    builder.interval(&failing("run", 10, 5));
    let failed = |at_s, errno, fault, path: &str| OperationRecord {
        errno,
        fault,
        path: Some(path.into()),
        offset_bytes: Some(4096),
        ..operation(OperationKind::Failed, at_s, 1)
    };
    builder.operation(&failed(1, Some(28), None, "/a"));
    builder.operation(&failed(12, Some(5), None, "/b"));
    builder.operation(&failed(13, Some(5), None, "/c"));
    builder.operation(&failed(14, None, Some(Fault::ShortWrite), "/b"));
    let failures = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).failures;
    let seen: Vec<_> = failures
        .iter()
        .map(|kind| {
            let path = kind.first.as_ref().and_then(|first| first.path.as_deref());
            (kind.measured, kind.error(), kind.count, kind.at_least, kind.files, path)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (true, Some("EIO"), 2, true, Some(2), Some("/b")),
            (true, Some("short_write"), 1, true, Some(1), Some("/b")),
            (true, None, 2, false, None, None),
            (false, Some("ENOSPC"), 1, false, Some(1), Some("/a")),
        ]
    );
}

/// ```text
/// s      10        20
///        |   run   |
/// write      1 fails, and another that is in the histogram but ended a moment later
/// write            one more fails that is in no histogram
/// ```
#[test]
fn failures_at_the_end_of_a_phase_are_those_of_its_histogram() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 10, 20);
    builder.interval(&IntervalRecord { errors: 2, ..interval("run", "write", 10, &[SECOND; 6], 0) });
    for at_s in [12, 20, 21] {
        builder.operation(&OperationRecord { errno: Some(5), ..operation(OperationKind::Failed, at_s, 1) });
    }
    let failures = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).failures;
    assert_eq!(failures.len(), 1, "{failures:#?}");
    assert_eq!((failures[0].count, failures[0].measured, failures[0].at_least), (2, true, false));
}

#[test]
fn an_interval_counts_in_the_repetition_of_its_phase_that_it_lies_in() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 0, 10);
    phase(&mut builder, "run", true, 20, 30);
    builder.interval(&interval("run", "write", 0, &[SECOND], 0));
    builder.interval(&interval("run", "write", 20, &[SECOND; 3], 0));
    let summary = builder.summarise(&SeriesSet::default(), RecordingFacts::default());
    let counts: Vec<u64> = summary.phases.iter().map(|phase| phase.operations[0].latencies.count()).collect();
    assert_eq!(counts, [1, 3]);
}

/// ```text
/// s       10        20        30        40
/// mail       2 read    none      4 read
/// create                         3 made, 1 failed
/// ```
#[test]
fn the_rate_of_mails_spans_first_to_last_and_of_files_the_phase() {
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 10, 40);
    builder.interval(&interval("run", "mail", 10, &[1, 1], 0));
    builder.interval(&interval("run", "stat", 20, &[1], 0));
    builder.interval(&interval("run", "mail", 30, &[1; 4], 0));
    builder.interval(&IntervalRecord { errors: 1, ..interval("run", "create", 30, &[1; 4], 0) });
    let rates = builder.summarise(&SeriesSet::default(), RecordingFacts::default()).rates;
    let mean = |name: &str| rates.iter().find(|(rate, _)| rate == name).unwrap().1.mean_per_s;
    assert_eq!((mean("mails"), mean("files")), (0.2, 0.1));
}

/// ```text
/// s          0      2      4      6      8     10
/// thread 0   |------|                                100 files
/// thread 1   |----------------------------|          400 files
/// intervals  100 files     .      400 files, then nothing
/// ```
#[test]
fn files_per_second_include_time_without_new_files() {
    let mut builder = SummaryBuilder::new(description());
    builder.event(&RunEvent::PhaseStarted { phase: "create".into(), measured: true, at_ns: 100 * SECOND });
    for (start_s, end_s, count) in [(0, 2, 100), (6, 7, 403)] {
        let at = |second: u64| (100 + second) * SECOND;
        let (start_ns, end_ns) = (at(start_s), at(end_s));
        let errors = count % 100;
        let record = IntervalRecord { start_ns, end_ns, count, errors, ..interval("create", "create", 0, &[], 0) };
        builder.interval(&record);
        builder.interval(&IntervalRecord { class: "close".into(), ..record });
    }
    let member = |items, end_s: u64| model::event::Member {
        items,
        start_ns: 100 * SECOND,
        end_ns: (100 + end_s) * SECOND,
        ..Default::default()
    };
    let members = vec![member(100, 2), member(400, 8)];
    builder.event(&RunEvent::JobThreads { phase: "create".into(), at_ns: 108 * SECOND, members });
    builder.event(&RunEvent::PhaseEnded { phase: "create".into(), at_ns: 108 * SECOND, bytes: 0 });
    let summary = builder.summarise(&SeriesSet::default(), RecordingFacts::default());
    let files = summary.rates.iter().find(|(name, _)| name == "files").unwrap().1;
    assert_eq!((files.mean_per_s, files.p50_per_s, files.max_per_s), (62.5, 0.0, 400.0));
    assert_eq!(summary.phases[0].items_per_s(), Some(62.5));
    assert_eq!(summary.phases[0].sum_of_own_items_per_s(), Some(100.0));
}

#[test]
fn the_busiest_and_most_stalled_cgroups_are_listed() {
    let mut series = SeriesSet::default();
    let mut changes = Vec::new();
    let mut add = |series: &mut SeriesSet, name: &str, instance: &str, semantics, end: i64| {
        let id = MetricId(changes.len() as u32);
        let (name, instance) = (name.to_owned(), instance.to_owned());
        series.describe(
            &[MetricDescriptor { id, name, instance, unit: Unit::Count, semantics, device: None }],
            wanted_metric,
        );
        changes.extend([(0, 0), (10, end)].map(|(sample, value)| MetricChange {
            sample,
            metric: id,
            value: Some(value),
        }));
    };
    for (at, path) in ["/", "/a", "/b", "/c", "/d", "/idle"].into_iter().enumerate() {
        let cpu_ns = if path == "/idle" { 0 } else { 10 * SECOND as i64 / (at as i64 + 1) };
        add(&mut series, "cgroups.cpuacct.usage", path, Semantics::Counter, cpu_ns);
    }
    add(&mut series, "cgroups.blkio.throttle.io_service_bytes.Read", "/idle/tar:sda", Semantics::Counter, 50 << 20);
    add(&mut series, "cgroups.memory.usage_in_bytes", "/a", Semantics::Gauge, 77);
    add(&mut series, "cgroups.cpu.stat.throttled_time", "/d", Semantics::Counter, 4 * SECOND as i64);
    for sample in 0..=10 {
        let at = Moment { monotonic_ns: (100 + u64::from(sample)) * SECOND, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
    }
    series.feed(&changes);
    let mut builder = SummaryBuilder::new(description());
    phase(&mut builder, "run", true, 0, 10);
    let found = builder.summarise(&series, RecordingFacts::default()).cgroups;
    let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b", "/c", "/d", "/idle/tar"], "without the root, and without the idle one");
    assert_eq!((found[0].cpus, found[0].memory_bytes, found[0].throttled), (Some(0.5), Some(77), None));
    assert_eq!((found[3].throttled, found[4].read_bytes_per_s), (Some(0.4), Some(5.0 * (1 << 20) as f64)));
}
