//! Traces of Perfetto → the same rows as the text that its own bindings make of them.

mod imported;

use std::io::{BufRead, BufReader, Cursor, Read, Write};

use imported::{data, rows};
use ingest::{PerfettoText, is_perfetto};
use proptest::prelude::*;

fn text(trace: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    PerfettoText::open(Cursor::new(trace))?.read_to_string(&mut text)?;
    Ok(text)
}

/// The scheduler's events in their compact form and others that describe themselves; single events, generic ones, and
/// packets that are compressed.
const TRACES: [(&str, &str); 2] = [
    ("perfetto-compact.pftrace.zst", "perfetto-compact-events.txt.zst"),
    ("perfetto-plain.pftrace.zst", "perfetto-plain-events.txt.zst"),
];

#[test]
fn a_trace_has_the_rows_of_its_events() {
    for (trace, events) in TRACES {
        let events = String::from_utf8(data(events)).unwrap();
        let trace = text(&data(trace)).unwrap();
        let (of_events, of_trace) = (rows(&events), rows(&trace));
        assert!(of_events.0.len() > 20 && of_events.3 > 0, "{} {}", of_events.0.len(), of_events.3);
        let different = of_trace.0.iter().zip(&of_events.0).find(|(trace, events)| trace != events);
        assert_eq!(different, None);
        assert_eq!((of_trace.0.len(), &of_trace.1, of_trace.3), (of_events.0.len(), &of_events.1, of_events.3));
        assert!(of_trace.2.iter().any(|task| task.name == "dd"));
        assert_eq!(block(&trace), block(&events));
        assert!(block(&trace).len() > 10);
    }
}

/// Lines of the block layer, which another crate reads.
fn block(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_once(" block:")).map(|(_, event)| event).collect()
}

#[test]
fn a_trace_is_known_by_its_begin() {
    for (trace, events) in TRACES {
        let trace = data(trace);
        assert!(is_perfetto(&trace[..4096]) && is_perfetto(&trace) && !is_perfetto(&data(events)[..4096]));
    }
}

/// Perfetto writes as it records: the file of a machine that stopped ends anywhere.
#[test]
fn of_a_part_of_a_trace_the_events_are_read_and_the_loss_is_said() {
    for (trace, _) in TRACES {
        let trace = data(trace);
        let lines = text(&trace).unwrap().lines().count();
        let mut counts = Vec::new();
        for end in (1..trace.len()).step_by(trace.len() / 97) {
            match text(&trace[..end]) {
                Ok(part) => {
                    // Exactly between two packets nothing shows that others are missing.
                    let is_between = is_boundary(&trace, end);
                    assert_eq!(part.ends_with("LOST 1 events!\n"), !is_between, "{end}");
                    counts.push(part.lines().count());
                }
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{end}: {error}"),
            }
        }
        assert!(counts.is_sorted() && counts.len() > 20 && *counts.last().unwrap() <= lines + 1);
    }
}

fn is_boundary(trace: &[u8], end: usize) -> bool {
    let mut at = 0;
    while at < end {
        let (mut length, mut shift) = (0, 0);
        at += 1;
        loop {
            let byte = trace[at];
            length |= usize::from(byte & 0x7f) << shift;
            (at, shift) = (at + 1, shift + 7);
            if byte < 0x80 {
                break;
            }
        }
        at += length;
    }
    at == end
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn packed(field: u64, values: &[u64]) -> Vec<u8> {
    bytes(field, &values.iter().flat_map(|value| varint(*value)).collect::<Vec<_>>())
}

/// An `FtraceEvent`.
fn event(at_ns: u64, tid: u64, field: u64, message: &[u8]) -> Vec<u8> {
    bytes(2, &[number(1, at_ns), number(2, tid), bytes(field, message)].concat())
}

/// A packet with a bundle.
fn bundle(cpu: u64, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &bytes(1, &[number(1, cpu), fields.concat()].concat()))
}

