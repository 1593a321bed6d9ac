//! The begin of a `trace.dat` (trace-cmd.dat(5)): of version 6 a list of parts in a fixed order, of version 7 sections
//! that options name.

use std::io::{self, Read, Seek, SeekFrom};

use super::codec::Codec;
use super::parts::{CpuPart, Parts};
use crate::event_formats::{MAGIC, Stored};
use crate::perf_check::damaged;

/// What comes before the events of version 6, and a section of version 7, at most.
const MOST_BYTES: u64 = 64 << 20;
/// Version, byte order, sizes, codec and the place of the options.
const HEAD_BYTES: u64 = 4096;
/// Sections of options, at most: a damaged file could have a circle of them.
const MOST_SECTIONS: usize = 64;
const COMPRESSED: u64 = 1;
/// Numbers of options, of which some are those of the sections that they name.
const DONE: u64 = 0;
const BUFFER: u64 = 3;
const CLOCK: u64 = 4;
const CPU_COUNT: u64 = 8;
const TICKS: u64 = 14;
const HEADERS: u64 = 16;
const FTRACE_FORMATS: u64 = 17;
const FORMATS: u64 = 18;
const FUNCTIONS: u64 = 19;
const TASKS: u64 = 21;
const BUFFER_TEXT: u64 = 22;
/// Kinds of data after the options of version 6, ten bytes each.
const OPTIONS: &[u8] = b"options  \0";
const EVENTS: &[u8] = b"flyrecord\0";
const AS_TEXT: &str = "it holds the text of a latency tracer; 'trace-cmd report FILE' prints it";

fn cut_off() -> io::Error {
    damaged("it is damaged, or cut off: trace-cmd record did not end normally")
}

/// Reads what comes before the events.
pub(crate) fn read(source: &mut (impl Read + Seek)) -> io::Result<Parts> {
    let length = source.seek(SeekFrom::End(0))?;
    let head = at(source, 0, HEAD_BYTES.min(length))?;
    let mut stored = Stored::new(head.strip_prefix(MAGIC).ok_or_else(cut_off)?);
    let version = stored.text().ok_or_else(cut_off)?.to_vec();
    let mut parts = Parts::default();
    begin(&mut stored, &mut parts).ok_or_else(cut_off)?;
    match &version[..] {
        b"6" => {
            let bytes = at(source, 0, length.min(MOST_BYTES))?;
            let mut stored = Stored { rest: &bytes[head.len() - stored.rest.len()..], ..stored };
            let instances = version_6(&mut stored, &mut parts)?;
            instances_6(source, &instances, &mut parts)?;
        }
        b"7" => Sections { is_big_endian: parts.is_big_endian, source }.read(&mut stored, &mut parts)?,
        version => {
            let version = String::from_utf8_lossy(version);
            return Err(damaged(format!(
                "its version {version} is not read; 'trace-cmd convert --file-version 7 ...'"
            )));
        }
    }
    ends(&mut parts.cpus, length)?;
    Ok(parts)
}

/// Checks that each CPU's events end before those of another one begin, and before the file ends. The size of
/// compressed events does not count what is around them: they go on until then.
fn ends(cpus: &mut [CpuPart], length: u64) -> io::Result<()> {
    let mut begins: Vec<u64> = cpus.iter().map(|cpu| cpu.offset).collect();
    begins.sort_unstable();
    for cpu in cpus {
        let after = begins.partition_point(|begin| *begin <= cpu.offset);
        let next = begins.get(after).map_or(length, |next| length.min(*next));
        let is_alone = after < 2 || begins[after - 2] != cpu.offset;
        let ends_before = cpu.offset.checked_add(cpu.bytes).is_some_and(|end| end <= next);
        if !is_alone || !ends_before {
            return Err(damaged("it is cut off: events of a CPU end after those of the next one, or after the file"));
        }
        if cpu.is_compressed {
            cpu.bytes = next - cpu.offset;
        }
    }
    Ok(())
}

/// Byte order, size of a long, size of a page.
fn begin(stored: &mut Stored<'_>, parts: &mut Parts) -> Option<()> {
    stored.is_big_endian = stored.take(1)? == [1];
    parts.is_big_endian = stored.is_big_endian;
    parts.formats.is_big_endian = stored.is_big_endian;
    stored.take(1)?;
    parts.page_bytes = stored.number(4)? as u32;
    Some(())
}

fn at(source: &mut (impl Read + Seek), offset: u64, length: u64) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(cut_off()) }
}

