//! What is written is read, at every moment of a run's life.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::scenario::{Step, description, moment, options, rows_in, rows_of, write_steps};
use archive::{ArchiveError, FlushState, Run, RunState, Writer};
use model::event::{Ending, RunEvent};
use model::metric::{MetricChange, MetricId};
use model::run::{FORMAT_VERSION, RunDescription};
use proptest::prelude::*;
use tempfile::tempdir;

#[test]
fn a_closed_run_is_whole_and_holds_one_plain_stream_for_each_table() {
    let dir = tempdir().unwrap();
    let mut writer = write_steps(dir.path(), 23, options(5));
    writer.event(RunEvent::Ended { at_ns: 9, how: Ending::Done });
    let closed = writer.close(moment(23)).unwrap();
    assert_eq!((closed.rows["samples"], closed.state), (23, FlushState::Whole));

    let run = Run::open(dir.path()).unwrap();
    assert_eq!(rows_in(&run), rows_of(23));
    assert_eq!(run.description(), &description());
    assert_eq!(run.events().len(), 2);
    let report = run.check();
    assert!(report.whole, "{report:?}");
    assert_eq!((report.state, report.segments, report.rows["samples"]), (RunState::Closed, 13, 23));
    let mut names: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let tables = ["descriptors", "intervals", "metrics", "operations", "request_intervals", "requests", "samples"];
    let more = ["stacks", "stalls", "tasks", "usage", "user_frames", "user_stacks"];
    let tables = tables.into_iter().chain(more).map(|table| format!("{table}-0000.arrows"));
    let mut expected: Vec<String> = tables.chain(["journal".into(), "run.json".into(), "watermark".into()]).collect();
    expected.sort();
    assert_eq!(names, expected);
    let size: u64 = names.iter().map(|name| fs::metadata(dir.path().join(name)).unwrap().len()).sum();
    let description = fs::metadata(dir.path().join("run.json")).unwrap().len();
    assert_eq!(closed.bytes, size - description);
}

#[test]
fn a_live_run_reads_whole_after_each_flush() {
    let dir = tempdir().unwrap();
    let mut writer = write_steps(dir.path(), 0, options(4));
    for step in 0..13 {
        Step::number(step).write(&mut writer);
        assert_eq!(writer.flush(moment(step)), FlushState::Whole);
        let run = Run::open(dir.path()).unwrap();
        assert_eq!(rows_in(&run), rows_of(step + 1), "after flush {step}");
        let report = run.check();
        assert_eq!((report.state, report.torn_bytes, report.lost.len()), (RunState::Live, 0, 0));
        assert_eq!(report.last_flush_ns, Some(moment(step).monotonic_ns));
    }
    drop(writer);
    assert_eq!(Run::open(dir.path()).unwrap().state(), RunState::CutOff);
}

#[test]
fn a_run_opened_before_a_consolidation_still_reads_after_it() {
    let dir = tempdir().unwrap();
    let mut writer = write_steps(dir.path(), 3, options(4));
    let run = Run::open(dir.path()).unwrap();
    Step::number(3).write(&mut writer);
    assert_eq!(writer.flush(moment(3)), FlushState::Whole);
    assert!(!dir.path().join("recent-0001").exists());
    assert_eq!(rows_in(&run), rows_of(3));
}

#[test]
fn a_reader_beside_a_busy_writer_sees_whole_flushes() {
    const STEPS: u32 = 400;
    let dir = tempdir().unwrap();
    let mut writer = write_steps(dir.path(), 0, options(3));
    let acknowledged = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 0..STEPS {
                Step::number(step).write(&mut writer);
                assert_eq!(writer.flush(moment(step)), FlushState::Whole);
                acknowledged.store(step + 1, Ordering::Release);
            }
        });
        loop {
            let least = acknowledged.load(Ordering::Acquire);
            let rows = rows_in(&Run::open(dir.path()).unwrap());
            let steps = rows.samples.len() as u32;
            assert!(steps >= least, "{steps} of {least} flushes were read");
            assert_eq!(rows, rows_of(steps));
            if least == STEPS {
                break;
            }
        }
    });
}

#[test]
fn syncing_changes_nothing_that_is_read() {
    let dir = tempdir().unwrap();
    let writer = write_steps(dir.path(), 7, archive::WriterOptions { sync: true, ..options(3) });
    writer.close(moment(7)).unwrap();
    assert_eq!(rows_in(&Run::open(dir.path()).unwrap()), rows_of(7));
}

#[test]
fn rows_beyond_the_pending_limit_are_counted_as_lost() {
    let dir = tempdir().unwrap();
    let few = archive::WriterOptions { pending_limit_bytes: 16 * 100, ..options(60) };
    let mut writer = Writer::create(dir.path(), &description(), few).unwrap();
    let changes: Vec<MetricChange> =
        (0..1000).map(|metric| MetricChange { sample: 0, metric: MetricId(metric), value: Some(1) }).collect();
    writer.sample(Step::number(0).header, &changes);
    writer.close(moment(0)).unwrap();
    let run = Run::open(dir.path()).unwrap();
    let kept = rows_in(&run).changes.len() as u64;
    assert!(kept > 0);
    let loss = RunEvent::Loss { what: "rows of metrics".into(), count: 1000 - kept, at_ns: moment(0).monotonic_ns };
    assert_eq!(run.events(), [loss]);
}

