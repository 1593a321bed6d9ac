//! Types as the kernel encodes them.

use std::io;
use std::path::Path;

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Name, kind with count, and size or type.
pub(super) const TYPE_BYTES: usize = 12;

/// Kinds of types (`BTF_KIND_*` of linux/btf.h).
const INTEGER: u8 = 1;
pub(super) const POINTER: u8 = 2;
pub(super) const ARRAY: u8 = 3;
pub(super) const STRUCTURE: u8 = 4;
pub(super) const UNION: u8 = 5;
pub(super) const ENUMERATION: u8 = 6;
/// Then those of `volatile`, `const` and `restrict`.
pub(super) const TYPEDEF: u8 = 8;
pub(super) const FUNCTION: u8 = 12;
pub(super) const FUNCTION_TYPE: u8 = 13;
pub(super) const VARIABLE: u8 = 14;
pub(super) const SECTION: u8 = 15;
pub(super) const DECLARATION_TAG: u8 = 17;
pub(super) const TYPE_TAG: u8 = 18;
const ENUMERATION_64: u8 = 19;

/// The types of the kernel proper, and of modules that were added.
pub(in super::super) struct KernelTypes {
    bytes: Vec<u8>,
    /// Where each type begins; the first, of number 0, is void.
    begins: Vec<usize>,
    strings: Vec<u8>,
    /// Types of the kernel proper with void, and the length of its strings: a module's numbers and names go on from
    /// there.
    proper: (u32, u32),
}

/// The parts of encoded types.
struct Parsed {
    /// With the header.
    types: Vec<u8>,
    begins: Vec<usize>,
    strings: Vec<u8>,
}

impl KernelTypes {
    /// Reads the types of the running kernel.
    pub(in super::super) fn read(path: &Path) -> io::Result<KernelTypes> {
        KernelTypes::parse(std::fs::read(path)?).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }

    /// `None` for what is none, and for kinds that are not known.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<KernelTypes> {
        let Parsed { types, begins, strings } = parsed(bytes)?;
        let proper = (begins.len() as u32 + 1, strings.len() as u32);
        let begins = std::iter::once(0).chain(begins).collect();
        Some(KernelTypes { bytes: types, begins, strings, proper })
    }

    /// Adds the types of a module. `None` for what is none, and nothing is added.
    pub(super) fn add_module(&mut self, bytes: Vec<u8>) -> Option<()> {
        let Parsed { mut types, begins, strings } = parsed(bytes)?;
        let (first, border) = self.proper;
        let (types_before, text_before) = (self.begins.len() as u32 - first, self.strings.len() as u32 - border);
        let moved = |at: u32, border: u32, by: u32| if at < border { at } else { at + by };
        for begin in &begins {
            let kind_and_count = word(&types, begin + 4);
            let (kind, count) = ((kind_and_count >> 24) as u8 & 0x1f, kind_and_count as usize & 0xffff);
            for at in names_within(kind, count).map(|at| begin + at) {
                let name = moved(word(&types, at), border, text_before);
                put(&mut types, at, name);
            }
            for at in types_within(kind, count).map(|at| begin + at) {
                let id = moved(word(&types, at), first, types_before);
                put(&mut types, at, id);
            }
        }
        let end = self.bytes.len();
        self.bytes.extend(types);
        self.begins.extend(begins.iter().map(|begin| end + begin));
        self.strings.extend(strings);
        Some(())
    }

    /// Whether a type is one of a module.
    pub(super) fn is_of_module(&self, id: u32) -> bool {
        id >= self.proper.0
    }

    /// The numbers of all types but void.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        1..self.begins.len() as u32
    }

    fn word(&self, at: usize) -> u32 {
        word(&self.bytes, at)
    }

    /// Where a type begins; void has no bytes, and nor has what is no type.
    pub(super) fn begin(&self, id: u32) -> Option<usize> {
        self.begins.get(id as usize).copied().filter(|_| id > 0)
    }

    /// All bytes of a type.
    pub(super) fn bytes_of(&self, id: u32) -> &[u8] {
        let Some(begin) = self.begin(id) else { return &[] };
        let tail = tail_bytes(self.kind(id), self.count(id)).unwrap_or(0);
        self.bytes.get(begin..begin + TYPE_BYTES + tail).unwrap_or_default()
    }

    /// 0 for void.
    pub(super) fn kind(&self, id: u32) -> u8 {
        self.begin(id).map_or(0, |begin| (self.word(begin + 4) >> 24) as u8 & 0x1f)
    }

    /// Members, values or arguments.
    pub(super) fn count(&self, id: u32) -> usize {
        self.begin(id).map_or(0, |begin| self.word(begin + 4) as usize & 0xffff)
    }

    /// The string at a place.
    pub(super) fn text(&self, offset: u32) -> &[u8] {
        let text = self.strings.get(offset as usize..).unwrap_or_default();
        text.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    pub(super) fn name(&self, id: u32) -> &[u8] {
        self.begin(id).map_or(&[], |begin| self.text(self.word(begin)))
    }

    /// The type that a pointer, a typedef or a modifier is of; of a function, its arguments.
    pub(super) fn referred(&self, id: u32) -> Option<u32> {
        match self.kind(id) {
            POINTER | TYPEDEF..=FUNCTION | TYPE_TAG => Some(self.word(self.begin(id)? + 8)),
            _ => None,
        }
    }

    /// Names and types of a structure's members.
    pub(super) fn members(&self, id: u32) -> impl Iterator<Item = (u32, u32)> {
        let is_composite = matches!(self.kind(id), STRUCTURE | UNION);
        let begin = self.begin(id).filter(|_| is_composite).map(|begin| begin + TYPE_BYTES);
        let member = |at: usize| (self.word(at), self.word(at + 4));
        begin.into_iter().flat_map(move |begin| (0..self.count(id)).map(move |number| member(begin + number * 12)))
    }

    /// Names of a structure's members, and their places in bits.
    pub(super) fn places(&self, id: u32) -> impl Iterator<Item = (u32, u32)> {
        let begin = self.begin(id).filter(|_| self.kind(id) == STRUCTURE).map(|begin| begin + TYPE_BYTES);
        let place = |at: usize| (self.word(at), self.word(at + 8));
        begin.into_iter().flat_map(move |begin| (0..self.count(id)).map(move |number| place(begin + number * 12)))
    }

    /// Names and values of an enumeration.
    pub(super) fn enumerators(&self, id: u32) -> impl Iterator<Item = (u32, u32)> {
        let begin = self.begin(id).filter(|_| self.kind(id) == ENUMERATION).map(|begin| begin + TYPE_BYTES);
        let pair = |at: usize| (self.word(at), self.word(at + 4));
        begin.into_iter().flat_map(move |begin| (0..self.count(id)).map(move |number| pair(begin + number * 8)))
    }
}

