//! A message of Perfetto for an event → its fields by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use model::block::DeviceNumber;

use super::known_events::{known_event, other_name};
use super::machine::Machine;
use crate::event_words::{EventFields, one_line};
use crate::protobuf::{Fields, Value};

/// Of an event that Perfetto has no message for: its name, and each field with its own.
const GENERIC: u32 = 327;
/// Fields of one event, at most.
const FIELDS: usize = 64;
/// protobuf's numbers of types (descriptor.proto) that may be negative.
const SIGNED: [u64; 2] = [3, 5];

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldValue {
    Signed(i64),
    Unsigned(u64),
    Text(String),
}

/// An event.
#[derive(Debug)]
pub(super) struct Tracepoint<'a> {
    pub(super) system: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) fields: Vec<(Cow<'a, str>, FieldValue)>,
    pub(super) machine: &'a Machine,
}

/// Events that a trace describes itself, by their field.
#[derive(Debug, Default)]
pub(super) struct Described(HashMap<u32, DescribedEvent>);

#[derive(Debug)]
struct DescribedEvent {
    system: String,
    name: String,
    fields: Vec<(u32, String, bool)>,
}

impl Described {
    /// Takes a `GenericEventDescriptor`.
    pub(super) fn add(&mut self, message: &[u8]) -> Option<()> {
        let field = Fields::find(message, 1)?.number()? as u32;
        let system = Fields::find(message, 3).and_then(Value::bytes).map(one_line).unwrap_or_default();
        let description = Fields::find(message, 2)?.bytes()?;
        let name = one_line(Fields::find(description, 1)?.bytes()?);
        let of_field = |message: &[u8]| {
            let is_signed = Fields::find(message, 5).and_then(Value::number).is_some_and(|kind| SIGNED.contains(&kind));
            Some((Fields::find(message, 3)?.number()? as u32, one_line(Fields::find(message, 1)?.bytes()?), is_signed))
        };
        let fields = Fields::new(description).filter(|(field, _)| *field == 2);
        let fields = fields.filter_map(|(_, message)| of_field(message.bytes()?)).take(FIELDS).collect();
        if self.0.len() < 1 << 16 {
            self.0.insert(field, DescribedEvent { system, name, fields });
        }
        Some(())
    }
}

impl<'a> Tracepoint<'a> {
    /// The event in a field of an `FtraceEvent`. `None`: it is damaged.
    pub(super) fn new(
        field: u32,
        message: &[u8],
        described: &'a Described,
        machine: &'a Machine,
    ) -> Option<Tracepoint<'a>> {
        let new = |system: Cow<'a, str>, name: Cow<'a, str>, fields| Tracepoint { system, name, fields, machine };
        if field == GENERIC {
            let name = one_line(Fields::find(message, 1)?.bytes()?);
            let system = if name.starts_with("block_") { "block" } else { "ftrace" };
            return Some(new(system.into(), name.into(), generic_fields(message)));
        }
        if let Some(known) = known_event(field) {
            let of = |number: u32| {
                let name = known.fields.get(number as usize - 1)?;
                Some((Cow::Borrowed(name.trim_start_matches('-')), name.starts_with('-')))
            };
            let event = new(known.system.into(), known.name.into(), fields(message, machine, of));
            return Some(event.with_call_named());
        }
        if let Some(event) = described.0.get(&field) {
            let of = |number: u32| {
                let (_, name, is_signed) = event.fields.iter().find(|(known, ..)| *known == number)?;
                Some((Cow::Borrowed(name.as_str()), *is_signed))
            };
            return Some(new((&event.system).into(), (&event.name).into(), fields(message, machine, of)));
        }
        let name = other_name(field).map_or_else(|| format!("event_{field}").into(), Cow::Borrowed);
        Some(new("perfetto".into(), name, Vec::new()))
    }
}

fn fields<'a>(
    message: &[u8],
    machine: &Machine,
    of: impl Fn(u32) -> Option<(Cow<'a, str>, bool)>,
) -> Vec<(Cow<'a, str>, FieldValue)> {
    let value = |(number, value): (u32, Value<'_>)| {
        let (name, is_signed) = of(number)?;
        let value = match value {
            Value::Bytes(bytes) => FieldValue::Text(one_line(bytes)),
            Value::Number(number) if is_signed => FieldValue::Signed(number as i64),
            Value::Number(number) => match machine.function(number).filter(|_| ["shr", "caller"].contains(&&*name)) {
                Some(function) => FieldValue::Text(function.to_owned()),
                None => unsigned(&name, number),
            },
        };
        Some((name, value))
    };
    Fields::new(message).filter_map(value).take(FIELDS).collect()
}