#[test]
fn a_flood_of_rows_goes_straight_into_its_segment_in_the_order_of_time() {
    let dir = tempdir().unwrap();
    let floods = archive::WriterOptions { direct_after_bytes: 64 << 10, ..options(60) };
    let mut writer = write_steps(dir.path(), 3, floods);
    let mut flood = |steps: std::ops::Range<u32>, at| {
        for step in steps {
            writer.traced(&mut Step::number(step).traced);
        }
        assert_eq!(writer.flush(moment(at)), FlushState::Whole);
        assert_eq!(writer.pending_bytes(), 0);
    };
    flood(3..1003, 3);
    flood(1003..1004, 4);
    flood(1004..2004, 5);
    let requests = |run: &Run| run.requests().collect::<Result<Vec<_>, _>>().unwrap().concat();
    let live = Run::open(dir.path()).unwrap();
    assert_eq!((live.check().state, live.check().lost.len()), (RunState::Live, 0));
    let numbers: Vec<u32> = requests(&live).iter().map(|request| request.request).collect();
    assert_eq!(numbers, (0..2 * 2004).collect::<Vec<u32>>());
    writer.close(moment(6)).unwrap();
    let closed = Run::open(dir.path()).unwrap();
    assert!(closed.check().whole);
    assert_eq!(closed.check().rows["requests"], 2 * 2004);
    assert_eq!(rows_in(&closed).stalls, rows_of(2004).stalls);
}

#[test]
fn trace_tables_that_nobody_announced_come_with_their_first_row() {
    let dir = tempdir().unwrap();
    let untraced = RunDescription { trace: None, ..description() };
    let mut writer = Writer::create(dir.path(), &untraced, options(60)).unwrap();
    assert!(!Run::open(dir.path()).unwrap().has_trace());
    Step::number(0).write(&mut writer);
    assert_eq!(writer.flush(moment(0)), FlushState::Whole);
    let run = Run::open(dir.path()).unwrap();
    assert!(run.has_trace());
    assert_eq!(rows_in(&run), rows_of(1));
}

#[test]
fn a_directory_that_holds_something_is_refused() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("precious"), "data").unwrap();
    let refused = Writer::create(dir.path(), &description(), options(5)).err().unwrap();
    assert!(matches!(refused, ArchiveError::NotEmpty { .. }));
    assert_eq!(fs::read_to_string(dir.path().join("precious")).unwrap(), "data");
}

#[test]
fn more_reserve_than_the_disk_has_is_refused_and_leaves_nothing() {
    let dir = tempdir().unwrap();
    let greedy = archive::WriterOptions { reserve_bytes: 1 << 60, ..options(5) };
    let refused = Writer::create(dir.path(), &description(), greedy).err().unwrap();
    assert!(matches!(refused, ArchiveError::NoSpace { .. }), "{refused}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_is_not_a_run_is_refused_by_name() {
    let dir = tempdir().unwrap();
    let message = Run::open(dir.path()).unwrap_err().to_string();
    assert!(message.ends_with("not a run directory: run.json is missing"), "{message}");
    fs::write(dir.path().join("run.json"), serde_json::to_vec(&description()).unwrap()).unwrap();
    let message = Run::open(dir.path()).unwrap_err().to_string();
    assert!(message.contains("its journal is missing, and a run cannot be read without it"), "{message}");
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempdir().unwrap();
    write_steps(dir.path(), 1, options(5));
    let newer = RunDescription { format: FORMAT_VERSION + 1, ..description() };
    fs::write(dir.path().join("run.json"), serde_json::to_vec(&newer).unwrap()).unwrap();
    let refused = Run::open(dir.path()).unwrap_err();
    assert!(matches!(refused, ArchiveError::Newer { found, .. } if found == FORMAT_VERSION + 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_values_read_back(
        cells in prop::collection::vec((any::<u32>(), any::<u32>(), any::<Option<i64>>()), 0..300),
        consolidate_after in 1_u32..4,
    ) {
        let mut changes: Vec<MetricChange> =
            cells.iter().map(|&(sample, metric, value)| MetricChange { sample, metric: MetricId(metric),
                value }).collect();
        let dir = tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), &description(), options(consolidate_after)).unwrap();
        for part in changes.chunks(100) {
            writer.sample(Step::number(0).header, part);
            prop_assert_eq!(writer.flush(moment(0)), FlushState::Whole);
        }
        let mut read: Vec<MetricChange> =
            Run::open(dir.path()).unwrap().changes().collect::<Result<Vec<_>, _>>().unwrap().concat();
        let key = |change: &MetricChange| (change.sample, change.metric, change.value);
        read.sort_by_key(key);
        changes.sort_by_key(key);
        prop_assert_eq!(read, changes);
    }
}

#[test]
fn a_window_is_read_without_the_batches_of_other_times() {
    let dir = tempdir().unwrap();
    let writer = write_steps(dir.path(), 10, options(4));
    let run = Run::open(dir.path()).unwrap();
    drop(writer);
    let all = run.samples().locations().len();
    // Two consolidations of four flushes, and two flushes.
    assert_eq!(all, 4);
    let (from, to) = (moment(5).monotonic_ns, moment(6).monotonic_ns);
    assert_eq!(run.samples().within(from, to).locations(), run.samples().locations()[1..2]);
    let rows: Vec<_> = run.samples().within(from, to).flat_map(Result::unwrap).collect();
    assert!(rows.iter().any(|row| row.at.monotonic_ns == from) && rows.iter().any(|row| row.at.monotonic_ns == to));
    assert_eq!(run.samples().span_ns(), Some((moment(0).monotonic_ns, moment(9).monotonic_ns)));
    let last: Vec<_> = run.samples().skip(3).flat_map(Result::unwrap).collect();
    assert_eq!(last.iter().map(|row| row.at).collect::<Vec<_>>(), [moment(9)]);
    assert_eq!(run.tasks().within(from, to).locations(), run.tasks().locations(), "tasks have no time");
}
