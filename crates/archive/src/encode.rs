//! Rows → bytes: Arrow IPC messages with zstd-compressed buffers.

use std::io;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, Schema};

/// Ends an Arrow stream.
pub(crate) const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Buffers in a file begin at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

/// Encodes messages, keeping the zstd context from one to the next.
pub(crate) struct Encoder {
    generator: IpcDataGenerator,
    options: IpcWriteOptions,
    context: IpcWriteContext,
    dictionaries: DictionaryTracker,
}

impl Encoder {
    /// An encoder with a zstd level.
    pub(crate) fn new(level: i32) -> Encoder {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(Some(CompressionType::ZSTD)))
            .and_then(|options| options.try_with_compression_level(Some(level)))
            .expect("8 is a valid alignment and zstd is compiled in");
        let mut context = IpcWriteContext::default();
        context.set_reserve_scratch(true);
        Encoder { generator: IpcDataGenerator::default(), options, context, dictionaries: DictionaryTracker::new(true) }
    }

    /// Appends the schema message that begins a segment.
    pub(crate) fn schema(&mut self, schema: &Schema, out: &mut Vec<u8>) -> io::Result<()> {
        let message =
            self.generator.schema_to_bytes_with_dictionary_tracker(schema, &mut self.dictionaries, &self.options);
        write_message(out, message, &self.options).map_err(failed)?;
        Ok(())
    }

    /// Appends a batch's message. No table has a dictionary column, so it is always exactly one.
    pub(crate) fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> io::Result<()> {
        let (_, message) =
            self.generator.encode(batch, &mut self.dictionaries, &self.options, &mut self.context).map_err(failed)?;
        write_message(out, message, &self.options).map_err(failed)?;
        Ok(())
    }
}

fn failed(error: ArrowError) -> io::Error {
    io::Error::other(error)
}
