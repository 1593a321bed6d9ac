//! How a kernel lays out its events: the `format` files of tracefs, as trace-cmd and perf store them
//! (`\x17\x08Dtracing`).

use std::collections::HashMap;

/// Begins the stored files, and a `trace.dat`.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Larger numbers of files come from a damaged file.
const MOST_FILES: u32 = 1 << 20;

/// The events of a recording by their numbers.
#[derive(Debug, Default)]
pub(crate) struct EventFormats {
    by_id: HashMap<u16, EventFormat>,
    /// Numbers are stored with the most significant byte first.
    pub(crate) is_big_endian: bool,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventFormat {
    pub(crate) system: String,
    pub(crate) name: String,
    /// Without those that all events have.
    pub(crate) fields: Vec<Field>,
    /// Letters of the scheduler's states, by bit.
    pub(crate) states: Vec<(u64, String)>,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) is_signed: bool,
    pub(crate) kind: FieldKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Number,
    /// Characters, up to the first zero.
    Text,
    /// The length and the place of characters at the event's end.
    TextAtEnd,
    /// An array of numbers.
    Other,
}

impl EventFormats {
    /// The stored files. `None` where they are no such files, or damaged.
    pub(crate) fn parse(bytes: &[u8]) -> Option<EventFormats> {
        let mut stored = Stored::new(bytes.strip_prefix(MAGIC)?);
        stored.text()?;
        stored.is_big_endian = stored.take(1)? == [1];
        let mut formats = EventFormats { is_big_endian: stored.is_big_endian, ..EventFormats::default() };
        // The sizes of a long and of a page.
        stored.take(5)?;
        stored.headers()?;
        formats.ftrace(&mut stored)?;
        formats.systems(&mut stored)?;
        Some(formats)
    }

    /// Adds ftrace's own events: their number, and a file of each.
    pub(crate) fn ftrace(&mut self, stored: &mut Stored<'_>) -> Option<()> {
        for _ in 0..stored.count()? {
            self.add("ftrace", stored.file()?);
        }
        Some(())
    }

    /// Adds the events of all systems, each with its name, the number of its events, and their files.
    pub(crate) fn systems(&mut self, stored: &mut Stored<'_>) -> Option<()> {
        for _ in 0..stored.count()? {
            let system = String::from_utf8_lossy(stored.text()?).into_owned();
            for _ in 0..stored.count()? {
                self.add(&system, stored.file()?);
            }
        }
        Some(())
    }

    pub(crate) fn get(&self, id: u16) -> Option<&EventFormat> {
        self.by_id.get(&id)
    }

    /// Adds an event's `format` file; one that cannot be read is unknown.
    pub(crate) fn add(&mut self, system: &str, file: &[u8]) {
        if let Some((id, format)) = format(system, &String::from_utf8_lossy(file)) {
            self.by_id.insert(id, format);
        }
    }
}

/// What perf and trace-cmd store: numbers, texts, and files with their lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) is_big_endian: bool,
}

impl<'a> Stored<'a> {
    /// With the least significant byte first, until something else is known.
    pub(crate) fn new(bytes: &'a [u8]) -> Stored<'a> {
        Stored { rest: bytes, is_big_endian: false }
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// A part that has parts itself.
    pub(crate) fn part(&mut self, length: u64) -> Option<Stored<'a>> {
        let rest = self.take(usize::try_from(length).ok()?)?;
        Some(Stored { rest, ..*self })
    }

    pub(crate) fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(number(self.take(bytes)?, self.is_big_endian))
    }

    /// Up to a zero.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    pub(crate) fn file(&mut self) -> Option<&'a [u8]> {
        let length = self.number(8)?;
        self.take(usize::try_from(length).ok()?)
    }

    /// The headers of pages, which is returned, and of events.
    pub(crate) fn headers(&mut self) -> Option<&'a [u8]> {
        let mut header = |name: &[u8]| {
            (self.text()? == name).then_some(())?;
            self.file()
        };
        let page = header(b"header_page")?;
        header(b"header_event")?;
        Some(page)
    }

    fn count(&mut self) -> Option<u32> {
        let count = self.number(4)? as u32;
        (count <= MOST_FILES).then_some(count)
    }
}