#[test]
fn compact_events_follow_the_task_that_runs() {
    let compact = |begin: u64| {
        let names = [bytes(5, b"dd"), bytes(5, b"swapper/1")].concat();
        let switches = [packed(1, &[begin, 100]), packed(2, &[2, 0]), packed(3, &[7, 0]), packed(4, &[120, 120])];
        let wakings = [packed(7, &[begin + 50]), packed(8, &[9]), packed(9, &[0]), packed(10, &[98])];
        let comms = [packed(6, &[0, 1]), packed(11, &[0])];
        bytes(4, &[names, switches.concat(), wakings.concat(), comms.concat()].concat())
    };
    // The bundles of a CPU come in any order with those of others; one is after a loss.
    let sync = event(1_000_020, 3, 330, &[number(1, 74), number(2, (-5_i64) as u64)].concat());
    let lost = number(3, 1);
    let trace = [bundle(1, &[compact(1_000_000)]), bundle(1, &[lost, compact(2_000_000)]), bundle(0, &[sync])].concat();
    let expected = "\
<...> 3 [000] 0.001000020: raw_syscalls:sys_exit: NR 74 = -5
dd 7 [001] 0.001000050: sched:sched_waking: comm=dd pid=9 prio=98 target_cpu=0
dd 7 [001] 0.001000100: sched:sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=swapper/1 \
next_pid=0 next_prio=120
CPU:1 [EVENTS DROPPED]
dd 7 [001] 0.002000050: sched:sched_waking: comm=dd pid=9 prio=98 target_cpu=0
dd 7 [001] 0.002000100: sched:sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=swapper/1 \
next_pid=0 next_prio=120
";
    assert_eq!(text(&trace).unwrap(), expected);
    for (field, compressed) in [(50, zlib(&trace)), (133, zstd::encode_all(&trace[..], 1).unwrap())] {
        assert_eq!(text(&bytes(1, &bytes(field, &compressed))).unwrap(), expected, "{field}");
    }
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What a phone says of a sleep: where it was, and calls with the numbers of its machine.
#[test]
fn a_trace_of_another_machine_is_read_with_its_numbers() {
    let machine = bytes(1, &bytes(45, &bytes(1, &[bytes(3, b"5.10.66-android12"), bytes(4, b"riscv64")].concat())));
    let functions = bytes(26, &[number(1, 4), bytes(2, b"folio_wait_bit_common")].concat());
    let reason = event(1_500, 3, 18, &[number(1, 7), number(2, 4), number(3, 1)].concat());
    let enter = event(1_000, 7, 329, &[number(1, 82), number(2, 3)].concat());
    let trace = [machine, bytes(1, &bytes(12, &functions)), bundle(0, &[enter, reason])].concat();
    let expected = "<...> 7 [000] 0.000001000: syscalls:sys_enter_fsync: \n\
        <...> 3 [000] 0.000001500: sched:sched_blocked_reason: pid=7 caller=folio_wait_bit_common io_wait=1\n";
    assert_eq!(text(&trace).unwrap(), expected);
}

#[test]
fn what_cannot_be_read_is_refused_with_a_remedy() {
    let refused = |trace: &[u8], expected: &str| {
        let error = text(trace).unwrap_err();
        assert!(error.kind() == std::io::ErrorKind::InvalidData && error.to_string().contains(expected), "{error}");
    };
    refused(b"", "linux.ftrace");
    // A trace of a program's own events.
    refused(&bytes(1, &[number(8, 1), bytes(11, b"\x08\x01")].concat()), "linux.ftrace");
    let enter = event(1_000, 7, 329, &number(1, 82));
    refused(&bundle(1024, std::slice::from_ref(&enter)), "bundles of events are damaged");
    refused(&bytes(1, &bytes(50, b"no deflate")), "compressed packet");
    // What expands to more than a part that Perfetto compresses.
    refused(&bytes(1, &bytes(50, &zlib(&vec![0; 17 << 20]))), "compressed packet");
    refused(&[bundle(0, std::slice::from_ref(&enter)), b"x".to_vec()].concat(), "damaged at byte");
    refused(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00], "damaged at byte 0");
    // An event without a time, or without what it must have, is none.
    let whole = text(&bundle(0, &[enter.clone(), bytes(2, &bytes(4, b"")), event(2, 7, 4, b"\x08")])).unwrap();
    assert_eq!(whole.lines().count(), 1);
}

proptest! {
    /// Whatever bytes are damaged, there is text or an error.
    #[test]
    fn damage_does_no_harm(
        of in 0..TRACES.len(),
        places in prop::collection::vec((0_usize..126_033, any::<u8>()), 1..20),
    ) {
        let mut trace = data(TRACES[of].0);
        let length = trace.len();
        places.iter().for_each(|(at, byte)| trace[at % length] = *byte);
        if let Ok(source) = PerfettoText::open(Cursor::new(&trace)) {
            let lines = BufReader::new(source).lines().map_while(Result::ok);
            prop_assert!(lines.take(100_000).count() < 100_000);
        }
    }
}
