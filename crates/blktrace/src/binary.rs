//! Reader of binary records.

use model::block::{Action, BlockEvent, DeviceNumber};

use crate::notes::{Anomaly, AnomalyKind, Notes};
use crate::record::{HEADER_V7, HEADER_V8, Header, header_length};
use crate::records::{Records, Sink};
use crate::sequence::{Continuity, Sequences};
use crate::window::Window;

/// The kernel's longest payloads are messages (128 bytes) and passthrough commands (a few dozen bytes).
const LONGEST_PAYLOAD: usize = 256;

/// The kinds of notification.
mod notify {
    pub(super) const PROCESS: u64 = 0;
    pub(super) const MESSAGE: u64 = 2;
}

/// Reads one stream of records in the byte order `BIG`.
pub(crate) struct BinaryReader<const BIG: bool> {
    window: Window,
    input: u32,
    sequences: Sequences,
    last_time_ns: u64,
    /// Length of the bytes being skipped in search of the next record.
    garbage: u64,
}

impl<const BIG: bool> BinaryReader<BIG> {
    pub(crate) fn new(window: Window, input: u32) -> BinaryReader<BIG> {
        BinaryReader { window, input, sequences: Sequences::new(), last_time_ns: 0, garbage: 0 }
    }

    /// Length of the record with its payload; `None` if it is not completely in the window. A payload longer than the
    /// kernel ever writes is a damaged length: the record then ends after its header.
    fn record_length(&self, at: usize, header_len: usize, header: &Header) -> Option<usize> {
        let payload_len = usize::from(header.pdu_len);
        let length = if payload_len <= LONGEST_PAYLOAD { header_len + payload_len } else { header_len };
        (self.window.bytes()[at..].len() >= length).then_some(length)
    }

    fn take(&mut self, header: &Header, payload: (usize, usize), at: usize, sink: &mut Sink) {
        if header.is_notify() {
            let payload = &self.window.bytes()[payload.0..payload.1];
            take_notification(header, payload, sink.notes);
            return;
        }
        if header.sequence != 0 {
            self.check_sequence(header, at, sink);
        }
        if header.time_ns < self.last_time_ns {
            self.note(AnomalyKind::ClockBackward, at, self.last_time_ns - header.time_ns, sink.notes);
        }
        self.last_time_ns = header.time_ns;
        match header.event::<BIG>(&self.window.bytes()[payload.0..payload.1]) {
            Some(event) => sink.push(event),
            None => {
                self.sequences.replace(header.device, header.cpu, sink.marks.place(sink.events.len()));
                self.note(AnomalyKind::UnknownAction, at, header.action, sink.notes);
            }
        }
    }

    fn check_sequence(&mut self, header: &Header, at: usize, sink: &mut Sink) {
        let place = sink.marks.place(sink.events.len() + 1);
        match self.sequences.see(header.device, header.cpu, header.sequence, place) {
            Continuity::Whole => {}
            Continuity::First(missing) => sink.notes.missing_at_start += u64::from(missing),
            Continuity::Back(by) => self.note(AnomalyKind::OutOfOrder, at, u64::from(by), sink.notes),
            Continuity::Gap { missing, since } => {
                self.note(AnomalyKind::Gap, at, u64::from(missing), sink.notes);
                let mark = BlockEvent {
                    sector: u64::from(missing),
                    argument: header.time_ns,
                    cpu: header.cpu,
                    ..BlockEvent::new(self.last_time_ns, Action::Lost, DeviceNumber(header.device))
                };
                sink.marks.add(since, mark, sink.notes);
            }
        }
    }

    fn note(&self, kind: AnomalyKind, at: usize, amount: u64, notes: &mut Notes) {
        notes.anomaly(Anomaly { kind, input: self.input, offset: self.window.offset() + at as u64, amount });
    }

    /// Bytes to skip until a record may begin. Leaves at least three, since the end may cut a magic number.
    fn skip_garbage(&mut self, at: usize) -> usize {
        let bytes = &self.window.bytes()[at..];
        let skip = (1..=bytes.len() - 4)
            .find(|&skip| header_length::<BIG>(&bytes[skip..]).is_some())
            .unwrap_or(bytes.len() - 3);
        self.garbage += skip as u64;
        skip
    }

    fn end_garbage(&mut self, at: usize, notes: &mut Notes) {
        if self.garbage > 0 {
            let offset = self.window.offset() + at as u64 - self.garbage;
            notes.anomaly(Anomaly { kind: AnomalyKind::Garbage, input: self.input, offset, amount: self.garbage });
            self.garbage = 0;
        }
    }
}

impl<const BIG: bool> Records for BinaryReader<BIG> {
    fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    fn several(&self) -> bool {
        self.sequences.several()
    }

    fn read_whole(&mut self, sink: &mut Sink) {
        let mut at = 0;
        while !sink.full() {
            let bytes = &self.window.bytes()[at..];
            if bytes.len() < HEADER_V7 {
                break;
            }
            let Some(header_len) = header_length::<BIG>(bytes) else {
                at += self.skip_garbage(at);
                continue;
            };
            if bytes.len() < header_len {
                break;
            }
            let header = if header_len == HEADER_V8 { Header::v8::<BIG>(bytes) } else { Header::v7::<BIG>(bytes) };
            let length = match self.record_length(at, header_len, &header) {
                Some(length) => length,
                None => break,
            };
            let payload_at = (at + header_len, at + length);
            self.end_garbage(at, sink.notes);
            self.take(&header, payload_at, at, sink);
            at += length;
        }
        self.window.consume(at);
    }

    /// The rest at the end of the source is a truncated record, or garbage shorter than a record.
    fn end(&mut self, sink: &mut Sink) {
        self.end_garbage(0, sink.notes);
        let rest = self.window.bytes().len();
        if rest > 0 {
            self.note(AnomalyKind::Truncated, 0, rest as u64, sink.notes);
            self.window.consume(rest);
        }
    }
}

fn take_notification(header: &Header, payload: &[u8], notes: &mut Notes) {
    match header.action & 0xff {
        notify::PROCESS => {
            let end = payload.iter().position(|&byte| byte == 0).unwrap_or(payload.len());
            notes.name(header.pid, &payload[..end]);
        }
        notify::MESSAGE => notes.messages += 1,
        _ => {}
    }
}
