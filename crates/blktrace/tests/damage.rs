//! Damaged traces: all damage is counted with its position, and reading continues after it.

use std::io::Cursor;

use blktrace::encode::{ByteOrder, Encoder, Version, line};
use blktrace::{AnomalyKind, Notes, Trace};
use model::block::{Action, BlockEvent, DeviceNumber, Kind};
use proptest::prelude::*;

const ENCODER: Encoder = Encoder { version: Version::V7, order: ByteOrder::Little };
/// Length of a record without payload.
const RECORD: usize = 48;

fn event(number: u32) -> BlockEvent {
    BlockEvent {
        sector: u64::from(number) * 8,
        bytes: 4096,
        pid: 7,
        kind: Kind::from_rwbs(b"R").unwrap(),
        ..BlockEvent::new(u64::from(number) * 1000, Action::Queue, DeviceNumber::new(8, 0))
    }
}

fn records(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers.for_each(|number| ENCODER.event(&event(number), number, &mut bytes));
    bytes
}

fn read(bytes: Vec<u8>) -> (Vec<BlockEvent>, Notes) {
    let mut trace = Trace::from_reader("test", Cursor::new(bytes)).unwrap();
    let mut events = Vec::new();
    while let Some(batch) = trace.next_batch().unwrap() {
        events.extend_from_slice(batch);
    }
    (events, trace.notes().clone())
}

fn check(bytes: Vec<u8>, events: u64, expected: &[(AnomalyKind, u64, u64)]) {
    let (_, notes) = read(bytes);
    assert_eq!(notes.events, events);
    let found: Vec<_> = notes.anomalies().iter().map(|a| (a.kind, a.offset, a.amount)).collect();
    assert_eq!(found, expected);
}

#[test]
fn garbage_between_records_is_skipped_to_the_next_one() {
    let mut bytes = records(1..=3);
    bytes.extend([0xaa; 100]);
    bytes.extend(records(4..=5));
    check(bytes, 5, &[(AnomalyKind::Garbage, 3 * RECORD as u64, 100)]);
}

#[test]
fn a_trace_that_begins_within_a_record() {
    let bytes = records(1..=5).split_off(20);
    check(bytes, 4, &[(AnomalyKind::Garbage, 0, RECORD as u64 - 20)]);
}

#[test]
fn a_trace_cut_off_within_a_record() {
    let mut bytes = records(1..=5);
    bytes.truncate(4 * RECORD + 30);
    check(bytes, 4, &[(AnomalyKind::Truncated, 4 * RECORD as u64, 30)]);
}

#[test]
fn missing_numbers_are_counted_and_marked_before_the_next_event() {
    let (events, notes) = read(records([1, 2, 3, 7, 8].into_iter()));
    assert_eq!((notes.gaps(), notes.lost_events()), (1, 3));
    assert_eq!(notes.anomalies()[0].offset, 3 * RECORD as u64);
    let mark = events[3];
    assert_eq!((mark.action, mark.sector, mark.time_ns, mark.argument), (Action::Lost, 3, 3000, 7000));
    assert_eq!((events.len(), notes.events), (6, 5));
}

/// CPU 0 loses its second event; `others` events of CPU 1 come before its third. Returns the mark's index, how many
/// losses were noticed late, and the number of events, marks included.
fn noticed_behind(others: u32, held_back: usize) -> (usize, u64, usize) {
    let mut bytes = records(1..=1);
    (1..=others).for_each(|number| {
        ENCODER.event(&BlockEvent { cpu: 1, ..event(number + 1) }, number, &mut bytes);
    });
    ENCODER.event(&event(others + 2), 3, &mut bytes);
    // The rest does not matter.
    (others + 1..=others + 3000).for_each(|number| {
        ENCODER.event(&BlockEvent { cpu: 1, ..event(number + 2) }, number, &mut bytes);
    });
    let dump = [("dump".to_owned(), Cursor::new(bytes))];
    let mut trace = Trace::from_readers(dump, held_back).unwrap();
    let mut events = Vec::new();
    while let Some(batch) = trace.next_batch().unwrap() {
        events.extend_from_slice(batch);
    }
    assert_eq!((trace.notes().gaps(), trace.notes().lost_events()), (1, 1));
    let mark = events.iter().position(|event| event.action == Action::Lost).unwrap();
    assert_eq!(events[mark].time_ns, events[mark - 1].time_ns);
    assert_eq!(events[mark].argument, u64::from(others + 2) * 1000);
    (mark, trace.notes().noticed_late, events.len())
}