fn generic_fields<'a>(message: &[u8]) -> Vec<(Cow<'a, str>, FieldValue)> {
    let field = |message: &[u8]| {
        let name = one_line(Fields::find(message, 1)?.bytes()?);
        let value = Fields::new(message).find_map(|(kind, value)| match (kind, value) {
            (3, Value::Bytes(text)) => Some(FieldValue::Text(one_line(text))),
            (4, Value::Number(number)) => Some(FieldValue::Signed(number as i64)),
            (5, Value::Number(number)) => Some(unsigned(&name, number)),
            _ => None,
        })?;
        Some((name.into(), value))
    };
    let fields = Fields::new(message).filter(|(number, _)| *number == 2);
    fields.filter_map(|(_, message)| field(message.bytes()?)).take(FIELDS).collect()
}

/// Devices have the numbers that programs see (`stat`'s), not the kernel's own.
fn unsigned(name: &str, number: u64) -> FieldValue {
    if !["dev", "old_dev"].contains(&name) {
        return FieldValue::Unsigned(number);
    }
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xf_ff00);
    FieldValue::Unsigned(u64::from(DeviceNumber::new(major as u32, minor as u32).0))
}

impl Tracepoint<'_> {
    /// A system call whose number is of another architecture has its name.
    fn with_call_named(self) -> Self {
        let number = Some(&self).filter(|event| event.name == "sys_enter").and_then(|event| event.signed("id"));
        match number.and_then(|number| self.machine.other_call(number)) {
            Some(name) => Tracepoint { system: "syscalls".into(), name, fields: Vec::new(), ..self },
            None => self,
        }
    }

    fn field(&self, name: &str) -> Option<&FieldValue> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl EventFields for Tracepoint<'_> {
    fn system(&self) -> &str {
        &self.system
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn signed(&self, name: &str) -> Option<i64> {
        match self.field(name)? {
            FieldValue::Signed(number) => Some(*number),
            FieldValue::Unsigned(number) => Some(*number as i64),
            FieldValue::Text(_) => None,
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.field(name)? {
            FieldValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn device(&self, name: &str) -> Option<DeviceNumber> {
        self.unsigned(name).map(|number| DeviceNumber(number as u32))
    }

    fn state(&self, bits: u64) -> String {
        self.machine.state(bits)
    }

    fn pairs(&self, text: &mut String) {
        // ftrace's own text begins with the shrinker.
        if let Some(function) = self.text("shr") {
            let _ = write!(text, "{function}+0x0 ");
        }
        for (at, (name, value)) in self.fields.iter().enumerate() {
            let separator = if at == 0 { "" } else { " " };
            let _ = match value {
                FieldValue::Signed(number) => write!(text, "{separator}{name}={number}"),
                FieldValue::Unsigned(number) => write!(text, "{separator}{name}={number}"),
                FieldValue::Text(value) => write!(text, "{separator}{name}={value}"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Described, Tracepoint};
    use crate::event_words::write_fields;
    use crate::perfetto::machine::Machine;

    fn text(field: u32, message: &[u8], described: &Described) -> String {
        let (machine, mut text) = (Machine::default(), String::new());
        let event = Tracepoint::new(field, message, described, &machine).unwrap();
        write_fields(&event, &mut text).unwrap();
        format!("{}:{} {text}", event.system, event.name)
    }

    #[test]
    fn known_events_read_as_their_text() {
        let none = Described::default();
        // dev 179,256: programs see 0x10b300. sector -1, two sectors, error -5.
        let completed = b"\x08\x80\xe6\x42\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x02\x2a\x02WS\x32\x00\
                          \x38\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(text(125, completed, &none), "block:block_rq_complete 179,256 WS () 18446744073709551615 + 2 [-5]");
        let switch = b"\x0a\x01a\x10\x07\x18\x78\x20\x02\x2a\x03b\nc\x30\x08\x38\x78";
        let expected = "sched:sched_switch prev_comm=a prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=b?c \
                        next_pid=8 next_prio=120";
        assert_eq!(text(4, switch, &none), expected);
        assert_eq!(text(43, b"", &none), "perfetto:ext4_sync_file_enter ");
        assert_eq!(text(60_000, b"", &none), "perfetto:event_60000 ");
    }

    #[test]
    fn events_that_describe_themselves_have_their_names() {
        let mut described = Described::default();
        // jbd2_checkpoint of group jbd2: `uint64 dev = 1; int64 result = 2`.
        let description = b"\x0a\x0fjbd2_checkpoint\x12\x09\x18\x01\x0a\x03dev\x28\x04\x12\x0c\x18\x02\x0a\x06result\
                            \x28\x03";
        let message = [b"\x08\x80\x80\x04\x12", &[description.len() as u8][..], description, b"\x1a\x04jbd2"].concat();
        described.add(&message).unwrap();
        let minus_one = b"\x08\x80\x0e\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(text(65_536, minus_one, &described), "jbd2:jbd2_checkpoint dev=7340032 result=-1");
        let generic = b"\x0a\x0fjbd2_checkpoint\x12\x08\x0a\x03dev\x28\x80\x0e\x12\x0a\x0a\x06result\x20\x00";
        assert_eq!(text(327, generic, &described), "ftrace:jbd2_checkpoint dev=7340032 result=0");
    }
}
