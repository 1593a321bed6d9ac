//! The contract of `blk --json`, and the texts, on a small trace.

use lifecycle::{Lifecycle, Settings};
use model::block::{Action, BlockEvent, DeviceNumber, Kind, ProcessNames};
use serde_json::{Value, json};

use super::{BlkFindings, Reading, btt, csv, json, text};
use crate::style::Style;

/// A write that a read passes.
fn show<T>(render: impl Fn(&BlkFindings<'_>) -> T) -> T {
    let event = |time_ns, action, kind: &str, sector, pid| BlockEvent {
        sector,
        bytes: 4096,
        pid,
        kind: Kind::from_rwbs(kind.as_bytes()).unwrap(),
        ..BlockEvent::new(time_ns, action, DeviceNumber::new(8, 16))
    };
    let mut lifecycle = Lifecycle::new(Settings { slower_than_ns: 500, ..Settings::default() });
    lifecycle.feed_all(&[
        event(1000, Action::Queue, "W", 80, 7),
        event(1010, Action::GetRequest, "W", 80, 7),
        event(1050, Action::Insert, "W", 80, 7),
        event(1100, Action::Queue, "RA", 160, 9),
        event(1110, Action::GetRequest, "RA", 160, 9),
        event(1120, Action::Issue, "RA", 160, 9),
        event(1300, Action::Complete, "RA", 160, 0),
        event(1400, Action::Issue, "W", 80, 7),
        event(2000, Action::Complete, "W", 80, 0),
    ]);
    let (report, ()) = lifecycle.finish();
    let mut names = ProcessNames::default();
    names.insert(9, "mutt");
    let reading = Reading { inputs: vec!["sdb".to_owned()], events: 9, bytes: 432, ..Reading::default() };
    render(&BlkFindings { report: &report, names: &names, reading, slower_than_ns: 500 })
}

#[test]
fn the_document_keeps_its_contract() {
    let document = show(json::document);
    let at = |pointer: &str| document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing")).clone();
    assert_eq!((at("/events"), at("/bytes")), (json!(9), json!(432)));
    assert_eq!((at("/lost/gaps"), at("/lost/events")), (json!(0), json!(0)));
    assert_eq!((at("/lost/before_start"), at("/lost/noticed_late")), (json!(0), json!(0)));
    assert_eq!(at("/clock/backward_steps"), json!(0));
    assert_eq!(at("/clock/largest_forward_gap_ns"), json!(600));
    assert_eq!(at("/clock/jumps"), json!([]));
    for anomaly in ["unmatched_complete", "unmatched_queue", "duplicate_complete"] {
        assert_eq!(at(&format!("/anomalies/{anomaly}")), json!(0));
    }
    let q2c = at("/all/phases/q2c");
    for (figure, value) in
        [("count", 2), ("min_ns", 200), ("mean_ns", 600), ("max_ns", 1000), ("p50_ns", 200), ("p99_ns", 1000)]
    {
        assert_eq!(q2c[figure], json!(value), "{figure}");
    }
    for phase in ["q2q", "q2g", "g2i", "q2m", "i2d", "m2d", "d2c", "q2c"] {
        assert!(at(&format!("/devices/0/phases/{phase}/count")).is_u64());
    }
    assert_eq!(at("/all/phases/q2m/min_ns"), Value::Null, "unknown is null, never 0");
    let device =
        [at("/devices/0/device"), at("/devices/0/merge_ratio"), at("/devices/0/requests"), at("/devices/0/bios")];
    assert_eq!(device, [json!("8,16"), json!(1.0), json!(2), json!(2)]);
    let slow = at("/slow/0");
    for (key, value) in [
        ("device", json!("8,16")),
        ("sector", json!(80)),
        ("sector_count", json!(8)),
        ("rwbs", json!("W")),
        ("pid", json!(7)),
        ("comm", Value::Null),
        ("queued_ns", json!(1000)),
        ("completed_ns", json!(2000)),
        ("in_flight", json!({})),
        ("overtaken_by", json!({"RA": 1})),
        ("overtaken_by_threads", json!({"mutt/9": 1})),
    ] {
        assert_eq!(slow[key], value, "{key}");
    }
    for (phase, value) in [("q2g", 10), ("g2i", 40), ("i2d", 350), ("d2c", 600)] {
        assert_eq!(slow["phases_ns"][phase], json!(value), "{phase}");
    }
    assert_eq!(slow["phases_ns"]["m2d"], Value::Null);
}

#[test]
fn shares_add_up_to_the_whole() {
    let Value::Object(shares) = show(json::document)["all"]["overhead"].clone() else { panic!("no shares") };
    let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
}

#[test]
fn as_text() {
    insta::assert_snapshot!(show(|findings| text::text(findings, Style::PLAIN)));
}

#[test]
fn under_btts_headings() {
    insta::assert_snapshot!(show(btt::text));
}

#[test]
fn every_line_of_a_csv_file_has_as_many_cells_as_its_heading() {
    for (name, content) in show(csv::files) {
        let cells: Vec<usize> = content.lines().map(|line| line.split(',').count()).collect();
        assert!(cells.iter().all(|count| *count == cells[0]), "{name}: {content}");
    }
}