/// Bytes of a type behind those that all have; `None` for an unknown kind.
fn tail_bytes(kind: u8, count: usize) -> Option<usize> {
    Some(match kind {
        INTEGER | VARIABLE | DECLARATION_TAG => 4,
        ARRAY => 12,
        STRUCTURE | UNION | SECTION | ENUMERATION_64 => count * 12,
        ENUMERATION | FUNCTION_TYPE => count * 8,
        // Forward declarations are 7, floating-point numbers 16.
        POINTER | 7 | TYPEDEF..=FUNCTION | 16 | TYPE_TAG => 0,
        _ => return None,
    })
}

#[cfg(test)]
impl KernelTypes {
    /// Hides the types whose names fit, as a kernel lacks them.
    pub(in super::super) fn hide(&mut self, fits: impl Fn(&str) -> bool) {
        for id in 1..self.begins.len() as u32 {
            if std::str::from_utf8(self.name(id)).is_ok_and(&fits) {
                put(&mut self.bytes, self.begins[id as usize], 0);
            }
        }
    }

    /// Hides a member of a structure, or a value of an enumeration.
    pub(in super::super) fn hide_member(&mut self, of: &str, member: &str) {
        let found: Vec<u32> = self.ids().filter(|id| self.name(*id) == of.as_bytes()).collect();
        for id in found {
            let begin = self.begins[id as usize];
            let names: Vec<usize> = names_within(self.kind(id), self.count(id)).skip(1).collect();
            for at in names.into_iter().map(|at| begin + at) {
                if self.text(self.word(at)) == member.as_bytes() {
                    put(&mut self.bytes, at, 0);
                }
            }
        }
    }
}

/// The kernel's encoding in its parts; `None` for what is none.
fn parsed(mut bytes: Vec<u8>) -> Option<Parsed> {
    let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    if half(0)? != MAGIC {
        return None;
    }
    let (header, first, length, strings, strings_length) = (word(4)?, word(8)?, word(12)?, word(16)?, word(20)?);
    let (mut at, end) = (header + first, header + first + length);
    let strings = header + strings;
    if header < HEADER_BYTES || end > strings || strings + strings_length > bytes.len() {
        return None;
    }
    let mut begins = Vec::new();
    while at < end {
        begins.push(at);
        let kind_and_count = word(at + 4)?;
        at += TYPE_BYTES + tail_bytes((kind_and_count >> 24) as u8 & 0x1f, kind_and_count & 0xffff)?;
    }
    if at != end {
        return None;
    }
    let mut strings = bytes.split_off(strings);
    strings.truncate(strings_length);
    Some(Parsed { types: bytes, begins, strings })
}

/// Where within a type there are names: its own, and those of its members, values or arguments.
pub(super) fn names_within(kind: u8, count: usize) -> impl Iterator<Item = usize> {
    let step = match kind {
        STRUCTURE | UNION | ENUMERATION_64 => 12,
        ENUMERATION | FUNCTION_TYPE => 8,
        _ => 0,
    };
    let inner = (0..count).filter(move |_| step > 0).map(move |number| TYPE_BYTES + number * step);
    std::iter::once(0).chain(inner)
}

/// Where within a type there are numbers of other types.
pub(super) fn types_within(kind: u8, count: usize) -> impl Iterator<Item = usize> {
    let own: &[usize] = match kind {
        POINTER | TYPEDEF..=FUNCTION_TYPE | VARIABLE | DECLARATION_TAG | TYPE_TAG => &[8],
        ARRAY => &[TYPE_BYTES, TYPE_BYTES + 4],
        _ => &[],
    };
    // The step, and where within it the number is.
    let (step, within) = match kind {
        STRUCTURE | UNION => (12, 4),
        FUNCTION_TYPE => (8, 4),
        SECTION => (12, 0),
        _ => (0, 0),
    };
    let inner = (0..count).filter(move |_| step > 0).map(move |number| TYPE_BYTES + number * step + within);
    own.iter().copied().chain(inner)
}

/// A word of an encoded type; 0 outside of it.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(word) = bytes.get_mut(at..at + 4) {
        word.copy_from_slice(&value.to_ne_bytes());
    }
}
