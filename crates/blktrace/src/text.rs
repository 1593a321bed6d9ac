//! Reader of text: blkparse's default output and the ftrace `blk` tracer's two forms.

mod line;

use model::block::{Action, BlockEvent, DeviceNumber};

use crate::notes::{Anomaly, AnomalyKind, Notes};
use crate::records::{Records, Sink};
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

    fn take_line(&mut self, (start, end): (usize, usize), sink: &mut Sink) {
        let offset = self.window.offset() + start as u64;
        let note = |kind, amount, notes: &mut Notes| notes.anomaly(Anomaly { kind, input: self.input, offset, amount });
        match line::parse(&self.window.bytes()[start..end]) {
            Line::Event(parsed) => {
                let (event, sequence) = (parsed.event, parsed.sequence);
                if let Some(name) = parsed.name {
                    sink.notes.name(event.pid, name);
                }
                self.take_event(event, sequence, offset, sink);
            }
            Line::Lost { cpu, events } => {
                note(AnomalyKind::Gap, events, sink.notes);
                let since = self.sequences.last_of(cpu);
                let (earliest, before) = self.pending_loss.unwrap_or((since, 0));
                self.pending_loss = Some((earliest.min(since), before + events));
            }
            Line::Message => sink.notes.messages += 1,
            Line::Ignored => {}
            Line::UnknownAction => note(AnomalyKind::UnknownAction, 0, sink.notes),
            Line::Unreadable => note(AnomalyKind::UnreadableLine, (end - start) as u64, sink.notes),
        }
    }

    /// Checks an event's sequence number and time, and appends it.
    fn take_event(&mut self, event: BlockEvent, sequence: u32, offset: u64, sink: &mut Sink) {
        let note = |kind, amount, notes: &mut Notes| notes.anomaly(Anomaly { kind, input: self.input, offset, amount });
        let place = sink.marks.place(sink.events.len() + 1);
        if let Some((since, missing)) = self.pending_loss.take() {
            sink.marks.add(since, lost(&event, missing), sink.notes);
        }
        if sequence == 0 {
            self.sequences.pass(event.cpu, place);
        } else {
            match self.sequences.see(event.device.0, event.cpu, sequence, place) {
                Continuity::Whole => {}
                Continuity::First(before) => sink.notes.missing_at_start += u64::from(before),
                Continuity::Back(by) => note(AnomalyKind::OutOfOrder, u64::from(by), sink.notes),
                Continuity::Gap { missing, since } => {
                    note(AnomalyKind::Gap, u64::from(missing), sink.notes);
                    sink.marks.add(since, lost(&event, u64::from(missing)), sink.notes);
                }
            }
        }
        if event.time_ns < self.last_time_ns {
            note(AnomalyKind::ClockBackward, self.last_time_ns - event.time_ns, sink.notes);
        }
        self.last_time_ns = event.time_ns;
        sink.push(event);
    }

    fn drop_rest(&mut self, kind: AnomalyKind, notes: &mut Notes) {
        let amount = self.window.bytes().len();
        notes.anomaly(Anomaly { kind, input: self.input, offset: self.window.offset(), amount: amount as u64 });
        self.window.consume(amount);
    }
}

impl Records for TextReader {
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
            let Some(length) = bytes.iter().position(|&byte| byte == b'\n') else { break };
            self.take_line((at, at + length), sink);
            at += length + 1;
        }
        self.window.consume(at);
    }

    /// A line longer than the whole window is not an event.
    fn make_room(&mut self, sink: &mut Sink) {
        self.drop_rest(AnomalyKind::UnreadableLine, sink.notes);
    }

    /// The last line may be incomplete: it counts if it parses.
    fn end(&mut self, sink: &mut Sink) {
        let rest = self.window.bytes().len();
        if rest == 0 {
            return;
        }
        match line::parse(self.window.bytes()) {
            Line::Event(parsed) if parsed.whole => {
                self.take_line((0, rest), sink);
                self.window.consume(rest);
            }
            Line::Ignored => self.window.consume(rest),
            _ => self.drop_rest(AnomalyKind::Truncated, sink.notes),
        }
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
