//! Arrow messages that may come from a stranger, checked before Arrow decodes them: their checksum only shows that they
//! are as somebody wrote them. Arrow takes the lengths and offsets in a message at their word.

use std::panic::catch_unwind;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, MessageHeader};
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::encode::{ALIGNMENT, END_OF_STREAM};

/// Before the metadata: a marker, and the metadata's length.
const PREFIX: usize = 8;
const MARKER: [u8; 4] = [0xff; 4];
/// Rows of a batch at most. A writer's flush holds fewer: `trace_pending_limit_bytes` of them.
pub(crate) const MAX_ROWS: u64 = 8 << 20;
/// Bytes of a batch at most, as stored and decompressed.
pub(super) const MAX_BYTES: u64 = 256 << 20;
/// Before a compressed buffer: its decompressed length, or this if it is not compressed.
const NOT_COMPRESSED: i64 = -1;

/// The columns of a batch of that many rows, from the messages of its schema and of itself.
pub(super) fn decode(schema: Vec<u8>, batch: Vec<u8>, rows: u64) -> Result<RecordBatch, String> {
    let columns = decode_schema(&schema)?;
    check_batch(&columns, &batch, rows)?;
    let batch = guarded(move || {
        let mut decoder = StreamDecoder::new();
        for bytes in [schema, batch] {
            let decoded = decoder.decode(&mut Buffer::from_vec(bytes)).map_err(|error| error.to_string())?;
            if let Some(batch) = decoded {
                return Ok(batch);
            }
        }
        Err("it is not a record batch".to_owned())
    })?;
    if batch.num_rows() as u64 == rows { Ok(batch) } else { Err(format!("it does not have {rows} rows")) }
}

/// The schema in its message.
pub(super) fn decode_schema(message: &[u8]) -> Result<SchemaRef, String> {
    check_schema(message)?;
    // The decoder parses a message once the next one begins.
    let stream = [message, &END_OF_STREAM].concat();
    guarded(move || {
        let mut decoder = StreamDecoder::new();
        decoder.decode(&mut stream.into()).map_err(|error| error.to_string())?;
        decoder.schema().ok_or_else(|| "it has no schema".to_owned())
    })
}

/// The last line of defence, should Arrow trust something that is not checked here.
fn guarded<T>(decode: impl FnOnce() -> Result<T, String> + std::panic::UnwindSafe) -> Result<T, String> {
    catch_unwind(decode).unwrap_or_else(|_| Err("Arrow cannot decode it".to_owned()))
}

fn check_schema(bytes: &[u8]) -> Result<(), String> {
    let (message, body) = parse(bytes)?;
    let is_schema = message.header_type() == MessageHeader::Schema && body.is_empty();
    if is_schema { Ok(()) } else { Err("it is not a schema".to_owned()) }
}

fn check_batch(schema: &Schema, bytes: &[u8], rows: u64) -> Result<(), String> {
    let (message, body) = parse(bytes)?;
    let batch = message.header_as_record_batch().ok_or("it is not a record batch")?;
    if rows > MAX_ROWS || u64::try_from(batch.length()) != Ok(rows) {
        return Err(format!("it claims {} rows instead of {rows}, or more than {MAX_ROWS}", batch.length()));
    }
    let is_compressed = batch.compression().is_some();
    let mut lengths = Vec::new();
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = part(body, buffer.offset(), buffer.length()).ok_or("a buffer lies outside of it")?;
        lengths.push(if is_compressed { decompressed(bytes)? } else { bytes.len() as u64 });
    }
    let claimed = lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length));
    if claimed > MAX_BYTES {
        return Err(format!("it claims {claimed} bytes, more than {MAX_BYTES}"));
    }
    let nodes = batch.nodes().into_iter().flatten().map(|node| (node.length(), node.null_count()));
    let mut columns = Layout { nodes, lengths: lengths.into_iter() };
    schema.fields().iter().try_for_each(|field| columns.column(field.data_type()))?;
    if columns.nodes.next().is_some() || columns.lengths.next().is_some() {
        return Err("it has more columns than its schema".to_owned());
    }
    Ok(())
}