// --- Version 6. ---

/// The other buffers of events: where they are, and of how many CPUs.
struct Instances {
    offsets: Vec<u64>,
    cpus: u32,
}

fn version_6(stored: &mut Stored<'_>, parts: &mut Parts) -> io::Result<Instances> {
    let mut read = || -> Option<(Instances, bool)> {
        parts.header_page = stored.headers()?.to_vec();
        parts.formats.ftrace(stored)?;
        parts.formats.systems(stored)?;
        let functions = stored.number(4)?;
        parts.functions(stored.take(functions as usize)?);
        let printed = stored.number(4)?;
        stored.take(printed as usize)?;
        parts.tasks(stored.file()?);
        let mut instances = Instances { offsets: Vec::new(), cpus: stored.number(4)? as u32 };
        let mut kind = stored.take(EVENTS.len())?;
        if kind == OPTIONS {
            options_6(stored, parts, &mut instances)?;
            kind = stored.take(EVENTS.len())?;
        }
        if kind != EVENTS {
            return Some((instances, true));
        }
        cpus_6(stored, parts, instances.cpus)?;
        // Only some versions repeat the clock here.
        let mut rest = Stored { ..*stored };
        if let Some(clock) = rest.file().filter(|clock| clock.starts_with(b"[") || clock.contains(&b'[')) {
            parts.clock(clock);
        }
        Some((instances, false))
    };
    match read().ok_or_else(cut_off)? {
        (_, true) => Err(damaged(AS_TEXT)),
        (instances, false) => Ok(instances),
    }
}

fn options_6(stored: &mut Stored<'_>, parts: &mut Parts, instances: &mut Instances) -> Option<()> {
    loop {
        let kind = stored.number(2)?;
        if kind == DONE {
            return Some(());
        }
        let length = stored.number(4)?;
        let mut option = stored.part(length)?;
        match kind {
            BUFFER => instances.offsets.push(option.number(8)?),
            CLOCK => parts.clock(option.rest),
            CPU_COUNT => instances.cpus = option.number(4)? as u32,
            TICKS => parts.ticks(&mut option)?,
            _ => {}
        }
    }
}

/// A table: where the events of each CPU are.
fn cpus_6(stored: &mut Stored<'_>, parts: &mut Parts, count: u32) -> Option<()> {
    let page_bytes = parts.page_bytes;
    for cpu in 0..count {
        let (offset, bytes) = (stored.number(8)?, stored.number(8)?);
        parts.cpu(CpuPart { cpu, offset, bytes, is_compressed: false, page_bytes })?;
    }
    Some(())
}

fn instances_6(source: &mut (impl Read + Seek), instances: &Instances, parts: &mut Parts) -> io::Result<()> {
    for offset in &instances.offsets {
        let length = EVENTS.len() as u64 + 16 * u64::from(instances.cpus);
        let table = at(source, *offset, length.min(MOST_BYTES))?;
        let mut stored = Stored { is_big_endian: parts.is_big_endian, ..Stored::new(&table) };
        if stored.take(EVENTS.len()) == Some(EVENTS) {
            cpus_6(&mut stored, parts, instances.cpus).ok_or_else(cut_off)?;
        }
    }
    Ok(())
}

// --- Version 7. ---

struct Sections<'a, R> {
    is_big_endian: bool,
    source: &'a mut R,
}

/// A section's number, whether it is compressed, and its data.
struct Section {
    kind: u64,
    is_compressed: bool,
    at: u64,
    bytes: u64,
}

