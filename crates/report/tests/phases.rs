//! The phases of a run, from rows made by hand: over time, and who came last.

use explain::series::SeriesSet;
use explain::summary::{RecordingFacts, Summary, SummaryBuilder};
use model::event::{Ending, Member, RunEvent};
use model::latency::index_of;
use model::operation::{Bucket, IntervalRecord};
use model::run::{RecipeAsRun, RunDescription};
use model::time::Moment;
use report::style::Style;

const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn interval(phase: &str, class: &str, second: u64, bytes: u64, latency_ns: u64) -> IntervalRecord {
    let ended = u64::from(bytes > 0);
    IntervalRecord {
        phase: phase.into(),
        class: class.into(),
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        count: ended,
        bytes,
        sum_ns: ended * latency_ns,
        max_ns: (ended > 0).then_some(latency_ns),
        buckets: if ended > 0 { vec![Bucket { index: index_of(latency_ns), count: 1 }] } else { vec![] },
        oldest_running_ns: (ended == 0).then_some(SECOND),
        ..IntervalRecord::default()
    }
}

fn member(ordinal: u64, start_s: u64, end_s: u64, bytes: u64) -> Member {
    Member {
        actor: "rewriter".into(),
        ordinal,
        tid: 100 + ordinal as u32,
        start_ns: start_s * SECOND,
        end_ns: end_s * SECOND,
        items: 7,
        bytes,
        busy_ns: SECOND,
        cpu_ns: Some(SECOND / 2),
        ..Member::default()
    }
}

/// ```text
/// s         0      1      2      3      4      5
/// write     4 MiB
/// rewrite          8 MiB  0      0      2 MiB
/// rewriter         0 ─────┤      1, 2 ────────┤
/// ```
fn summary(workload: &str, variables: &[(&str, f64)]) -> Summary {
    let recipe = RecipeAsRun {
        name: workload.into(),
        text: String::new(),
        variables: variables.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
        words: vec![("machine".into(), "a,b".into())],
        directories: vec![],
        warmup_ns: 0,
        wholes: vec![],
    };
    let description = RunDescription { recipe: Some(recipe), ..RunDescription::new(workload, Moment::default()) };
    let mut builder = SummaryBuilder::new(description);
    let mut phase = |name: &str, from: u64, to: u64, bytes: u64| {
        builder.event(&RunEvent::PhaseStarted { phase: name.into(), measured: true, at_ns: from * SECOND });
        let members = if name == "rewrite" {
            vec![member(0, 1, 2, 4 * MIB), member(1, 1, 2, 3 * MIB), member(2, 1, 5, 3 * MIB)]
        } else {
            vec![member(0, from, to, bytes)]
        };
        builder.event(&RunEvent::JobThreads { phase: name.into(), at_ns: to * SECOND, members });
        builder.event(&RunEvent::PhaseEnded { phase: name.into(), at_ns: to * SECOND, bytes });
    };
    phase("write", 0, 1, 4 * MIB);
    phase("rewrite", 1, 5, 10 * MIB);
    builder.interval(&interval("write", "write", 0, 4 * MIB, 40_000));
    for (second, bytes) in [(1, 8 * MIB), (2, 0), (3, 0), (4, 2 * MIB)] {
        builder.interval(&interval("rewrite", "rewrite", second, bytes, 150_000_000));
    }
    builder.event(&RunEvent::Ended { at_ns: 5 * SECOND, how: Ending::Done });
    builder.summarise(&SeriesSet::default(), RecordingFacts::default())
}

#[test]
fn a_rewrite_that_drops_to_zero_and_the_straggler_are_shown() {
    let text = report::summary::text("RUN", &summary("rewrite", &[]), Style::PLAIN);
    let line = text.lines().find(|line| line.contains("from 0 B/s to 8.00 MiB/s")).expect("over time");
    assert!(line.starts_with(" rewrite #..:"), "{line}");
    assert!(text.contains("in rewrite the slowest of 3, rewriter 2, took 4.00 s; the median 1.00 s"), "{text}");
    assert!(text.contains(" write    1.00 s  4.00 MiB  4.00 MiB          1.00       0"), "{text}");
}