#[test]
fn a_loss_in_a_dump_is_marked_where_it_began_or_counted_as_noticed_late() {
    for others in [1, 1022, 1023, 1024, 2048, 5000, Trace::HELD_BACK as u32] {
        assert_eq!(noticed_behind(others, Trace::HELD_BACK), (1, 0, others as usize + 3003));
    }
    let (mark, late, events) = noticed_behind(5000, 1024);
    assert_eq!((late, events), (1, 8003));
    assert!((5001 - 2 * 1024 - 1..=5001 - 1024).contains(&mark), "as early as possible: {mark}");
    assert_eq!(noticed_behind(1024, 1024), (1, 0, 4027), "exactly the limit");
    let (mark, late, _) = noticed_behind(100_000, Trace::HELD_BACK);
    assert_eq!(late, 1);
    assert!(mark <= 100_001 - Trace::HELD_BACK, "{mark}");
}

#[test]
fn an_event_of_unknown_action_is_no_place_for_a_mark() {
    let mut bytes = records(1..=2);
    bytes[RECORD + 28] = 0x44;
    ENCODER.event(&BlockEvent { cpu: 1, ..event(3) }, 1, &mut bytes);
    ENCODER.event(&event(4), 4, &mut bytes);
    let actions: Vec<_> = read(bytes).0.iter().map(|event| (event.action, event.cpu)).collect();
    assert_eq!(actions, [(Action::Queue, 0), (Action::Lost, 0), (Action::Queue, 1), (Action::Queue, 0)]);
}

#[test]
fn an_unknown_action_is_reported_with_its_number() {
    let mut bytes = records(1..=3);
    bytes[RECORD + 28] = 0x44;
    let (_, notes) = read(bytes);
    assert_eq!(notes.events, 2);
    assert_eq!((notes.count(AnomalyKind::UnknownAction), notes.anomalies()[0].offset), (1, RECORD as u64));
    assert_eq!(notes.gaps(), 0, "its sequence number counts");
}

#[test]
fn a_clock_step_back_is_reported_with_its_position() {
    let mut bytes = records(1..=2);
    let late = BlockEvent { time_ns: 500, ..event(3) };
    ENCODER.event(&late, 3, &mut bytes);
    check(bytes, 3, &[(AnomalyKind::ClockBackward, 2 * RECORD as u64, 1500)]);
}

#[test]
fn a_compressed_file_cut_off_gives_what_is_before_the_cut() {
    let whole = records(1..=100_000);
    let mut packed = zstd::encode_all(whole.as_slice(), 1).unwrap();
    packed.truncate(packed.len() / 2);
    let (events, notes) = read(packed);
    assert!(events.len() > 10_000 && events.len() < 100_000);
    assert_eq!(notes.gaps(), 0);
}

#[test]
fn nothing_is_an_empty_trace_and_anything_else_is_refused() {
    assert_eq!(read(Vec::new()).0, []);
    let refused = Trace::from_reader("notes.txt", Cursor::new(b"Dear diary,\n".repeat(50)));
    let message = refused.err().unwrap().to_string();
    assert!(message.starts_with("notes.txt: not a block trace"), "{message}");
}

#[test]
fn lines_without_events_are_distinguished_from_damaged_lines() {
    let mut text = Vec::new();
    line(&event(1), 1, "a [b] c", &mut text);
    text.extend_from_slice(b"  8,0    1        0     0.000005000     0  m   N cfq521 sl_used=8\n");
    text.extend_from_slice(b"  8,0    0        2 gibberish\n");
    line(&event(2), 2, "dd", &mut text);
    text.extend_from_slice(b"CPU0 (8,0):\n Reads Queued:           2,        8KiB\n\nEvents (8,0): 2 entries\n");
    let (events, notes) = read(text);
    assert_eq!(events, [event(1), event(2)]);
    assert_eq!(notes.count(AnomalyKind::UnreadableLine), 1);
    assert_eq!((notes.messages, notes.names().get(7)), (1, Some("dd")));
}

#[test]
fn forms_of_lines() {
    let text = "# tracer: blk\n\
        dd-14344   [001] .....  2857.135003:   7,2    Q  WS 598208 + 2080 [dd]\n\
        kworker/0:1H-99 (  99) [000] d..1.  2857.135004: 259,0   5c41,1 X  RA 8 / 16 [kworker/0:1H]\n\
        CPU:1 [LOST 42 EVENTS]\n\
        a-b c-7    [001] .....  2857.135005:   7,2    C  FN 0 [0]\n\
        a-b c-7    [001] .....  2857.135006:   7,2    C  WS 8 + 8 [-5]\n\
        a-b c-7    [001] .....  2857.135007:   7,2    D   R 36 (12 00 00 00 24 00) [smartd]\n\
        a-b c-7    [001] .....  2857.135008:   7,2    C   R (12 00 00 00 24 00) [0]\n\
        a-b c-7    [001] .....  2857.135009:   7,2    U   N [a] 12\n";
    let (events, notes) = read(text.as_bytes().to_vec());
    let shown: Vec<String> = events
        .iter()
        .map(|e| {
            let (letters, kind) = (e.action.letters(), format!("{:?}", e.kind));
            format!("{} {letters} {kind} {}+{} {} {}", e.device, e.sector, e.bytes, e.argument, e.pid)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "7,2 Q WS 598208+1064960 0 14344",
            "7,2 lost N 42+0 2857135005000 0",
            "259,0 X RA 8+4096 16 99",
            "7,2 C FN 0+0 0 7",
            "7,2 C WS 8+4096 0 7",
            "7,2 D R passthrough 0+36 0 7",
            "7,2 C R passthrough 0+0 0 7",
            "7,2 U N 0+0 12 7",
        ]
    );
    assert_eq!(events[2].cgroup, 0x1_0000_5c41);
    assert_eq!(events[4].error, 5);
    assert_eq!(notes.lost_events(), 42);
}

