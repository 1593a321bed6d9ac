use model::call_latency::{CallCounts, LatencyGroup, LatencyHistogram, LatencyUnit};
use serde_json::Value;

use super::{Timing, document, histogram, interval, log2_rows, percentile_ns, summary};
use crate::style::Style;

fn of(unit: LatencyUnit, times_ns: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new(unit);
    times_ns.iter().for_each(|ns| histogram.add(*ns));
    histogram
}

fn rows(unit: LatencyUnit, times_ns: &[u64]) -> Vec<(u64, u64, u64)> {
    log2_rows(&of(unit, times_ns)).iter().map(|row| (row.from, row.to, row.count)).collect()
}

#[test]
fn rows_are_exact_at_their_bounds() {
    let us = LatencyUnit::Microseconds;
    assert_eq!(rows(us, &[]), []);
    assert_eq!(rows(us, &[0, 999, 1_000, 1_999]), [(0, 1, 4)]);
    assert_eq!(rows(us, &[1_999, 2_000, 3_999, 4_000]), [(0, 1, 1), (2, 3, 2), (4, 7, 1)]);
    assert_eq!(rows(us, &[1_023_999, 1_024_000]).last(), Some(&(1024, 2047, 1)));
    assert_eq!(rows(LatencyUnit::Nanoseconds, &[0, 1, 2, 7]), [(0, 1, 2), (2, 3, 1), (4, 7, 1)]);
    assert_eq!(rows(LatencyUnit::Milliseconds, &[1_999_999, 2_000_000]), [(0, 1, 1), (2, 3, 1)]);
}

#[test]
fn a_histogram_has_the_form_of_argdist() {
    let mut times_ns = vec![2_500, 2_600];
    times_ns.extend([9_000; 2]);
    times_ns.extend([40_000; 6]);
    let expected = "     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 2        |*************                           |
         4 -> 7          : 0        |                                        |
         8 -> 15         : 2        |*************                           |
        16 -> 31         : 0        |                                        |
        32 -> 63         : 6        |****************************************|
";
    assert_eq!(histogram(&of(LatencyUnit::Microseconds, &times_ns)), expected);
    assert_eq!(histogram(&of(LatencyUnit::Microseconds, &[])), "");
}

#[test]
fn a_long_histogram_has_wider_numbers() {
    let text = histogram(&of(LatencyUnit::Nanoseconds, &[1 << 39]));
    let last = "        549755813888 -> 1099511627775        : 1        |********************|\n";
    assert!(text.ends_with(last), "{text}");
}

#[test]
fn percentiles_are_at_most_an_eighth_too_long() {
    let times_ns: Vec<u64> = (1..=1000).map(|n| n * 1_000).collect();
    let histogram = of(LatencyUnit::Microseconds, &times_ns);
    for (share, exact_ns) in [(0.5, 500_000), (0.9, 900_000), (0.99, 990_000), (1.0, 1_000_000)] {
        let ns = percentile_ns(&histogram, share).unwrap();
        assert!(ns >= exact_ns && ns <= exact_ns * 9 / 8, "{share}: {ns}");
    }
    assert_eq!(percentile_ns(&of(LatencyUnit::Microseconds, &[]), 0.5), None);
    assert_eq!(percentile_ns(&of(LatencyUnit::Microseconds, &[u64::MAX]), 0.5), Some(u64::MAX));
}

#[test]
fn calls_outside_the_histogram_are_reported() {
    let counts = CallCounts { begun: 12, ended: 10, filtered: 3, ends_alone: 1, ..CallCounts::default() };
    let groups = [LatencyGroup { name: Some("a\x1b[2J/7".into()), histogram: of(LatencyUnit::Microseconds, &[5_000]) }];
    let timing = Timing {
        what: "vfs_read",
        method: "fentry and fexit",
        unit: LatencyUnit::Microseconds,
        duration_ns: 2_000_000_000,
        groups: &groups,
        counts,
    };
    let text = summary(&timing, true, Style::PLAIN);
    for part in ["3 excluded", "2 without an end", "1 ended without a begin", "by a\\u{1b}[2J/7", "1 call, mean 5"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("abandoned"), "{text}");
    let document = document(&timing, &[], Value::Null);
    assert_eq!(document["calls"]["open"], 2);
    assert_eq!(document["calls"]["missed"], Value::Null);
    assert_eq!(document["groups"][0]["log2"][2]["count"], 1);
}

#[test]
fn an_empty_interval_has_the_form_of_argdist() {
    assert_eq!(interval("01:02:03", "vfs_read", &[], Style::PLAIN), "[01:02:03]\nvfs_read\n");
}

#[test]
fn groups_beyond_the_limit_are_counted() {
    let histogram = of(LatencyUnit::Microseconds, &[5_000, 6_000]);
    let group = |n: u32| LatencyGroup { name: Some(format!("task/{n}")), histogram: histogram.clone() };
    let groups: Vec<LatencyGroup> = (0..13).map(group).collect();
    let text = interval("01:02:03", "vfs_read", &groups, Style::PLAIN);
    assert!(text.contains("by task/9\n") && !text.contains("task/10"), "{text}");
    assert!(text.ends_with("     and 3 other groups with 6 calls\n"), "{text}");
}
