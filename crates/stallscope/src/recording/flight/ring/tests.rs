use std::fs;
use std::path::Path;

use archive::Run;
use model::event::RunEvent;
use model::metric::SampleHeader;
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::time::Moment;

use super::{Extent, Figures, Ring, RingView};
use crate::recording::flight::directory::bytes_of;
use crate::recording::sink::Sink;

const SECOND: u64 = 1_000_000_000;

fn at(second: u64) -> Moment {
    Moment { monotonic_ns: 1000 * SECOND + second * SECOND, wall_ns: 0 }
}

fn description() -> RunDescription {
    RunDescription {
        version: "0".into(),
        sample_interval_ns: SECOND,
        slower_than_ns: SECOND,
        ..RunDescription::new("flight", at(0))
    }
}

/// A ring of 100 s with slices of 10 s.
fn ring(directory: &Path, ring_bytes: u64) -> (Ring, RingView) {
    let extent = Extent { ring_ns: 100 * SECOND, ring_bytes };
    Ring::begin(directory, extent, at(0), description).unwrap()
}

/// Rotates and flushes as the threads do each second, with a sample and `rows` incompressible operations.
fn advance(ring: &mut Ring, view: &RingView, seconds: std::ops::Range<u64>, rows: u64) {
    for second in seconds {
        if view.wants_rotation(at(second).monotonic_ns) {
            ring.rotate(at(second));
        }
        if let Some(writer) = ring.writer() {
            let header = SampleHeader { sample: second as u32, at: at(second), late_ns: 0, cpu_ns: 0, took_ns: 0 };
            writer.sample(header, &[]);
            writer.operations((0..rows).map(|row| operation(second * rows + row)));
        }
        let _ = ring.flush(at(second));
    }
}

fn operation(number: u64) -> OperationRecord {
    let noise = |salt: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(salt as u32 * 13) ^ number;
    let path = (0..4).map(|salt| format!("{:016x}", noise(salt))).collect();
    OperationRecord {
        kind: OperationKind::Slow,
        class: "read".into(),
        tid: 1,
        start_ns: noise(5),
        duration_ns: noise(6),
        bytes: None,
        errno: None,
        path: Some(path),
        offset_bytes: None,
        fault: None,
    }
}

fn seconds_held(view: &RingView) -> (u64, u64) {
    view.with_slices(|paths, _| {
        let runs = paths.iter().map(|path| Run::open(path).unwrap());
        let mut seconds: Vec<u64> = runs.flat_map(|run| samples(&run)).collect();
        seconds.sort_unstable();
        assert!(seconds.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seconds:?}");
        (seconds[0], seconds[seconds.len() - 1])
    })
}

fn samples(run: &Run) -> Vec<u64> {
    run.samples().flat_map(|batch| batch.unwrap()).map(|header| u64::from(header.sample)).collect()
}

fn bytes_below(directory: &Path) -> u64 {
    fs::read_dir(directory).unwrap().map(|slice| bytes_of(&slice.unwrap().path())).sum()
}

#[test]
fn the_ring_holds_its_time_completely_and_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ring, view) = ring(folder.path(), 64 << 20);
    advance(&mut ring, &view, 0..1000, 1);
    ring.rotate(at(1000));
    let (oldest, newest) = seconds_held(&view);
    assert_eq!(newest, 999);
    assert!((880..=900).contains(&oldest), "{oldest}");
    assert!(fs::read_dir(folder.path()).unwrap().count() <= 13);
    assert_eq!(view.figures(), Figures { slices: 101, ..Figures::default() });
    assert_eq!(view.news(), [""; 0]);
}

#[test]
fn each_slice_records_its_start_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ring, view) = ring(folder.path(), 64 << 20);
    advance(&mut ring, &view, 0..25, 0);
    let _ = Box::new(ring).close(at(25)).unwrap();
    view.with_slices(|paths, _| {
        let runs: Vec<Run> = paths.iter().map(|path| Run::open(path).unwrap()).collect();
        assert_eq!(runs.iter().map(|run| run.description().started).collect::<Vec<_>>(), [at(0), at(10), at(20)]);
        assert!(runs.iter().all(|run| run.check().whole));
        assert!(runs[..2].iter().all(|run| matches!(run.events(), [RunEvent::Ended { .. }])));
    });
}

#[test]
fn a_ring_too_small_for_its_time_holds_less_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 16 << 20;
    let (mut ring, view) = ring(folder.path(), limit);
    let mut highest = 0;
    for second in 0..120 {
        // About 500 KB a second: 16 MiB is less than a minute.
        advance(&mut ring, &view, second..second + 1, 9000);
        highest = highest.max(bytes_below(folder.path()));
    }
    assert!(highest <= limit + (1 << 20), "{highest}");
    ring.rotate(at(120));
    let (oldest, newest) = seconds_held(&view);
    assert!(newest == 119 && oldest > 60, "{oldest}..{newest} {:?}", view.figures());
    let figures = view.figures();
    assert!(figures.dropped_early > 0 && figures.shortened > 0 && figures.lost_rows == 0, "{figures:?}");
    let news = view.news();
    assert!(news.len() == 1 && news[0].starts_with("slices of the ring are deleted early"), "{news:?}");
}

#[test]
fn a_slice_that_cannot_begin_is_skipped_and_reported_and_recording_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ring, view) = ring(folder.path(), 64 << 20);
    advance(&mut ring, &view, 0..15, 1);
    let obstacle = folder.path().join("slice-000003");
    fs::write(&obstacle, "").unwrap();
    advance(&mut ring, &view, 15..45, 1);
    let figures = view.figures();
    assert_eq!((figures.slices, figures.skipped), (2, 3), "{figures:?}");
    assert_eq!(view.news().len(), 1);
    fs::remove_file(&obstacle).unwrap();
    advance(&mut ring, &view, 45..60, 1);
    ring.rotate(at(60));
    assert_eq!(view.news(), ["recording continues"]);
    let lost = view.figures().lost_rows;
    assert!((30..=40).contains(&lost), "{lost}");
    let events = view.with_slices(|paths, _| Run::open(&paths[paths.len() - 1]).unwrap().events().to_vec());
    assert!(matches!(&events[0], RunEvent::Loss { count, .. } if *count == lost), "{events:?}");
}

#[test]
fn slices_in_use_are_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ring, view) = ring(folder.path(), 64 << 20);
    advance(&mut ring, &view, 0..25, 1);
    view.with_slices(|paths, _| {
        advance(&mut ring, &view, 25..200, 1);
        assert!(paths.iter().all(|path| Run::open(path).is_ok()));
    });
    advance(&mut ring, &view, 200..201, 1);
    assert!(seconds_held(&view).0 > 80);
}
