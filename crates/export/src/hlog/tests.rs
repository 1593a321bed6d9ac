use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use model::latency::index_of;
use model::operation::{Bucket, IntervalRecord};
use model::run::RunDescription;
use model::time::Moment;
use proptest::prelude::*;

use super::{HistogramLog, base64, compressed};

fn buckets(values: &[u64]) -> Vec<Bucket> {
    let mut counts = std::collections::BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(index_of(*value)).or_insert(0) += 1);
    counts.into_iter().map(|(index, count)| Bucket { index, count }).collect()
}

fn read(bytes: &[u8]) -> Histogram<u64> {
    Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
}

#[test]
fn base64_is_that_of_the_rfc() {
    let check = |bytes: &str, expected: &str| {
        let mut text = String::new();
        base64(bytes.as_bytes(), &mut text);
        assert_eq!(text, expected);
    };
    check("", "");
    check("f", "Zg==");
    check("fo", "Zm8=");
    check("foobar", "Zm9vYmFy");
}

#[test]
fn a_log_is_read_with_its_tags_and_times() {
    let mut description =
        RunDescription::new("x", Moment { monotonic_ns: 5_000_000_000, wall_ns: 1_700_000_000_250_000_000 });
    description.version = "1".into();
    let mut log = HistogramLog::new(Vec::new(), &description).unwrap();
    let interval = IntervalRecord {
        phase: "run".into(),
        class: "a, b".into(),
        start_ns: 6_500_000_000,
        end_ns: 7_500_000_000,
        count: 2,
        max_ns: Some(2_500_000),
        buckets: buckets(&[2_500_000, 1]),
        ..IntervalRecord::default()
    };
    log.interval(&interval).unwrap();
    log.interval(&IntervalRecord { max_ns: None, buckets: Vec::new(), count: 0, ..interval }).unwrap();
    let text = log.finish().unwrap();
    let entries: Vec<_> = IntervalLogIterator::new(&text).map(Result::unwrap).collect();
    assert!(matches!(entries[0], LogEntry::StartTime(at) if at.as_millis() == 1_700_000_000_250));
    let intervals: Vec<_> = entries
        .iter()
        .filter_map(|entry| if let LogEntry::Interval(line) = entry { Some(line) } else { None })
        .collect();
    assert_eq!(intervals.len(), 2);
    assert_eq!(intervals[0].tag().unwrap().as_str(), "run.a__b");
    assert_eq!((intervals[0].start_timestamp().as_millis(), intervals[0].duration().as_millis()), (1500, 1000));
    assert_eq!(intervals[0].max(), 2.5);
}

proptest! {
    #[test]
    fn every_histogram_reads_back(values in proptest::collection::vec(0_u64..3_600_000_000_000, 0..50)) {
        let read = read(&compressed(&buckets(&values)).unwrap());
        let mut expected = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        values.iter().for_each(|value| expected.record(*value).unwrap());
        prop_assert_eq!(read, expected);
    }
}