/// A damaged length that happens to end where another record begins swallowed all records in between.
#[test]
fn a_damaged_length_that_fits_by_chance_swallows_nothing() {
    let mut bytes = records(1..=134);
    let pdu_len_at = 46;
    bytes[pdu_len_at..pdu_len_at + 2].copy_from_slice(&(85 * 48_u16).to_le_bytes());
    let mut trace = Trace::from_reader("damaged", Cursor::new(bytes)).unwrap();
    let mut read = 0;
    while let Some(batch) = trace.next_batch().unwrap() {
        read += batch.iter().filter(|read| **read == event((read.time_ns / 1000) as u32)).count();
    }
    assert!(read >= 133, "{read} of 134");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        if let Ok(mut trace) = Trace::from_reader("fuzz", Cursor::new(bytes)) {
            while trace.next_batch().unwrap().is_some() {}
        }
    }

    #[test]
    fn everything_but_the_damage_is_read(
        count in 3_u32..200, at in any::<proptest::sample::Index>(), damage in proptest::collection::vec(any::<u8>(),
            1..60)
    ) {
        let mut bytes = records(1..=count);
        let at = at.index(bytes.len() - damage.len().min(bytes.len() - 1));
        let end = (at + damage.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&damage[..end - at]);
        let length = bytes.len() as u64;
        let Ok(mut trace) = Trace::from_reader("damaged", Cursor::new(bytes)) else { return Ok(()) };
        let mut intact = 0;
        while let Some(batch) = trace.next_batch().unwrap() {
            intact += batch.iter().filter(|read| **read == event((read.time_ns / 1000) as u32)).count();
        }
        prop_assert_eq!(trace.notes().bytes, length);
        // 60 bytes touch 3 records at most. A damaged payload length of up to 256 bytes swallows 6 more.
        prop_assert!(intact + 9 >= count as usize, "{} of {}", intact, count);
    }

    #[test]
    fn any_text_is_read_or_refused(lines in proptest::collection::vec("[ 0-9,.+/<>()\\[\\]a-zA-Z-]{0,80}", 0..30)) {
        let mut text = Vec::new();
        line(&event(1), 1, "dd", &mut text);
        for extra in &lines {
            text.extend_from_slice(extra.as_bytes());
            text.push(b'\n');
        }
        let (events, notes) = read(text);
        prop_assert!(!events.is_empty());
        prop_assert!(notes.events <= 1 + lines.len() as u64);
    }

    #[test]
    fn text_round_trips(
        number in 0_u32..18, major in 0_u32..4096, minor in 0_u32..1 << 20, sector in 1_u64..1 << 40,
            sectors in 1_u32..5000,
        time_ns in 0_u64..1 << 50, argument in 1_u64..1 << 40, pid in 0_u32..100_000, cpu in 0_u32..1000
    ) {
        let Some(action) = Action::from_number(number).filter(|a| !matches!(a,
            Action::Abort | Action::DriverData)) else { return Ok(()) };
        let plain = matches!(action, Action::Plug | Action::Unplug | Action::TimerUnplug);
        let takes_argument = matches!(action, Action::Unplug | Action::TimerUnplug | Action::Remap);
        let splits = action == Action::Split;
        let written = BlockEvent {
            sector: if plain { 0 } else { sector },
            bytes: if plain { 0 } else { sectors * 512 },
            argument: if splits { sector + u64::from(sectors) } else if takes_argument { argument } else { 0 },
            from_device: if action == Action::Remap { DeviceNumber::new(minor & 0xfff,
                major) } else { DeviceNumber(0) },
            kind: Kind::from_rwbs(if plain { b"N" } else { b"WS" }).unwrap(),
            pid,
            cpu,
            ..BlockEvent::new(time_ns, action, DeviceNumber::new(major, minor))
        };
        let mut text = Vec::new();
        line(&written, 9, "some [odd] name", &mut text);
        prop_assert_eq!(read(text).0, [written]);
    }
}
