//! Where a trace has its bundles of events, and what is known beside them: found in one pass, which holds one packet.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::machine::Machine;
use super::tracepoint::Described;
use crate::perf_check::damaged;
use crate::protobuf::{Fields, Value, packed};

/// Packets are written in parts of a shared buffer; larger ones come from a damaged file.
const MOST_PACKET: usize = 64 << 20;
/// Perfetto compresses parts of at most 512 KiB.
const MOST_EXPANDED: usize = 16 << 20;
const MOST_BUNDLES: usize = 1 << 22;
/// As many as Perfetto reads.
const MOST_CPUS: u32 = 1024;
/// `Trace.packet`: what a trace, and what is compressed, consist of.
const PACKET: u8 = 1 << 3 | 2;

/// A trace's packets and what they say beside the events.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By CPU and time.
    pub(super) bundles: BTreeMap<u32, Vec<Place>>,
    pub(super) machine: Machine,
    pub(super) described: Described,
    /// The file ends within a packet.
    pub(super) is_cut: bool,
    count: usize,
}

/// Where a bundle is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) chunk: Chunk,
    pub(super) begin: usize,
    pub(super) bytes: usize,
    first_ns: u64,
    /// Events before it are lost.
    pub(super) is_after_loss: bool,
}

/// A part of the file that is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    offset: u64,
    bytes: usize,
    codec: Codec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    Plain,
    Zlib,
    Zstd,
}

impl Chunk {
    /// Reads and decompresses it.
    pub(super) fn read(self, source: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
        source.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = vec![0; self.bytes];
        source.read_exact(&mut bytes)?;
        self.codec.expand(bytes)
    }
}

impl Codec {
    fn expand(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let wrong = || damaged("a compressed packet of it is damaged");
        match self {
            Codec::Plain => Ok(bytes),
            Codec::Zlib => read_at_most(flate2::read::ZlibDecoder::new(&bytes[..])).ok_or_else(wrong),
            Codec::Zstd => zstd::Decoder::new(&bytes[..]).ok().and_then(read_at_most).ok_or_else(wrong),
        }
    }
}

fn read_at_most(decoder: impl Read) -> Option<Vec<u8>> {
    let mut expanded = Vec::new();
    decoder.take(MOST_EXPANDED as u64 + 1).read_to_end(&mut expanded).ok()?;
    (expanded.len() <= MOST_EXPANDED).then_some(expanded)
}

impl Index {
    /// Reads a trace once.
    pub(super) fn of(source: &mut (impl Read + Seek)) -> io::Result<Index> {
        source.rewind()?;
        let (mut index, mut offset, mut reader) = (Index::default(), 0, BufReader::new(source));
        let mut packet = Vec::new();
        while let Some(header) = packet_header(&mut reader, offset)? {
            let Header::Packet { bytes, header_bytes } = header else {
                index.is_cut = true;
                break;
            };
            packet.clear();
            (&mut reader).take(bytes as u64).read_to_end(&mut packet)?;
            if packet.len() < bytes {
                index.is_cut = true;
                break;
            }
            offset += header_bytes;
            index.add(Chunk { offset, bytes, codec: Codec::Plain }, &packet)?;
            offset += bytes as u64;
        }
        for places in index.bundles.values_mut() {
            places.sort_by_key(|place| place.first_ns);
            // What was before the trace is no loss.
            places[0].is_after_loss = false;
        }
        Ok(index)
    }

    /// Adds a packet of the file.
    fn add(&mut self, chunk: Chunk, packet: &[u8]) -> io::Result<()> {
        let mut fields = Fields::new(packet);
        while let Some((field, value)) = fields.next() {
            let codec = match field {
                50 => Codec::Zlib,
                133 => Codec::Zstd,
                _ => continue,
            };
            let Some(compressed) = value.bytes() else { continue };
            let begin = packet.len() - fields.rest().len() - compressed.len();
            let chunk = Chunk { offset: chunk.offset + begin as u64, bytes: compressed.len(), codec };
            let expanded = codec.expand(compressed.to_vec())?;
            let mut packets = Fields::new(&expanded);
            while let Some((_, packet)) = packets.next() {
                let Some(packet) = packet.bytes() else { continue };
                let begin = expanded.len() - packets.rest().len() - packet.len();
                self.add_packet(chunk, begin, packet)?;
            }
        }
        self.add_packet(chunk, 0, packet)
    }

