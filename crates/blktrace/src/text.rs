//! Reader of text: blkparse's default output, the ftrace `blk` tracer's two forms, and block tracepoints of ftrace,
//! trace-cmd and perf.

mod field;
mod line;
mod row;
mod snoop;
mod tracepoint;

use model::block::{Action, BlockEvent, DeviceNumber};

use crate::notes::{Anomaly, AnomalyKind, Notes};
use crate::records::{Records, Sink};
use crate::reorder::Reorder;
use crate::sequence::{Continuity, Sequences};
use crate::window::Window;
use line::Line;
use row::Row;
use snoop::Table;

/// Lines that are examined: other events may precede the first of the block layer.
const LINES: usize = 2000;

/// Whether one of the first lines is an event.
pub(crate) fn is_text(start: &[u8]) -> bool {
    start
        .split(|&byte| byte == b'\n')
        .take(LINES)
        .any(|line| matches!(line::parse(line), Line::Event(_) | Line::Row(_) | Line::Table(_)))
}

pub(crate) struct TextReader {
    window: Window,
    input: u32,
    sequences: Sequences,
    /// Numbered events that may have been printed out of order.
    reorder: Reorder,
    /// The table whose rows follow its heading.
    table: Option<Table>,
    last_time_ns: u64,
    /// The place since which the tracer dropped events, and how many; until the next event shows where the loss ended.
    pending_loss: Option<(u64, u64)>,
}

impl TextReader {
    pub(crate) fn new(window: Window, input: u32) -> TextReader {
        TextReader {
            window,
            input,
            sequences: Sequences::new(),
            reorder: Reorder::default(),
            table: None,
            last_time_ns: 0,
            pending_loss: None,
        }
    }

    fn take_line(&mut self, (start, end): (usize, usize), sink: &mut Sink) {
        let offset = self.window.offset() + start as u64;
        if self.take_table_row((start, end), offset, sink) {
            return;
        }
        let note = |kind, amount, notes: &mut Notes| notes.anomaly(Anomaly { kind, input: self.input, offset, amount });
        match line::parse(&self.window.bytes()[start..end]) {
            Line::Event(parsed) => {
                let (event, sequence) = (parsed.event, parsed.sequence);
                if let Some(name) = parsed.name {
                    sink.notes.name(event.pid, name);
                }
                if sequence == 0 {
                    self.take_event(event, sequence, offset, sink);
                } else {
                    self.order(event, sequence, offset, sink);
                }
            }
            Line::Row(row) => {
                if let Some(name) = row.name {
                    sink.notes.name(row.first.pid, name);
                }
                self.take_row(&Row { name: None, ..row }, offset, sink);
            }
            Line::Table(table) => self.table = Some(table),
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

    /// Numbered events are of blkparse, which prints one CPU after the other while a trace runs.
    fn order(&mut self, event: BlockEvent, sequence: u32, offset: u64, sink: &mut Sink) {
        if !self.reorder.follows(&event) {
            self.take_waiting(true, sink);
            self.reorder.restart();
        }
        self.reorder.push(event, sequence, offset);
        self.take_waiting(false, sink);
    }

    /// Takes a row of the table, if the line is one.
    fn take_table_row(&mut self, (start, end): (usize, usize), offset: u64, sink: &mut Sink) -> bool {
        let Some(table) = self.table.as_mut() else { return false };
        let Some((events, name)) = table.row(&self.window.bytes()[start..end]) else { return false };
        if let Some(event) = events.first() {
            sink.notes.name(event.pid, name);
        }
        self.take_moments(events, offset, sink);
        true
    }

    fn take_row(&mut self, row: &Row<'_>, offset: u64, sink: &mut Sink) {
        let completed = row.completed_ns.map(|time_ns| BlockEvent { time_ns, action: Action::Complete, ..row.first });
        self.take_moments([row.first].into_iter().chain(completed).collect(), offset, sink);
    }

    /// The moments of a row, which other rows' moments may precede.
    fn take_moments(&mut self, events: Vec<BlockEvent>, offset: u64, sink: &mut Sink) {
        events.into_iter().for_each(|event| self.reorder.push(event, 0, offset));
        self.take_waiting(false, sink);
    }

    fn take_waiting(&mut self, all: bool, sink: &mut Sink) {
        while let Some((event, sequence, offset)) = self.reorder.pop(all) {
            self.take_event(event, sequence, offset, sink);
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
        if rest > 0 {
            self.last_line(rest, sink);
        }
        self.take_waiting(true, sink);
    }
}

impl TextReader {
    fn last_line(&mut self, rest: usize, sink: &mut Sink) {
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
