//! Parquet: a table as one file, with the columns and units that it has in the archive.

use std::io::{self, Write};

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::table::TableWriter;

/// Rows buffered per row group.
const ROWS_OF_A_GROUP: usize = 1 << 17;

/// A table being written.
pub struct ParquetTable<W: Write + Send> {
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> TableWriter<W> for ParquetTable<W> {
    const SUFFIX: &'static str = "parquet";

    /// Units are metadata of the fields.
    fn begin(sink: W, schema: &SchemaRef) -> io::Result<ParquetTable<W>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS_OF_A_GROUP))
            .build();
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties)).map_err(unwritten)?;
        Ok(ParquetTable { writer })
    }

    fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        self.writer.write(rows).map_err(unwritten)
    }

    fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(unwritten)
    }
}

/// The system's error, if it is one: its number shows whether the disk is full.
fn unwritten(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}