/// A number of up to eight bytes.
pub(crate) fn number(bytes: &[u8], is_big_endian: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    let bytes = &bytes[..bytes.len().min(8)];
    if is_big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

fn format(system: &str, file: &str) -> Option<(u16, EventFormat)> {
    let value = |key: &str| file.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let fields = file.lines().filter_map(|line| field(line.trim_start().strip_prefix("field:")?));
    let print = file.split_once("print fmt:").map_or("", |(_, print)| print);
    let format = EventFormat {
        system: system.to_owned(),
        name: value("name:")?.to_owned(),
        fields: fields.filter(|field| !field.name.starts_with("common_")).collect(),
        states: if print.contains("prev_state") { states(print) } else { Vec::new() },
    };
    Some((value("ID:")?.parse().ok()?, format))
}

/// `char prev_comm[16]; offset:8; size:16; signed:0;`
pub(crate) fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut of = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
    let (offset, size) = (of("offset:")?, of("size:")?);
    let is_signed = of("signed:").unwrap_or(0) == 1;
    let (kind, name) = declaration.rsplit_once([' ', '\t'])?;
    let (name, is_array) = match name.split_once('[') {
        Some((name, _)) => (name, true),
        None => (name, kind.ends_with(']')),
    };
    let kind = match () {
        () if kind.contains("__data_loc") && kind.contains("char") => FieldKind::TextAtEnd,
        () if is_array && kind.contains("char") => FieldKind::Text,
        () if is_array || size > 8 || kind.contains("__data_loc") || kind.contains("__rel_loc") => FieldKind::Other,
        () => FieldKind::Number,
    };
    Some(Field { name: name.to_owned(), offset, size, is_signed, kind })
}

/// `{ 0x00000001, "S" }, { 0x00000002, "D" }`: each kernel has bits of its own.
fn states(print: &str) -> Vec<(u64, String)> {
    let pairs = print.split('{').skip(1).filter_map(|pair| pair.split_once('}')).map(|(pair, _)| pair);
    let pair = |pair: &str| {
        let (bit, letter) = pair.split_once(',')?;
        let bit = bit.trim();
        let bit = match bit.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => bit.parse().ok()?,
        };
        Some((bit, letter.trim().trim_matches('"').to_owned()))
    };
    pairs.filter_map(pair).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{EventFormats, FieldKind, MAGIC};

    pub(crate) const SWITCH: &str = "name: sched_switch\nID: 314\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"prev_comm=%s\", REC->prev_comm, (REC->prev_state & 255) ? __print_flags(REC->prev_state & \
        255, \"|\", \
        { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000080, \"I\" }) : \"R\"\n";

    /// As perf and trace-cmd store them.
    pub(crate) fn stored(systems: &[(&str, &[&str])]) -> Vec<u8> {
        let mut bytes = [MAGIC, b"0.6\0", &[0, 8], &4096_u32.to_le_bytes()].concat();
        for header in ["header_page", "header_event"] {
            bytes.extend([header.as_bytes(), b"\0", &3_u64.to_le_bytes(), b"abc"].concat());
        }
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend((systems.len() as u32).to_le_bytes());
        for (system, files) in systems {
            bytes.extend([system.as_bytes(), b"\0", &(files.len() as u32).to_le_bytes()].concat());
            files.iter().for_each(|file| bytes.extend([&(file.len() as u64).to_le_bytes(), file.as_bytes()].concat()));
        }
        bytes
    }

    #[test]
    fn fields_and_states_are_those_of_the_format_file() {
        let bytes = stored(&[("sched", &[SWITCH])]);
        let formats = EventFormats::parse(&bytes).unwrap();
        let switch = formats.get(314).unwrap();
        assert_eq!((switch.system.as_str(), switch.name.as_str(), switch.fields.len()), ("sched", "sched_switch", 7));
        assert_eq!((switch.fields[0].kind, switch.fields[0].name.as_str()), (FieldKind::Text, "prev_comm"));
        assert_eq!(
            (switch.fields[3].kind, switch.fields[3].offset, switch.fields[3].is_signed),
            (FieldKind::Number, 32, true)
        );
        assert_eq!(switch.states, [(1, "S".to_owned()), (2, "D".to_owned()), (128, "I".to_owned())]);
        // Wherever it is cut off.
        assert!((0..bytes.len()).all(|end| EventFormats::parse(&bytes[..end]).is_none()));
    }
}
