//! Joined slices of one recording equal the recording.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scenario::{Step, description, moment, options, rows_in, rows_of};
use archive::{ArchiveError, Run, RunState, Writer, WriterOptions, merge};
use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::stall::{StallKind, StallRecord, Traced};
use proptest::prelude::*;
use tempfile::tempdir;

/// A metric's value at each sample: `None` where it is absent.
type Values = Vec<Option<i64>>;

fn descriptor(id: u32, name: u32) -> MetricDescriptor {
    let unit = Unit::Pages;
    MetricDescriptor {
        id: MetricId(id),
        name: format!("m.{name}"),
        instance: String::new(),
        unit,
        semantics: Semantics::Gauge,
        device: None,
    }
}

fn header(sample: u32, step: u32) -> SampleHeader {
    SampleHeader { sample, at: moment(step), late_ns: u64::from(step), cpu_ns: 1, took_ns: 2 }
}

/// Writes steps `from..to` as a slice, in which metrics have the numbers of `number`.
fn write_slice(dir: &Path, values: &[Values], (from, to): (u32, u32), number: impl Fn(u32) -> u32) -> Writer {
    let mut writer = Writer::create(dir, &description(), options(3)).unwrap();
    let mut written: Values = vec![None; values.len()];
    let mut described = vec![false; values.len()];
    for step in from..to {
        let mut changes = Vec::new();
        for (metric, series) in values.iter().enumerate() {
            let (id, value) = (number(metric as u32), series[step as usize]);
            if value != written[metric] {
                if !std::mem::replace(&mut described[metric], true) {
                    writer.describe(&[descriptor(id, metric as u32)]);
                }
                changes.push(MetricChange { sample: step - from, metric: MetricId(id), value });
                written[metric] = value;
            }
        }
        writer.sample(header(step - from, step), &changes);
        let _ = writer.flush(moment(step));
    }
    writer
}

fn open_all(dirs: &[PathBuf]) -> Vec<Run> {
    dirs.iter().map(|dir| Run::open(dir).unwrap()).collect()
}

fn merged(dirs: &[PathBuf], into: &Path) -> Run {
    let options = WriterOptions { sync: true, ..options(60) };
    merge(open_all(dirs), into, &description(), &options, moment(1000)).unwrap();
    Run::open(into).unwrap()
}

fn all<Row>(batches: impl Iterator<Item = Result<Vec<Row>, ArchiveError>>) -> Vec<Row> {
    batches.flat_map(|batch| batch.unwrap()).collect()
}

/// The values at each sample, by the metric's name; panics where a change changes nothing.
fn values_in(run: &Run, metrics: usize) -> Vec<Values> {
    let samples = all(run.samples());
    assert!(samples.iter().enumerate().all(|(at, header)| header.sample == at as u32), "{samples:?}");
    let descriptors = all(run.descriptors());
    let mut values: Vec<Values> = vec![vec![None; samples.len()]; metrics];
    for change in all(run.changes()) {
        let name = &descriptors.iter().find(|descriptor| descriptor.id == change.metric).unwrap().name;
        let series = &mut values[name.strip_prefix("m.").unwrap().parse::<usize>().unwrap()];
        assert_ne!(series[change.sample as usize], change.value, "written twice: {change:?}");
        series[change.sample as usize..].fill(change.value);
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn joined_slices_hold_the_values_of_the_whole_once(
        values in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, 0_i64..3), 30), 1..6),
        mut cuts in prop::collection::btree_set(1_u32..30, 0..4),
    ) {
        let base = tempdir().unwrap();
        cuts.insert(30);
        let mut from = 0;
        let mut dirs = Vec::new();
        for (index, to) in cuts.into_iter().enumerate() {
            let dir = base.path().join(format!("slice-{index}"));
            // Each slice numbers its metrics in another way.
            let shift = index as u32 * 7;
            write_slice(&dir, &values, (from, to), |metric| 100 + shift - metric).close(moment(to)).unwrap();
            dirs.push(dir);
            from = to;
        }
        let run = merged(&dirs, &base.path().join("whole"));
        prop_assert_eq!(values_in(&run, values.len()), values);
        let late: Vec<u64> = all(run.samples()).iter().map(|header| header.late_ns).collect();
        prop_assert_eq!(late, (0..30).collect::<Vec<u64>>());
        prop_assert!(run.check().whole);
    }
}

#[test]
fn what_lasts_when_a_slice_ends_is_said_of_the_last_one() {
    let base = tempdir().unwrap();
    let dirs: Vec<PathBuf> = (0..3).map(|slice| base.path().join(slice.to_string())).collect();
    for (slice, dir) in (1..).zip(&dirs) {
        let mut writer = Writer::create(dir, &description(), options(3)).unwrap();
        let row = |kind, tid| StallRecord::new(kind, tid, slice, slice + 1);
        let stalls = vec![row(StallKind::LastingWait, 7), row(StallKind::OffCpu, 8)];
        writer.traced(&mut Traced { stalls, ..Traced::default() });
        writer.close(moment(slice as u32)).unwrap();
    }
    let run = merged(&dirs, &base.path().join("whole"));
    let rows: Vec<_> = all(run.stalls()).iter().map(|row| (row.tid, row.start_ns)).collect();
    assert_eq!(rows, [(8, 1), (8, 2), (7, 3), (8, 3)]);
}

