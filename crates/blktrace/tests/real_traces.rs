//! Real traces: the counts are blkparse's.

use std::collections::HashMap;
use std::path::Path;

use blktrace::{AnomalyKind, Trace};
use model::block::{Action, BlockEvent, DeviceNumber, Kind};

fn read(name: &str) -> (Vec<BlockEvent>, Trace) {
    let mut trace = Trace::open([Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)]).unwrap();
    let mut events = Vec::new();
    while let Some(batch) = trace.next_batch().unwrap() {
        events.extend_from_slice(batch);
    }
    (events, trace)
}

fn counts(events: &[BlockEvent]) -> HashMap<(&'static str, String), usize> {
    let mut counts = HashMap::new();
    for event in events {
        *counts.entry((event.action.letters(), event.kind.to_string())).or_insert(0) += 1;
    }
    counts
}

/// `action kind count`, as `blkparse | awk '{print $6, $7}' | sort | uniq -c` says.
fn assert_counts(events: &[BlockEvent], expected: &str) {
    let counts = counts(events);
    let mut total = 0;
    for line in expected.split(", ") {
        let words: Vec<&str> = line.split(' ').collect();
        let count: usize = words[2].parse().unwrap();
        let action = Action::from_letters(words[0].as_bytes()).unwrap().letters();
        assert_eq!(counts.get(&(action, words[1].to_owned())), Some(&count), "{line}");
        total += count;
    }
    assert_eq!(total, events.len());
}

#[test]
fn merged_dump_of_an_nvme_device() {
    let (events, trace) = read("nvme-merged.blktrace.0");
    assert_counts(&events, "A RA 963, Q RA 963, G RA 963, P N 963, U N 963, D RA 963, C RA 963");
    let first = &events[0];
    assert_eq!((first.device, first.from_device), (DeviceNumber::new(259, 0), DeviceNumber::new(259, 3)));
    assert_eq!((first.sector, first.argument, first.bytes), (2_348_060_440, 2_345_510_680, 4096));
    assert_eq!((trace.notes().gaps(), trace.notes().missing_at_start), (0, 0));
    assert!(trace.notes().anomalies().is_empty());
}

#[test]
fn binary_stream_of_ftrace() {
    let (events, trace) = read("loop-xfs.bin.zst");
    assert_counts(
        &events,
        "U N 43868, P N 43868, C WS 23774, I WS 22037, G WS 22037, D WS 22037, Q WS 21894, Q RA 21828, I RA 21828, \
         G RA 21828, D RA 21828, C RA 21828, D FN 3717, C FN 3717, C WSM 2014, Q FWS 1737, G FWS 1737, Q FWFSM 1007, \
         I WSM 1007, G FWFSM 1007, D WSM 1007, X WS 143, Q W 10, I W 10, G W 10, D W 10, C W 10",
    );
    // blkparse's totals: "Reads Queued: 21828, 87312KiB; Writes Queued: 24648, 257238KiB".
    let queued = |write: bool| {
        let kind = |kind: Kind| (kind.operation() == model::block::Operation::Write) == write;
        let queued = events.iter().filter(|event| event.action == Action::Queue && kind(event.kind));
        queued.fold((0, 0), |(count, kib), event| (count + 1, kib + event.bytes as u64))
    };
    assert_eq!(queued(false), (21_828, 87_312 << 10));
    assert_eq!((queued(true).0, queued(true).1 >> 10), (24_648, 257_238));
    assert_eq!(trace.notes().bytes, 15_990_392);
    assert!(trace.notes().anomalies().is_empty());
    let split = events.iter().find(|event| event.action == Action::Split).unwrap();
    assert_eq!((split.sector, split.argument, split.bytes), (655_424, 656_448, 1024 * 512));
}

#[test]
fn classic_text_of_ftrace() {
    let (events, trace) = read("loop-xfs.classic.txt.zst");
    assert_eq!(events.len(), 74_341);
    assert_eq!(events[0].time_ns, 2_857_135_002_985);
    assert_eq!(events[0].sectors(), 2080);
    assert_eq!(trace.notes().names().get(14_344), Some("dd"));
    assert_eq!(trace.notes().names().get(14_349), Some("fio"));
    // trace_pipe merges CPUs by time, except for one pair of events 255 ns apart.
    assert_eq!(trace.notes().count(AnomalyKind::ClockBackward), 1);
    assert_eq!(trace.notes().amount(AnomalyKind::ClockBackward), 255);
    assert_eq!(trace.notes().anomalies().len(), 1, "{:?}", trace.notes().anomalies());
}