#[test]
fn json_has_progress_operations_and_threads_of_each_phase() {
    let document = report::json::summary("RUN", &summary("rewrite", &[]));
    let rewrite = &document["phases"][1];
    assert_eq!((rewrite["bytes"].as_u64(), rewrite["bytes_per_s"].as_f64()), (Some(10 * MIB), Some(2.5 * MIB as f64)));
    let bytes: Vec<_> = rewrite["progress"].as_array().unwrap().iter().map(|step| step["bytes"].as_u64()).collect();
    assert_eq!(bytes, [Some(8 * MIB), Some(0), Some(0), Some(2 * MIB)]);
    assert_eq!(rewrite["operations"]["rewrite"]["count"], 2);
    let threads = &rewrite["job_threads"];
    assert_eq!((threads["members"].as_u64(), threads["slowest"]["ordinal"].as_u64()), (Some(3), Some(2)));
    assert_eq!(
        (threads["cpu_s"].as_f64(), threads["slowest_s"].as_f64(), threads["median_s"].as_f64()),
        (Some(1.5), Some(4.0), Some(1.0))
    );
}

#[test]
fn the_line_of_bonnie_has_each_figure_in_its_place() {
    let variables =
        [("size", 2.0 * MIB as f64), ("chunk", 4096.0), ("processes", 3.0), ("seeks", 9.0), ("seekers", 2.0)];
    let line = report::native::text(&summary("bonnie", &variables)).unwrap();
    let fields: Vec<&str> = line.trim_end().split(',').collect();
    assert_eq!((fields.len(), &fields[..9]), (50, &["1.98", "stallscope", "a b", "3", "", "2M", "4096", "9", "2"][..]));
    // 4 MiB in 1 s with half a CPU, 10 MiB in 4 s with three halves in 4 s.
    assert_eq!(fields[9..21], ["", "", "4096", "50", "2560", "38", "", "", "", "", "", ""]);
    assert_eq!((&fields[21..26], fields[39], fields[40]), (&[""; 5][..], "40us", "150ms"));
}

#[test]
fn the_table_of_ior_has_the_figures_of_the_phase() {
    let table = report::native::text(&summary("ior", &[("block", MIB as f64), ("transfer", 4096.0)])).unwrap();
    let row: Vec<&str> = table.lines().find(|line| line.starts_with("write ")).unwrap().split_whitespace().collect();
    assert_eq!(row[1..6], ["4.00", "1.00", "0.000040", "1024.00", "4.00"]);
    assert_eq!(row[6..], ["0.000000", "1.000000", "0.000000", "1.000000", "0"]);
    assert!(table.ends_with("Max Write: 4.00 MiB/sec (4.19 MB/sec)\n"), "{table}");
}

/// ```text
/// ms      0    5   10        30        50   55        70        80
/// rank 0  open─────┤ 4 MiB in 4 ───────┤close┤
/// rank 1       open──────────┤ 2 MiB in 2 ──────────┤close───┤
/// ```
#[test]
fn the_times_of_ior_are_from_the_first_rank_to_the_last_and_the_latency_is_that_of_the_best() {
    const MS: u64 = 1_000_000;
    let rank = |ordinal, [start, opened, closing, end]: [u64; 4], items| Member {
        actor: "writer".into(),
        ordinal,
        start_ns: start * MS,
        opened_ns: Some(opened * MS),
        closing_ns: Some(closing * MS),
        end_ns: end * MS,
        items,
        bytes: items * MIB,
        ..Member::default()
    };
    let mut builder = SummaryBuilder::new(RunDescription::new("ior", Moment::default()));
    builder.event(&RunEvent::PhaseStarted { phase: "write".into(), measured: true, at_ns: 0 });
    for bytes in [4 * MIB, 2 * MIB] {
        let buckets = vec![Bucket { index: index_of(MS), count: bytes / MIB }];
        builder.interval(&IntervalRecord { count: bytes / MIB, buckets, ..interval("write", "write", 0, bytes, MS) });
    }
    let members = vec![rank(0, [0, 10, 50, 55], 4), rank(1, [5, 30, 70, 80], 2)];
    builder.event(&RunEvent::JobThreads { phase: "write".into(), at_ns: 80 * MS, members });
    builder.event(&RunEvent::PhaseEnded { phase: "write".into(), at_ns: 80 * MS, bytes: 6 * MIB });
    let table = report::native::text(&builder.summarise(&SeriesSet::default(), RecordingFacts::default())).unwrap();
    let row: Vec<&str> = table.lines().find(|line| line.starts_with("write ")).unwrap().split_whitespace().collect();
    // 6 MiB over 80 ms, 6 transfers over 60 ms, 40 ms over 4 transfers.
    assert_eq!(row[1..4], ["75.00", "100.00", "0.010000"]);
    assert_eq!(row[6..], ["0.030000", "0.060000", "0.030000", "0.080000", "0"]);
}