    fn add_packet(&mut self, chunk: Chunk, at: usize, packet: &[u8]) -> io::Result<()> {
        let is_after_loss = matches!(Fields::find(packet, 42), Some(Value::Number(reasons)) if reasons != 0);
        let mut fields = Fields::new(packet);
        while let Some((field, value)) = fields.next() {
            let Some(message) = value.bytes() else { continue };
            match field {
                1 => {
                    let begin = at + packet.len() - fields.rest().len() - message.len();
                    self.add_bundle(Place { chunk, begin, bytes: message.len(), first_ns: 0, is_after_loss }, message)?;
                }
                2 => self.machine.add_tasks(message),
                12 => self.machine.add_functions(message),
                45 => self.machine.describe(message),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_bundle(&mut self, place: Place, bundle: &[u8]) -> io::Result<()> {
        let (mut cpu, mut first_ns, mut is_after_loss) = (None, None, place.is_after_loss);
        for (field, value) in Fields::new(bundle) {
            match (field, value) {
                (1, Value::Number(number)) => cpu = Some(number),
                (2, Value::Bytes(event)) if first_ns.is_none() => {
                    first_ns = Fields::find(event, 1).and_then(Value::number);
                }
                (3, Value::Number(lost)) => is_after_loss |= lost != 0,
                (4, Value::Bytes(compact)) => {
                    let first = |field| packed(Fields::find(compact, field)?.bytes()?).next();
                    first_ns = [first_ns, first(1), first(7)].into_iter().flatten().min();
                }
                (11, Value::Bytes(description)) => drop(self.described.add(description)),
                _ => {}
            }
        }
        let (Some(cpu), Some(first_ns)) = (cpu, first_ns) else { return Ok(()) };
        let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS);
        self.count += 1;
        let (Some(cpu), 0..=MOST_BUNDLES) = (cpu, self.count) else {
            return Err(damaged("its bundles of events are damaged"));
        };
        self.bundles.entry(cpu).or_default().push(Place { first_ns, is_after_loss, ..place });
        Ok(())
    }
}

enum Header {
    Packet { bytes: usize, header_bytes: u64 },
    Cut,
}

/// A packet's tag and length. `None`: the file ends before it.
fn packet_header(reader: &mut impl BufRead, offset: u64) -> io::Result<Option<Header>> {
    let mut byte = || -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((reader.read(&mut byte)? == 1).then_some(byte[0]))
    };
    match byte()? {
        None => return Ok(None),
        Some(PACKET) => {}
        Some(_) => return Err(damaged(format!("it is damaged at byte {offset}: no packet begins there"))),
    }
    let mut length = 0_u64;
    for at in 0..5 {
        let Some(byte) = byte()? else { return Ok(Some(Header::Cut)) };
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= MOST_PACKET);
            let bytes =
                bytes.ok_or_else(|| damaged(format!("it is damaged at byte {offset}: a packet of {length} bytes")))?;
            return Ok(Some(Header::Packet { bytes, header_bytes: at + 2 }));
        }
    }
    Err(damaged(format!("it is damaged at byte {offset}: a packet without a length")))
}

/// Whether a file that begins so is a trace: its first packet is whole, and another follows. Where the packet goes on
/// after this begin its length decides: of text the second byte is below 128, and no packet so short goes on.
pub(super) fn is_trace(begin: &[u8]) -> bool {
    let mut rest = begin;
    let Ok(Some(Header::Packet { bytes: length @ 1.., .. })) = packet_header(&mut rest, 0) else { return false };
    let Some(packet) = rest.get(..length) else { return length >= 128 };
    let mut fields = Fields::new(packet);
    fields.by_ref().count() > 0 && fields.rest().is_empty() && rest.get(length).is_none_or(|next| *next == PACKET)
}

#[cfg(test)]
mod tests {
    use super::is_trace;

    #[test]
    fn text_is_no_trace() {
        for text in
            ["", "\n", "\n\n\n\n", "\n# tracer: nop\n#\n", "\n  dd-7 [000] 1.0: sched_switch: a\n", "# tracer: nop\n"]
        {
            assert!(!is_trace(text.as_bytes()), "{text:?}");
        }
        // A timestamp; the same and another packet's begin; a packet of 8 KiB.
        assert!(
            is_trace(b"\x0a\x02\x40\x01") && is_trace(b"\x0a\x02\x40\x01\x0a\x90") && is_trace(b"\x0a\x80\x40\x92")
        );
        assert!(!is_trace(b"\x0a\x02\x40\x01\x0b") && !is_trace(b"\x0a\x02\x43\x01") && !is_trace(b"\x0a\x00\x0a\x00"));
    }
}
