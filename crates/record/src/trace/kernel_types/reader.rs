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
pub(super) const TYPEDEF: u8 = 8;
pub(super) const VOLATILE: u8 = 9;
pub(super) const CONST: u8 = 10;
pub(super) const RESTRICT: u8 = 11;
pub(super) const FUNCTION: u8 = 12;
pub(super) const FUNCTION_TYPE: u8 = 13;
pub(super) const VARIABLE: u8 = 14;
pub(super) const SECTION: u8 = 15;
pub(super) const DECLARATION_TAG: u8 = 17;
pub(super) const TYPE_TAG: u8 = 18;
const ENUMERATION_64: u8 = 19;

/// The kernel's types.
pub(in super::super) struct KernelTypes {
    bytes: Vec<u8>,
    /// Where each type begins; the first, of number 0, is void.
    begins: Vec<usize>,
    strings: usize,
}

impl KernelTypes {
    /// Reads the types of the running kernel.
    pub(in super::super) fn read(path: &Path) -> io::Result<KernelTypes> {
        KernelTypes::parse(std::fs::read(path)?).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
    }

    /// `None` for what is none, and for kinds that are not known.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<KernelTypes> {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        if half(0)? != MAGIC {
            return None;
        }
        let (header, first, length, strings, strings_length) = (word(4)?, word(8)?, word(12)?, word(16)?, word(20)?);
        let (mut at, end) = (header + first, header + first + length);
        let strings = header + strings;
        if header < HEADER_BYTES || end > bytes.len() || strings + strings_length > bytes.len() {
            return None;
        }
        let mut begins = vec![0];
        while at < end {
            begins.push(at);
            let kind_and_count = word(at + 4)?;
            at += TYPE_BYTES + tail_bytes((kind_and_count >> 24) as u8 & 0x1f, kind_and_count & 0xffff)?;
        }
        (at == end).then_some(KernelTypes { bytes, begins, strings })
    }

    /// The numbers of all types but void.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        1..self.begins.len() as u32
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        let word = self.bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_ne_bytes)
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
        let text = self.bytes.get(self.strings + offset as usize..).unwrap_or_default();
        text.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    pub(super) fn name(&self, id: u32) -> &[u8] {
        self.begin(id).map_or(&[], |begin| self.text(self.word(begin)))
    }

    /// Where its name is.
    pub(super) fn name_at(&self, id: u32) -> u32 {
        self.begin(id).map_or(0, |begin| self.word(begin))
    }

    /// Length of all strings, which come last.
    pub(super) fn text_bytes(&self) -> u32 {
        self.bytes.len().saturating_sub(self.strings) as u32
    }

    /// The type that a pointer, a typedef or a modifier is of.
    pub(super) fn referred(&self, id: u32) -> Option<u32> {
        match self.kind(id) {
            POINTER | TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => Some(self.word(self.begin(id)? + 8)),
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

/// Whether the words behind a type are pairs or triples that begin with a name.
pub(super) fn named_step(kind: u8) -> Option<usize> {
    match kind {
        STRUCTURE | UNION | ENUMERATION_64 => Some(12),
        ENUMERATION => Some(8),
        _ => None,
    }
}
