//! The common interface of table writers.

use std::io::{self, Write};

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;

/// A table being written to its own file.
pub trait TableWriter<W: Write>: Sized {
    /// End of its files' names.
    const SUFFIX: &'static str;

    /// Begins a table of these columns.
    fn begin(sink: W, schema: &SchemaRef) -> io::Result<Self>;

    /// Adds rows.
    fn write(&mut self, rows: &RecordBatch) -> io::Result<()>;

    /// Ends the table and returns the sink.
    fn finish(self) -> io::Result<W>;
}