impl<R: Read + Seek> Sections<'_, R> {
    fn read(&mut self, stored: &mut Stored<'_>, parts: &mut Parts) -> io::Result<()> {
        let (name, next) = codec(stored).ok_or_else(cut_off)?;
        parts.codec = Codec::named(&name);
        if let Some(refusal) = parts.refusal() {
            return Err(damaged(refusal));
        }
        let mut next = next;
        for _ in 0..MOST_SECTIONS {
            if next == 0 {
                return Ok(());
            }
            let options = self.data(next, DONE, parts)?;
            next = self.options(&options, parts)?;
        }
        Err(damaged("it has too many sections of options"))
    }

    /// Follows the options of a section. Returns where the next one is.
    fn options(&mut self, options: &[u8], parts: &mut Parts) -> io::Result<u64> {
        let mut stored = Stored { is_big_endian: parts.is_big_endian, ..Stored::new(options) };
        loop {
            let (kind, mut option) = option_7(&mut stored).ok_or_else(cut_off)?;
            match kind {
                DONE => return option.number(8).ok_or_else(cut_off),
                BUFFER => self.buffer(option, parts)?,
                BUFFER_TEXT => return Err(damaged(AS_TEXT)),
                CLOCK if parts.clock.is_none() => parts.clock(option.rest),
                TICKS => parts.ticks(&mut option).ok_or_else(cut_off)?,
                HEADERS | FTRACE_FORMATS | FORMATS | FUNCTIONS | TASKS => {
                    let data = self.data(option.number(8).ok_or_else(cut_off)?, kind, parts)?;
                    section_7(kind, &data, parts).ok_or_else(cut_off)?;
                }
                _ => {}
            }
        }
    }

    /// A buffer of events: its section, its name, its clock, and where the events of each CPU are.
    fn buffer(&mut self, mut option: Stored<'_>, parts: &mut Parts) -> io::Result<()> {
        let begin = option.number(8).ok_or_else(cut_off)?;
        let is_main = option.text().ok_or_else(cut_off)?.is_empty();
        let clock = option.text().ok_or_else(cut_off)?;
        let (page_bytes, count) = option.number(4).zip(option.number(4)).ok_or_else(cut_off)?;
        if count == 0 {
            return Ok(());
        }
        if is_main || parts.cpus.is_empty() {
            parts.clock(clock);
        }
        let section = self.section(begin)?;
        for _ in 0..count {
            let mut number = |size| option.number(size).ok_or_else(cut_off);
            let (cpu, offset, bytes) = (number(4)? as u32, number(8)?, number(8)?);
            let page_bytes = page_bytes as u32;
            let part = CpuPart { cpu, offset, bytes, is_compressed: section.is_compressed, page_bytes };
            parts.cpu(part).ok_or_else(|| damaged("it has too many CPUs"))?;
        }
        Ok(())
    }

    fn section(&mut self, offset: u64) -> io::Result<Section> {
        const BYTES: u64 = 16;
        let header = at(self.source, offset, BYTES)?;
        let mut stored = Stored { is_big_endian: self.is_big_endian, ..Stored::new(&header) };
        let mut number = |size| stored.number(size).ok_or_else(cut_off);
        let (kind, flags, _name, bytes) = (number(2)?, number(2)?, number(4)?, number(8)?);
        Ok(Section { kind, is_compressed: flags & COMPRESSED != 0, at: offset + BYTES, bytes })
    }

    /// The data of a section of that kind.
    fn data(&mut self, offset: u64, kind: u64, parts: &Parts) -> io::Result<Vec<u8>> {
        let section = self.section(offset)?;
        if section.kind != kind || section.bytes > MOST_BYTES {
            return Err(cut_off());
        }
        let data = at(self.source, section.at, section.bytes)?;
        if !section.is_compressed {
            return Ok(data);
        }
        let mut stored = Stored { is_big_endian: parts.is_big_endian, ..Stored::new(&data) };
        let sizes = stored.number(4).zip(stored.number(4)).filter(|(_, after)| *after <= MOST_BYTES);
        let (before, after) = sizes.ok_or_else(cut_off)?;
        parts.codec.expand(stored.take(before as usize).ok_or_else(cut_off)?, after as usize)
    }
}

/// The codec's name, its version, and where the first options are.
fn codec(stored: &mut Stored<'_>) -> Option<(String, u64)> {
    let name = String::from_utf8_lossy(stored.text()?).into_owned();
    stored.text()?;
    Some((name, stored.number(8)?))
}

fn option_7<'a>(stored: &mut Stored<'a>) -> Option<(u64, Stored<'a>)> {
    let kind = stored.number(2)?;
    let length = stored.number(4)?;
    Some((kind, stored.part(length)?))
}

fn section_7(kind: u64, data: &[u8], parts: &mut Parts) -> Option<()> {
    let mut stored = Stored { is_big_endian: parts.is_big_endian, ..Stored::new(data) };
    match kind {
        HEADERS => parts.header_page = stored.headers()?.to_vec(),
        FTRACE_FORMATS => parts.formats.ftrace(&mut stored)?,
        FORMATS => parts.formats.systems(&mut stored)?,
        FUNCTIONS => {
            let length = stored.number(4)?;
            parts.functions(stored.take(length as usize)?);
        }
        _ => parts.tasks(stored.file()?),
    }
    Some(())
}
