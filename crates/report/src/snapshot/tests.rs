use explain::blame::TaskId;
use explain::series::SeriesSet;
use explain::snapshot::{Snapshot, SnapshotBuilder, Stuck, Window};
use explain::whatif::Advice;
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, TraceSettings};
use model::time::Moment;

use super::{Panel, details, json, slowest, table, text};
use crate::answer::Answer;
use crate::style::Style;

fn stuck(tid: u32, name: &str, lasts_ns: u64) -> Stuck {
    Stuck {
        task: TaskId { tid, name: Some(name.into()) },
        cgroup: Some("/box".into()),
        io_cgroup: None,
        operation: Some("fsync".into()),
        path: Some("/mnt/a\x1b]0;owned\x07".into()),
        since_ns: 1,
        lasts_ns,
        holder: None,
        peer: None,
        frames: ["io_schedule", "folio_wait_bit", "do_fsync"].map(str::to_owned).into(),
    }
}

fn snapshot() -> Snapshot {
    let run = RunDescription::new("test", Moment::default());
    let seen = SnapshotBuilder::new(&run, Window { from_ns: 0, to_ns: 10 }).finish(&SeriesSet::default());
    Snapshot { stuck: vec![stuck(1, "dd", 3_000_000_000), stuck(2, "a\x1b[2Jb", 1_000_000_000)], ..seen }
}

#[test]
fn names_that_came_from_the_machine_cannot_steer_the_terminal() {
    let snapshot = snapshot();
    let shown = text("run", &snapshot, &Answer::of(&snapshot.explanation, &Advice::default()), "", Style::PLAIN);
    let full = details(Panel::Stuck, 1, &snapshot, Style::PLAIN).join("\n");
    assert!(shown.contains("a\\u{1b}[2Jb/2") && full.contains("a\\u{1b}[2Jb/2"), "{shown}{full}");
    assert!([shown, full].iter().all(|text| !text.contains(['\x1b', '\x07'])));
}

#[test]
fn rows_are_sorted_and_filtered_also_by_what_is_not_shown() {
    let snapshot = snapshot();
    let rows = |order, filter| -> Vec<usize> {
        let table = table(Panel::Stuck, &snapshot, order, filter, Style::PLAIN);
        table.rows.iter().map(|row| row.index).collect()
    };
    assert_eq!((rows(0, ""), rows(1, "")), (vec![0, 1], vec![1, 0]));
    assert_eq!((rows(0, "DD"), rows(0, "/box"), rows(0, "nothing")), (vec![0], vec![0, 1], vec![]));
}

#[test]
fn the_sleeping_place_is_without_scheduler_frames() {
    let table = table(Panel::Stuck, &snapshot(), 0, "", Style::PLAIN);
    assert_eq!(table.rows[0].cells[3], "folio_wait_bit < do_fsync");
    assert_eq!(details(Panel::Stuck, 0, &snapshot(), Style::PLAIN).last().map(String::as_str), Some("  do_fsync"));
}

#[test]
fn what_is_not_known_is_null() {
    let document = json(None, &snapshot());
    assert!(document["run"].is_null() && document["memory"]["dirty_bytes"].is_null());
    assert_eq!(document["stuck"][0]["operation"], "fsync");
}

#[test]
fn the_slowest_now_is_the_longest_whether_it_ended_or_not() {
    let mut snapshot = snapshot();
    assert_eq!(
        slowest(&snapshot).unwrap().text,
        "dd/1 fsync of .../a\\u{1b}]0;owned\\u{7} blocked 3.00 s: in folio_wait_bit"
    );
    let call =
        StallRecord { call: Some("read".into()), ..StallRecord::new(StallKind::SystemCall, 7, 0, 5 * 1_000_000_000) };
    let wait =
        StallRecord { stack: Some(1), state: Some(2), ..StallRecord::new(StallKind::OffCpu, 7, 0, 4_000_000_000) };
    let run = RunDescription {
        trace: Some(TraceSettings { slow_ns: 1_000_000, interval_ns: 1_000_000, all_requests: false }),
        ..RunDescription::new("test", Moment::default())
    };
    let mut builder = SnapshotBuilder::new(&run, Window { from_ns: 0, to_ns: 6_000_000_000 });
    builder.stalls(&[wait, call]);
    builder.stacks([StackRecord { stack: 1, frames: vec!["jbd2_log_wait_commit".into()] }].iter());
    let ended = builder.finish(&SeriesSet::default());
    (snapshot.explanation, snapshot.whole) = (ended.explanation, ended.whole);
    assert_eq!(slowest(&snapshot).unwrap().text, "thread 7 read took 5.00 s: 80 % journal");
    snapshot.stuck.clear();
    snapshot.explanation.stalls.clear();
    assert_eq!(slowest(&snapshot), None);
}