/// What is left of a batch's columns, in the order of its metadata.
struct Layout<Nodes> {
    /// Values and absent ones of each column; a list's items are a column of their own.
    nodes: Nodes,
    /// Bytes of each buffer.
    lengths: std::vec::IntoIter<u64>,
}

impl<Nodes: Iterator<Item = (i64, i64)>> Layout<Nodes> {
    /// Takes a column of that type; an error if its buffers are too short for its values. The values of offsets are
    /// checked by Arrow.
    fn column(&mut self, data_type: &DataType) -> Result<(), String> {
        const OFFSET_BYTES: u64 = 4;
        let short = || "a column claims more values than it has".to_owned();
        let (values, absent) = self.nodes.next().ok_or("it has fewer columns than its schema")?;
        let (values, absent) =
            (u64::try_from(values).map_err(|_| short())?, u64::try_from(absent).map_err(|_| short())?);
        // So many parts of that width.
        let mut holds = |parts: u64, width: u64, may_be_empty: bool| match self.lengths.next() {
            Some(length) if length % width == 0 => length / width >= parts || (may_be_empty && length == 0),
            _ => false,
        };
        let valid = holds(values.div_ceil(8), 1, absent == 0) && absent <= values;
        let offsets = values.saturating_add(1);
        let whole = match data_type {
            DataType::Utf8 => holds(offsets, OFFSET_BYTES, values == 0) && holds(0, 1, true),
            DataType::List(_) => holds(offsets, OFFSET_BYTES, values == 0),
            DataType::Boolean => holds(values.div_ceil(8), 1, false),
            other => {
                let width = other.primitive_width().ok_or_else(|| format!("no table has a column of {other}"))?;
                holds(values, width as u64, false)
            }
        };
        if !valid || !whole {
            return Err(short());
        }
        if let DataType::List(items) = data_type { self.column(items.data_type()) } else { Ok(()) }
    }
}

/// A message's metadata, whose own structure is valid, and its body.
fn parse(bytes: &[u8]) -> Result<(Message<'_>, &[u8]), String> {
    let damaged = || "it is not an Arrow message".to_owned();
    let (prefix, rest) = bytes.split_at_checked(PREFIX).ok_or_else(damaged)?;
    let (marker, length) = prefix.split_at(MARKER.len());
    let length = i32::from_le_bytes(length.try_into().map_err(|_| damaged())?);
    let length = usize::try_from(length).map_err(|_| damaged())?;
    let (metadata, body) =
        rest.split_at_checked(length).filter(|_| length.is_multiple_of(ALIGNMENT)).ok_or_else(damaged)?;
    let message = arrow_ipc::root_as_message(metadata).map_err(|error| error.to_string())?;
    let is_whole = marker == MARKER && u64::try_from(message.bodyLength()) == Ok(body.len() as u64);
    if is_whole { Ok((message, body)) } else { Err(damaged()) }
}

fn part(body: &[u8], offset: i64, length: i64) -> Option<&[u8]> {
    let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
    if !offset.is_multiple_of(ALIGNMENT) {
        return None;
    }
    body.get(offset..offset.checked_add(length)?)
}

/// Length of a buffer once decompressed.
fn decompressed(buffer: &[u8]) -> Result<u64, String> {
    let Some((length, rest)) = buffer.split_first_chunk() else {
        return if buffer.is_empty() { Ok(0) } else { Err("a buffer is too short".to_owned()) };
    };
    match i64::from_le_bytes(*length) {
        NOT_COMPRESSED => Ok(rest.len() as u64),
        length => u64::try_from(length).map_err(|_| "a buffer claims a negative length".to_owned()),
    }
}