#[test]
fn rows_and_events_are_all_there_and_the_slices_ends_are_not() {
    let base = tempdir().unwrap();
    let dirs: Vec<PathBuf> = (0..3).map(|slice| base.path().join(slice.to_string())).collect();
    let Traced { stacks, tasks, .. } = Step::number(0).traced;
    let first = Traced { stacks, tasks, ..Traced::default() };
    assert!(!first.stacks.is_empty() && !first.tasks.is_empty());
    for (slice, dir) in dirs.iter().enumerate() {
        let mut writer = Writer::create(dir, &description(), options(2)).unwrap();
        let steps = slice as u32 * 5..(slice as u32 + 1) * 5;
        writer.event(RunEvent::LateSample { sample: steps.start + 1, late_ns: 9 });
        for step in steps {
            let rows = Step::number(step);
            writer.describe(&Step::number(0).descriptors);
            writer.sample(rows.header, &rows.changes);
            writer.intervals(rows.intervals);
            writer.operations(rows.operations);
            writer.traced(&mut rows.traced.clone());
            // Repeated in each slice.
            writer.traced(&mut first.clone());
            let _ = writer.flush(moment(step));
        }
        writer.event(RunEvent::Ended { at_ns: 1, how: model::event::Ending::Done });
        writer.close(moment(9)).unwrap();
    }
    let run = merged(&dirs, &base.path().join("whole"));
    let (got, whole) = (rows_in(&run), rows_of(15));
    assert_eq!((&got.intervals, &got.operations), (&whole.intervals, &whole.operations));
    assert_eq!((&got.stalls, &got.requests), (&whole.stalls, &whole.requests));
    assert_eq!((got.request_intervals, got.stacks, got.tasks), (whole.request_intervals, whole.stacks, whole.tasks));
    let late = |sample| RunEvent::LateSample { sample, late_ns: 9 };
    assert_eq!(run.events()[..3], [late(1), late(6), late(11)]);
    assert!(matches!(run.events()[3..], [RunEvent::Ended { at_ns, .. }] if at_ns == moment(1000).monotonic_ns));
    assert_eq!((run.state(), run.check().whole), (RunState::Closed, true));
}

#[test]
fn a_slice_cut_off_in_the_middle_of_a_flush_gives_what_was_flushed() {
    let base = tempdir().unwrap();
    let values = vec![(0..20).map(Some).collect::<Values>(), vec![Some(5); 20]];
    let (first, second) = (base.path().join("0"), base.path().join("1"));
    write_slice(&first, &values, (0, 10), |metric| metric).close(moment(10)).unwrap();
    drop(write_slice(&second, &values, (10, 20), |metric| metric));
    let recent = fs::read_dir(&second).unwrap().flatten().map(|entry| entry.path());
    let recent = recent.max_by_key(|path| path.to_string_lossy().contains("recent-").then(|| path.clone())).unwrap();
    let bytes = fs::read(&recent).unwrap();
    fs::write(&recent, &bytes[..bytes.len() - 3]).unwrap();

    let run = merged(&[first, second], &base.path().join("whole"));
    let until_19: Vec<Values> = values.iter().map(|series| series[..19].to_vec()).collect();
    assert_eq!(values_in(&run, 2), until_19);
}

#[test]
fn damaged_rows_are_absent_and_counted() {
    let base = tempdir().unwrap();
    let values = vec![vec![Some(7); 20]];
    let (first, second) = (base.path().join("0"), base.path().join("1"));
    write_slice(&first, &values, (0, 10), |metric| metric).close(moment(10)).unwrap();
    write_slice(&second, &values, (10, 20), |metric| metric).close(moment(20)).unwrap();
    let metrics = second.join("metrics-0000.arrows");
    let mut bytes = fs::read(&metrics).unwrap();
    let middle = bytes.len() - 40;
    bytes[middle] ^= 1;
    fs::write(&metrics, bytes).unwrap();

    let run = merged(&[first, second], &base.path().join("whole"));
    // Not the value of the first slice carried on: what is not known is absent.
    assert_eq!(values_in(&run, 1), vec![[vec![Some(7); 10], vec![None; 10]].concat()]);
    // The joined run says what is missing, and when.
    let [damage] = &run.damage()[..] else { panic!("{:?}", run.damage()) };
    assert!(damage.file.ends_with("1/metrics-0000.arrows") && damage.rows == Some(1), "{damage:?}");
    assert!(!run.check().whole);
}

#[test]
fn a_slice_that_was_deleted_after_it_was_opened_is_still_joined() {
    let base = tempdir().unwrap();
    let values = vec![vec![Some(7); 10]];
    let dir = base.path().join("0");
    write_slice(&dir, &values, (0, 10), |metric| metric).close(moment(10)).unwrap();
    let slices = open_all(std::slice::from_ref(&dir));
    fs::remove_dir_all(&dir).unwrap();
    let whole = base.path().join("whole");
    merge(slices, &whole, &description(), &options(60), moment(11)).unwrap();
    assert_eq!(values_in(&Run::open(&whole).unwrap(), 1), values);
}

#[test]
fn no_slices_make_an_empty_run() {
    let base = tempdir().unwrap();
    let whole = base.path().join("whole");
    merge([], &whole, &description(), &options(60), moment(1)).unwrap();
    assert!(Run::open(&whole).unwrap().check().whole);
}
