//! An event's bytes → its fields as text, in the words of ftrace and perf, which [`crate::import_text`] and the readers
//! of block traces know.

use std::fmt::Write as _;

use crate::event_formats::{EventFormat, EventFormats, Field, FieldKind, number};

/// An event's bytes with their layout.
pub(crate) struct Event<'a> {
    bytes: &'a [u8],
    format: &'a EventFormat,
    is_big_endian: bool,
}

impl<'a> Event<'a> {
    /// The event whose number is in its first two bytes. `None`: it is unknown.
    pub(crate) fn new(bytes: &'a [u8], formats: &'a EventFormats) -> Option<Event<'a>> {
        let id = number(bytes.get(..2)?, formats.is_big_endian) as u16;
        Some(Event { bytes, format: formats.get(id)?, is_big_endian: formats.is_big_endian })
    }

    pub(crate) fn system(&self) -> &'a str {
        &self.format.system
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.format.name
    }

    pub(crate) fn format(&self) -> &'a EventFormat {
        self.format
    }

    /// Where a field begins.
    pub(crate) fn offset(&self, name: &str) -> Option<usize> {
        self.field(name).map(|field| field.offset)
    }

    /// Writes the fields. `None` where one is missing that the event must have.
    pub(crate) fn write(&self, text: &mut String) -> Option<()> {
        match (self.system(), self.name()) {
            ("sched", "sched_switch") => self.switch(text),
            ("block", name) => self.block(name, text),
            ("raw_syscalls", "sys_enter") => write!(text, "NR {} ()", self.signed("id")?).ok(),
            ("raw_syscalls", "sys_exit") => write!(text, "NR {} = {}", self.signed("id")?, self.signed("ret")?).ok(),
            _ => {
                self.pairs(text);
                Some(())
            }
        }
    }

    fn switch(&self, text: &mut String) -> Option<()> {
        let (prev, prev_pid, prev_prio) =
            (self.text("prev_comm")?, self.signed("prev_pid")?, self.signed("prev_prio")?);
        let (next, next_pid, next_prio) =
            (self.text("next_comm")?, self.signed("next_pid")?, self.signed("next_prio")?);
        let bits = self.signed("prev_state")? as u64;
        let letters = self.format.states.iter().filter(|(bit, _)| *bit != 0 && bits & bit == *bit);
        let letters: Vec<&str> = letters.map(|(_, letter)| letter.as_str()).collect();
        // A bit without a letter: it was preempted.
        let state = if letters.is_empty() { "R".to_owned() } else { letters.join("|") };
        write!(
            text,
            "prev_comm={prev} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} ==> \
             next_comm={next} next_pid={next_pid} next_prio={next_prio}"
        )
        .ok()
    }

    /// `8,0 WS 4096 () 2048 + 8 [dd]`; the completion of a request has its error in place of the name.
    fn block(&self, name: &str, text: &mut String) -> Option<()> {
        // Those of plugs have no device, those of buffers no direction.
        let Some((device, direction)) = self.unsigned("dev").zip(self.text("rwbs")) else {
            self.pairs(text);
            return Some(());
        };
        let _ = write!(text, "{},{} {direction} ", device >> 20, device & 0xf_ffff);
        if let Some(bytes) = self.unsigned("bytes") {
            let _ = write!(text, "{bytes} ");
        }
        if name.starts_with("block_rq_") {
            text.push_str("() ");
        }
        let _ = write!(text, "{} ", self.unsigned("sector")?);
        if let Some(new_sector) = self.unsigned("new_sector") {
            let _ = write!(text, "/ {new_sector} [{}]", self.text("comm")?);
            return Some(());
        }
        let _ = write!(text, "+ {} ", self.unsigned("nr_sector")?);
        if let (Some(device), Some(sector)) = (self.unsigned("old_dev"), self.unsigned("old_sector")) {
            let _ = write!(text, "<- ({},{}) {sector}", device >> 20, device & 0xf_ffff);
            return Some(());
        }
        match self.signed("error").or_else(|| self.signed("errors")) {
            Some(error) => write!(text, "[{error}]").ok(),
            None if name == "block_rq_requeue" => write!(text, "[0]").ok(),
            None => write!(text, "[{}]", self.text("comm")?).ok(),
        }
    }

    /// `key=value` of all fields that are numbers or text.
    fn pairs(&self, text: &mut String) {
        for field in &self.format.fields {
            let separator = if text.is_empty() || text.ends_with(' ') { "" } else { " " };
            let _ = match field.kind {
                FieldKind::Number if field.is_signed => {
                    self.number_of(field).map(|value| write!(text, "{separator}{}={value}", field.name))
                }
                FieldKind::Number => {
                    self.number_of(field).map(|value| write!(text, "{separator}{}={}", field.name, value as u64))
                }
                FieldKind::Other => None,
                FieldKind::Text | FieldKind::TextAtEnd => {
                    self.text_of(field).map(|value| write!(text, "{separator}{}={value}", field.name))
                }
            };
        }
    }

    fn field(&self, name: &str) -> Option<&'a Field> {
        self.format.fields.iter().find(|field| field.name == name)
    }

    fn signed(&self, name: &str) -> Option<i64> {
        self.field(name).and_then(|field| self.number_of(field))
    }

    pub(crate) fn unsigned(&self, name: &str) -> Option<u64> {
        self.signed(name).map(|value| value as u64)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.field(name).and_then(|field| self.text_of(field))
    }

    fn bytes_of(&self, offset: usize, size: usize) -> Option<&'a [u8]> {
        self.bytes.get(offset..offset.checked_add(size)?)
    }

    fn number_of(&self, field: &Field) -> Option<i64> {
        if field.kind != FieldKind::Number || field.size == 0 || field.size > 8 {
            return None;
        }
        let value = number(self.bytes_of(field.offset, field.size)?, self.is_big_endian);
        let unused = 64 - 8 * field.size as u32;
        Some(if field.is_signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    fn text_of(&self, field: &Field) -> Option<String> {
        let (offset, size) = match field.kind {
            FieldKind::Text => (field.offset, field.size),
            FieldKind::TextAtEnd => {
                let place = number(self.bytes_of(field.offset, 4)?, self.is_big_endian);
                ((place & 0xffff) as usize, (place >> 16) as usize)
            }
            FieldKind::Number | FieldKind::Other => return None,
        };
        let bytes = self.bytes_of(offset, size)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(one_line(&bytes[..end]))
    }
}

/// Writes the line of an event. `None`, and no line: it lacks a field.
pub(crate) fn write_line(
    text: &mut String,
    name: &str,
    tid: i32,
    cpu: u32,
    at_ns: u64,
    event: &Event<'_>,
) -> Option<()> {
    let mut fields = String::new();
    event.write(&mut fields)?;
    let (seconds, rest_ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
    let (system, event) = (event.system(), event.name());
    writeln!(text, "{name} {tid} [{cpu:03}] {seconds}.{rest_ns:09}: {system}:{event}: {fields}").ok()
}

/// Text without what would end a line.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Lines that were made of events, and are read in parts.
#[derive(Default)]
pub(crate) struct UnreadText {
    /// The lines, to which more are added once they are read.
    pub text: String,
    at: usize,
}

impl UnreadText {
    pub(crate) fn is_read(&self) -> bool {
        self.at == self.text.len()
    }

    /// Makes room for the next lines in the same memory.
    pub(crate) fn clear(&mut self) {
        self.at = 0;
        self.text.clear();
    }

    /// Fills the buffer as far as there is text. Returns the bytes.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = buffer.len().min(rest.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        length
    }
}

#[cfg(test)]
mod tests {
    use super::Event;
    use crate::event_formats::EventFormats;
    use crate::event_formats::tests::{SWITCH, stored};

    fn text(formats: &EventFormats, bytes: &[u8]) -> String {
        let mut text = String::new();
        Event::new(bytes, formats).unwrap().write(&mut text).unwrap();
        text
    }

    fn name(name: &str) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes
    }

    #[test]
    fn a_switch_has_the_letters_of_its_kernel() {
        let formats = EventFormats::parse(&stored(&[("sched", &[SWITCH])])).unwrap();
        let switch = |state: i64| {
            let begin = [&314_u16.to_le_bytes()[..], &[0; 6]].concat();
            let numbers = |pid: i32| [pid.to_le_bytes(), 120_i32.to_le_bytes()].concat();
            [begin, name("a b\n").to_vec(), numbers(7), state.to_le_bytes().to_vec(), name("c").to_vec(), numbers(8)]
                .concat()
        };
        let expected = "prev_comm=a b? prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=c next_pid=8 next_prio=120";
        assert_eq!(text(&formats, &switch(2)), expected);
        for (state, letters) in [(0, "R"), (256, "R"), (0x81, "S|I")] {
            assert_eq!(text(&formats, &switch(state)), expected.replace("state=D", &format!("state={letters}")));
        }
        let mut cut = String::new();
        assert!(Event::new(&switch(2)[..50], &formats).unwrap().write(&mut cut).is_none());
    }

    #[test]
    fn block_events_read_as_their_text() {
        let format = "name: block_rq_complete\nID: 9\nformat:\n\
            \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
            \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
            \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
            \tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n\
            \tfield:__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
        let formats = EventFormats::parse(&stored(&[("block", &[format])])).unwrap();
        let begin = [&9_u16.to_le_bytes()[..], &[0; 6], &(8_u32 << 20 | 1).to_le_bytes(), &[0; 4]].concat();
        let numbers = [&2048_u64.to_le_bytes()[..], &8_u32.to_le_bytes(), &(-5_i32).to_le_bytes()].concat();
        let bytes =
            [begin, numbers, b"WS\0\0\0\0\0\0".to_vec(), (44_u32 | 1 << 16).to_le_bytes().to_vec(), vec![0]].concat();
        assert_eq!(text(&formats, &bytes), "8,1 WS () 2048 + 8 [-5]");
    }
}
