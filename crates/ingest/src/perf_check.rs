//! Checks a `perf.data` before it is read: the library allocates what its header and its list of events claim.

use std::io::{self, Read, Seek, SeekFrom};

use crate::event_formats::number;

/// What a file of the other byte order begins with.
const BIG_ENDIAN: &[u8] = b"2ELIFREP";
/// Of files that were written to a pipe, and of others, at least.
const PIPE_HEADER_BYTES: u64 = 16;
const HEADER_BYTES: usize = 104;
/// Where the header has the places of the attributes, of the data and of the event types, and its bits of features.
const ATTRIBUTES: usize = 24;
const DATA: usize = 40;
const EVENT_TYPES: usize = 56;
const FEATURES: usize = 72;
/// The bit of the section that lists the events.
const EVENT_LIST: usize = 12;
/// A list of events is short.
const MOST_BYTES: u64 = 64 << 20;

pub(crate) fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// A part of the file.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    bytes: u64,
}

impl Section {
    fn of(bytes: &[u8], is_big_endian: bool) -> Section {
        Section { offset: number(&bytes[..8], is_big_endian), bytes: number(&bytes[8..16], is_big_endian) }
    }

    fn ends_within(self, length: u64) -> bool {
        self.offset.checked_add(self.bytes).is_some_and(|end| end <= length)
    }
}

/// Checks that all sections lie within the file, and that the list of events is whole. The source is at its begin
/// afterwards.
pub(crate) fn check(source: &mut (impl Read + Seek)) -> io::Result<()> {
    let length = source.seek(SeekFrom::End(0))?;
    source.rewind()?;
    let mut header = [0; HEADER_BYTES];
    source.read_exact(&mut header).map_err(|_| damaged("it is cut off in its header"))?;
    let is_big_endian = header.starts_with(BIG_ENDIAN);
    if number(&header[8..16], is_big_endian) <= PIPE_HEADER_BYTES {
        return Err(damaged("it was written to a pipe; record with 'perf record -o FILE'"));
    }
    let [attributes, data, types] = [ATTRIBUTES, DATA, EVENT_TYPES].map(|at| Section::of(&header[at..], is_big_endian));
    if data.bytes == 0 {
        return Err(damaged("it has no data: perf record did not end normally"));
    }
    if !attributes.ends_within(length) || !data.ends_within(length) {
        return Err(damaged("it is cut off: its data end after the file"));
    }
    let bit = |at: &usize| number(&header[FEATURES + at / 64 * 8..][..8], is_big_endian) >> (at % 64) & 1 == 1;
    let mut list = None;
    source.seek(SeekFrom::Start(data.offset + data.bytes))?;
    for feature in (0..256).filter(bit) {
        let mut section = [0; 16];
        source.read_exact(&mut section).map_err(|_| damaged("it is cut off: sections are missing"))?;
        let section = Section::of(&section, is_big_endian);
        if !section.ends_within(length) {
            return Err(damaged("it is cut off: a section ends after the file"));
        }
        if feature == EVENT_LIST {
            list = Some(section);
        }
    }
    let list = list.filter(|list| types.bytes == 0 && list.bytes <= MOST_BYTES);
    let list = list.ok_or_else(|| damaged("it has no list of events: perf since Linux 3.2 writes one"))?;
    source.seek(SeekFrom::Start(list.offset))?;
    let mut bytes = vec![0; list.bytes as usize];
    source.read_exact(&mut bytes)?;
    events(&bytes, is_big_endian).ok_or_else(|| damaged("its list of events is damaged"))?;
    source.rewind()
}

/// Walks the list: each event has its attributes, the number of its ids, its name and its ids.
fn events(bytes: &[u8], is_big_endian: bool) -> Option<()> {
    fn word(rest: &mut &[u8], is_big_endian: bool) -> Option<usize> {
        let (word, after) = rest.split_at_checked(4)?;
        *rest = after;
        Some(number(word, is_big_endian) as usize)
    }
    let mut rest = bytes;
    let (count, attribute_bytes) = (word(&mut rest, is_big_endian)?, word(&mut rest, is_big_endian)?);
    if count > bytes.len() {
        return None;
    }
    for _ in 0..count {
        rest = rest.get(attribute_bytes..)?;
        let ids = word(&mut rest, is_big_endian)?;
        let name_bytes = word(&mut rest, is_big_endian)?;
        rest = rest.get(name_bytes..)?.get(ids.checked_mul(8)?..)?;
    }
    Some(())
}
