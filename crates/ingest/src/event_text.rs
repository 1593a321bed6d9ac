//! An event's bytes → its fields, by the layout that its kernel describes.

use std::fmt::Write as _;

use model::block::DeviceNumber;

use crate::event_formats::{EventFormat, EventFormats, Field, FieldKind, number};
use crate::event_words::{EventFields, one_line, state_letters};

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

    pub(crate) fn format(&self) -> &'a EventFormat {
        self.format
    }

    /// Where a field begins.
    pub(crate) fn offset(&self, name: &str) -> Option<usize> {
        self.field(name).map(|field| field.offset)
    }

    fn field(&self, name: &str) -> Option<&'a Field> {
        self.format.fields.iter().find(|field| field.name == name)
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

impl EventFields for Event<'_> {
    fn system(&self) -> &str {
        &self.format.system
    }

    fn name(&self) -> &str {
        &self.format.name
    }

    fn signed(&self, name: &str) -> Option<i64> {
        self.field(name).and_then(|field| self.number_of(field))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.field(name).and_then(|field| self.text_of(field))
    }

    fn device(&self, name: &str) -> Option<DeviceNumber> {
        self.signed(name).map(|number| DeviceNumber(number as u32))
    }

    fn state(&self, bits: u64) -> String {
        state_letters(bits, self.format.states.iter().map(|(bit, letter)| (*bit, letter.as_str())))
    }

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
}

#[cfg(test)]
mod tests {
    use super::Event;
    use crate::event_formats::EventFormats;
    use crate::event_formats::tests::{SWITCH, stored};
    use crate::event_words::write_fields;

    fn text(formats: &EventFormats, bytes: &[u8]) -> String {
        let mut text = String::new();
        write_fields(&Event::new(bytes, formats).unwrap(), &mut text).unwrap();
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
        assert!(write_fields(&Event::new(&switch(2)[..50], &formats).unwrap(), &mut cut).is_none());
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
