//! Reader of text: blkparse's default output and the ftrace `blk` tracer's two forms.

mod line;

use std::io;

use model::block::{Action, BlockEvent, DeviceNumber};

use crate::marks::Marks;
use crate::notes::{Anomaly, AnomalyKind, Notes};
use crate::sequence::{Continuity, Sequences};
use crate::window::Window;
use line::Line;

/// Whether one of the first lines is an event.
pub(crate) fn is_text(start: &[u8]) -> bool {
    start.split(|&byte| byte == b'\n').take(200).any(|line| matches!(line::parse(line), Line::Event(_)))
}

pub(crate) struct TextReader {
    window: Window,
    input: u32,
    sequences: Sequences,
    last_time_ns: u64,
    /// The place since which the tracer dropped events, and how many; until the next event shows where the loss ended.
    pending_loss: Option<(u64, u64)>,
}

impl TextReader {
    pub(crate) fn new(window: Window, input: u32) -> TextReader {
        TextReader { window, input, sequences: Sequences::new(), last_time_ns: 0, pending_loss: None }
    }

    /// Appends events until `out` holds `limit` or a few more. False at the end of the stream.
    pub(crate) fn read(
        &mut self,
        out: &mut Vec<BlockEvent>,
        limit: usize,
        marks: &mut Marks,
        notes: &mut Notes,
    ) -> io::Result<bool> {
        let before = self.window.offset();
        let more = loop {
            self.read_whole_lines(out, limit, marks, notes);
            if out.len() >= limit {
                break true;
            }
            // A line longer than the whole buffer is not an event.
            if self.window.full() {
                self.drop_rest(AnomalyKind::UnreadableLine, notes);
            }
            if !self.window.fill()? {
                self.end(out, marks, notes);
                break false;
            }
        };
        notes.bytes += self.window.offset() - before;
        Ok(more)
    }

    /// Whether the stream has several CPUs.
    pub(crate) fn several(&self) -> bool {
        self.sequences.several()
    }

    fn read_whole_lines(&mut self, out: &mut Vec<BlockEvent>, limit: usize, marks: &mut Marks, notes: &mut Notes) {
        let mut at = 0;
        while out.len() < limit {
            let bytes = &self.window.bytes()[at..];
            let Some(length) = bytes.iter().position(|&byte| byte == b'\n') else { break };
            self.take_line((at, at + length), out, marks, notes);
            at += length + 1;
        }
        self.window.consume(at);
    }

    fn take_line(
        &mut self,
        (start, end): (usize, usize),
        out: &mut Vec<BlockEvent>,
        marks: &mut Marks,
        notes: &mut Notes,
    ) {
        let offset = self.window.offset() + start as u64;
        let note = |kind, amount, notes: &mut Notes| notes.anomaly(Anomaly { kind, input: self.input, offset, amount });
        match line::parse(&self.window.bytes()[start..end]) {
            Line::Event(parsed) => {
                let (event, sequence) = (parsed.event, parsed.sequence);
                if let Some(name) = parsed.name {
                    notes.name(event.pid, name);
                }
                self.take_event(event, sequence, offset, out, marks, notes);
            }
            Line::Lost { cpu, events } => {
                note(AnomalyKind::Gap, events, notes);
                let since = self.sequences.last_of(cpu);
                let (earliest, before) = self.pending_loss.unwrap_or((since, 0));
                self.pending_loss = Some((earliest.min(since), before + events));
            }
            Line::Message => notes.messages += 1,
            Line::Ignored => {}
            Line::UnknownAction => note(AnomalyKind::UnknownAction, 0, notes),
            Line::Unreadable => note(AnomalyKind::UnreadableLine, (end - start) as u64, notes),
        }
    }

    /// Checks an event's sequence number and time, and appends it.
    fn take_event(
        &mut self,
        event: BlockEvent,
        sequence: u32,
        offset: u64,
        out: &mut Vec<BlockEvent>,
        marks: &mut Marks,
        notes: &mut Notes,
    ) {
        let note = |kind, amount, notes: &mut Notes| notes.anomaly(Anomaly { kind, input: self.input, offset, amount });
        let place = marks.place(out.len() + 1);
        if let Some((since, missing)) = self.pending_loss.take() {
            marks.add(since, lost(&event, missing), notes);
        }
        if sequence == 0 {
            self.sequences.pass(event.cpu, place);
        } else {
            match self.sequences.see(event.device.0, event.cpu, sequence, place) {
                Continuity::Whole => {}
                Continuity::First(before) => notes.missing_at_start += u64::from(before),
                Continuity::Back(by) => note(AnomalyKind::OutOfOrder, u64::from(by), notes),
                Continuity::Gap { missing, since } => {
                    note(AnomalyKind::Gap, u64::from(missing), notes);
                    marks.add(since, lost(&event, u64::from(missing)), notes);
                }
            }
        }
        if event.time_ns < self.last_time_ns {
            note(AnomalyKind::ClockBackward, self.last_time_ns - event.time_ns, notes);
        }
        self.last_time_ns = event.time_ns;
        notes.events += 1;
        out.push(event);
    }

    /// The last line may be incomplete: it counts if it parses.
    fn end(&mut self, out: &mut Vec<BlockEvent>, marks: &mut Marks, notes: &mut Notes) {
        let rest = self.window.bytes().len();
        if rest == 0 {
            return;
        }
        match line::parse(self.window.bytes()) {
            Line::Event(parsed) if parsed.whole => {
                self.take_line((0, rest), out, marks, notes);
                self.window.consume(rest);
            }
            Line::Ignored => self.window.consume(rest),
            _ => self.drop_rest(AnomalyKind::Truncated, notes),
        }
    }

    fn drop_rest(&mut self, kind: AnomalyKind, notes: &mut Notes) {
        let amount = self.window.bytes().len();
        notes.anomaly(Anomaly { kind, input: self.input, offset: self.window.offset(), amount: amount as u64 });
        self.window.consume(amount);
    }
}

/// The mark of a loss that `event` shows. Without sequence numbers the device is unknown; the event's is taken.
fn lost(event: &BlockEvent, missing: u64) -> BlockEvent {
    BlockEvent {
        sector: missing,
        argument: event.time_ns,
        cpu: event.cpu,
        ..BlockEvent::new(event.time_ns, Action::Lost, DeviceNumber(event.device.0))
    }
}
