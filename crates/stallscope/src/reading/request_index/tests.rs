use std::cmp::Reverse;

use archive::{FlushState, Run, Writer, WriterOptions};
use model::block::{DeviceNumber, Kind, Operation};
use model::run::RunDescription;
use model::stall::{RequestRecord, Traced};
use model::time::Moment;

use super::{RequestIndex, RequestQuery};

/// Starts every 10 ns; durations vary pseudo-randomly.
fn request(number: u32) -> RequestRecord {
    let began_ns = 1_000 + u64::from(number) * 10;
    RequestRecord {
        request: number,
        device: DeviceNumber::new(7, number % 3),
        sector: u64::from(number) * 8,
        bytes: 4096,
        kind: Kind::of(if number.is_multiple_of(4) { Operation::Write } else { Operation::Read }),
        tid: 1,
        merges: 0,
        queued_ns: Some(began_ns),
        got_ns: None,
        inserted_ns: None,
        issued_ns: Some(began_ns + 1),
        completed_ns: began_ns + 1 + u64::from(number.wrapping_mul(2_654_435_761) >> 22),
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

fn written(folder: &std::path::Path) -> (Run, RequestIndex) {
    let path = folder.join("run");
    let description = RunDescription::new("record", Moment { monotonic_ns: 1, wall_ns: 1 });
    let options = WriterOptions { sync: false, consolidate_after_flushes: 2, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, &description, options).unwrap();
    for number in 0..5_000 {
        let mut traced = Traced { requests: vec![request(number)], ..Traced::default() };
        writer.traced(&mut traced);
        if number % 500 == 0 {
            let now = Moment { monotonic_ns: u64::from(number) * 1_000_000_000, wall_ns: 1 };
            assert_eq!(writer.flush(now), FlushState::Whole);
        }
    }
    writer.close(Moment { monotonic_ns: u64::MAX / 2, wall_ns: 1 }).unwrap();
    let run = Run::open(&path).unwrap();
    let mut index = RequestIndex::default();
    run.requests().for_each(|rows| index.batch(&rows.unwrap()));
    (run, index)
}

#[test]
fn a_search_finds_what_reading_everything_finds() {
    let folder = tempfile::tempdir().unwrap();
    let (run, index) = written(folder.path());
    assert!(index.batches.len() > 3, "{}", index.batches.len());
    let check = |from_ns: u64, to_ns: u64, text: &str, most: usize| {
        let (found, all) = index.search(&run, None, &RequestQuery { from_ns, to_ns, text: text.into() }, most);
        let words = |row: &RequestRecord| format!("{} {} {} ", row.kind, row.device, row.sector).to_lowercase();
        let mut expected: Vec<RequestRecord> = (0..5_000).map(request).collect();
        expected.retain(|row| row.completed_ns >= from_ns && row.began_ns() <= to_ns && words(row).contains(text));
        assert_eq!(all, expected.len() as u64, "{from_ns} {to_ns} {text}");
        expected.sort_by_key(|row| Reverse((row.lived_ns(), row.completed_ns, row.request)));
        expected.truncate(most);
        let lives = |rows: &[RequestRecord]| rows.iter().map(RequestRecord::lived_ns).collect::<Vec<_>>();
        assert_eq!(lives(&found), lives(&expected), "{from_ns} {to_ns} {text}");
    };
    for (from_ns, to_ns) in [(0, u64::MAX), (20_000, 21_000), (0, 999), (51_000, u64::MAX)] {
        for text in ["", "w", "7,1", "1600", "7,2 16", "r 7,1", "7,1 16 ", "nothing"] {
            check(from_ns, to_ns, text, 7);
            check(from_ns, to_ns, text, 100_000);
        }
    }
}

#[test]
fn only_batches_that_a_sector_may_decide_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (_run, index) = written(folder.path());
    let counts = |from_ns: u64, text: &str| -> Vec<Option<u64>> {
        let query = RequestQuery { from_ns, to_ns: u64::MAX, text: text.into() };
        index.candidates(None, &query).iter().map(|candidate| candidate.rows).collect()
    };
    let all = index.batches.len();
    assert_eq!(counts(0, "nothing"), []);
    assert_eq!(counts(0, "w 7,1").iter().flatten().sum::<u64>(), (0..5_000).filter(|n| n % 12 == 4).count() as u64);
    assert_eq!(counts(0, "1600"), vec![None; all]);
    // A batch that began earlier may match in part.
    let cut = counts(20_000, "w");
    assert!(cut.len() < all && cut.iter().filter(|rows| rows.is_none()).count() == 1, "{cut:?}");
}

#[test]
fn a_batch_of_many_tasks_is_read() {
    let mut index = RequestIndex::default();
    let rows: Vec<RequestRecord> = (0..2_000).map(|number| RequestRecord { tid: number, ..request(number) }).collect();
    index.batch(&rows);
    let query = RequestQuery { from_ns: 0, to_ns: u64::MAX, text: "nothing".into() };
    let candidates = index.candidates(None, &query);
    assert_eq!((candidates.len(), candidates[0].rows), (1, None));
}
