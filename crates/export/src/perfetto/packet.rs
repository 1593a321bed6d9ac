//! Packets of a trace: clocks, tracks, slices, instants, counters. Field numbers are those of Perfetto's
//! `trace_packet.proto`, `track_descriptor.proto`, `track_event.proto` and others.

use std::io::{self, Write};

use model::metric::Unit;
use model::time::Moment;

use crate::protobuf::Message;

/// A track of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Track(pub(super) u64);

/// All packets belong to one sequence.
const SEQUENCE: u64 = 1;
/// `BUILTIN_CLOCK_REALTIME`, `_MONOTONIC`.
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// An annotation of a slice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Note<'a> {
    /// A number.
    Number(&'a str, u64),
    /// A number that may be negative.
    Signed(&'a str, i64),
    /// Text.
    Text(&'a str, &'a str),
}

/// The trace as a stream of packets.
#[derive(Debug)]
pub(super) struct Packets<W> {
    sink: W,
    packet: Message,
    head: Message,
}

impl<W: Write> Packets<W> {
    /// A trace that begins with both clocks.
    pub(super) fn new(sink: W, at: Moment) -> io::Result<Packets<W>> {
        let mut packets = Packets { sink, packet: Message::default(), head: Message::default() };
        packets.write(|packet| {
            // SEQ_INCREMENTAL_STATE_CLEARED: here the sequence begins.
            packet.number(13, 1);
            packet.number(87, 1);
            packet.message(6, |snapshot| {
                for (clock, time_ns) in [(REALTIME, at.wall_ns.max(0) as u64), (MONOTONIC, at.monotonic_ns)] {
                    snapshot.message(1, |reading| {
                        reading.number(1, clock);
                        reading.number(2, time_ns);
                    });
                }
                snapshot.number(2, MONOTONIC);
            });
        })?;
        Ok(packets)
    }

    /// Declares a track, below its parent if it has one.
    pub(super) fn track(&mut self, track: Track, parent: Option<Track>, name: &str) -> io::Result<()> {
        self.describe(track, parent, |descriptor| descriptor.text(2, name))
    }

    /// Declares a process.
    pub(super) fn process(&mut self, track: Track, pid: u32, name: Option<&str>) -> io::Result<()> {
        self.describe(track, None, |descriptor| {
            descriptor.message(3, |process| {
                process.number(1, u64::from(pid));
                name.iter().for_each(|name| process.text(6, name));
            });
        })
    }

    /// Declares a thread.
    pub(super) fn thread(&mut self, track: Track, parent: Track, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        self.describe(track, Some(parent), |descriptor| {
            descriptor.message(4, |thread| {
                thread.number(1, u64::from(pid));
                thread.number(2, u64::from(tid));
                thread.text(5, name);
            });
        })
    }

    /// Declares a counter.
    pub(super) fn counter(&mut self, track: Track, parent: Track, name: &str, unit: Unit) -> io::Result<()> {
        self.describe(track, Some(parent), |descriptor| {
            descriptor.text(2, name);
            descriptor.message(8, |counter| match unit {
                Unit::Count => counter.number(3, 2),
                Unit::Bytes => counter.number(3, 3),
                Unit::Nanoseconds => counter.number(3, 1),
                Unit::Kibibytes => scaled(counter, 3, 1024),
                Unit::Sectors => scaled(counter, 3, 512),
                Unit::Microseconds => scaled(counter, 1, 1_000),
                Unit::Milliseconds => scaled(counter, 1, 1_000_000),
                Unit::Pages | Unit::ClockTicks => counter.text(6, unit.name()),
            });
        })
    }

    /// A slice, from its begin to its end. Slices that share one of `flows` are joined by an arrow.
    pub(super) fn slice(
        &mut self,
        track: Track,
        (start_ns, end_ns): (u64, u64),
        (category, name): (&str, &str),
        flows: &[u64],
        notes: &[Note<'_>],
    ) -> io::Result<()> {
        self.event(track, start_ns, BEGIN, |event| {
            describe(event, category, name, notes);
            flows.iter().for_each(|flow| event.fixed(47, *flow));
        })?;
        self.event(track, end_ns, END, |_| {})
    }

    /// A moment.
    pub(super) fn instant(
        &mut self,
        track: Track,
        at_ns: u64,
        (category, name): (&str, &str),
        notes: &[Note<'_>],
    ) -> io::Result<()> {
        self.event(track, at_ns, INSTANT, |event| describe(event, category, name, notes))
    }

    /// A counter's value from a moment on; an absent value becomes NaN, which SQL reads as null.
    pub(super) fn value(&mut self, track: Track, at_ns: u64, value: Option<i64>) -> io::Result<()> {
        self.event(track, at_ns, COUNTER, |event| match value {
            Some(value) => event.signed(30, value),
            None => event.double(44, f64::NAN),
        })
    }

    /// Ends the trace.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn describe(&mut self, track: Track, parent: Option<Track>, more: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.write(|packet| {
            packet.message(60, |descriptor| {
                descriptor.number(1, track.0);
                parent.iter().for_each(|parent| descriptor.number(5, parent.0));
                more(descriptor);
            });
        })
    }

    fn event(&mut self, track: Track, at_ns: u64, kind: u64, more: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.write(|packet| {
            packet.number(8, at_ns);
            packet.number(58, MONOTONIC);
            packet.message(11, |event| {
                event.number(9, kind);
                event.number(11, track.0);
                more(event);
            });
        })
    }

    fn write(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.clear();
        self.packet.number(10, SEQUENCE);
        fill(&mut self.packet);
        self.head.clear();
        self.head.varint(1 << 3 | 2);
        self.head.varint(self.packet.bytes().len() as u64);
        self.sink.write_all(self.head.bytes())?;
        self.sink.write_all(self.packet.bytes())
    }
}

fn scaled(counter: &mut Message, unit: u64, factor: u64) {
    counter.number(3, unit);
    counter.number(4, factor);
}

fn describe(event: &mut Message, category: &str, name: &str, notes: &[Note<'_>]) {
    event.text(22, category);
    event.text(23, name);
    for note in notes {
        event.message(4, |annotation| match *note {
            Note::Number(name, value) => {
                annotation.text(10, name);
                annotation.number(3, value);
            }
            Note::Signed(name, value) => {
                annotation.text(10, name);
                annotation.signed(4, value);
            }
            Note::Text(name, text) => {
                annotation.text(10, name);
                annotation.text(6, text);
            }
        });
    }
}
