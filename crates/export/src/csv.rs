//! CSV as in RFC 4180, UTF-8, with a line of column names.
//!
//! An absent value is an empty cell; an empty text is `""`. A list is one cell that holds a JSON array. No text is a
//! formula ([`model::csv`]).

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use crate::table::TableWriter;

/// A table being written.
pub struct CsvTable<W: Write> {
    sink: W,
    /// Reused for each list.
    cell: String,
}

impl<W: Write> TableWriter<W> for CsvTable<W> {
    const SUFFIX: &'static str = "csv";

    fn begin(mut sink: W, schema: &SchemaRef) -> io::Result<CsvTable<W>> {
        for (number, field) in schema.fields().iter().enumerate() {
            separate(&mut sink, number)?;
            text(&mut sink, field.name())?;
        }
        sink.write_all(b"\n")?;
        Ok(CsvTable { sink, cell: String::new() })
    }

    fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        for row in 0..rows.num_rows() {
            for (number, column) in rows.columns().iter().enumerate() {
                separate(&mut self.sink, number)?;
                if column.is_valid(row) {
                    self.cell(column.as_ref(), row)?;
                }
            }
            self.sink.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

impl<W: Write> CsvTable<W> {
    fn cell(&mut self, column: &dyn Array, row: usize) -> io::Result<()> {
        let sink = &mut self.sink;
        match column.data_type() {
            DataType::UInt32 => write!(sink, "{}", column.as_primitive::<UInt32Type>().value(row)),
            DataType::UInt64 => write!(sink, "{}", column.as_primitive::<UInt64Type>().value(row)),
            DataType::Int32 => write!(sink, "{}", column.as_primitive::<Int32Type>().value(row)),
            DataType::Int64 => write!(sink, "{}", column.as_primitive::<Int64Type>().value(row)),
            DataType::Boolean => write!(sink, "{}", column.as_boolean().value(row)),
            DataType::Utf8 => text(sink, column.as_string::<i32>().value(row)),
            DataType::List(_) => {
                self.cell.clear();
                list(&mut self.cell, column.as_list::<i32>().value(row).as_ref())?;
                text(sink, &self.cell)
            }
            other => Err(unknown(other)),
        }
    }
}

fn separate(sink: &mut impl Write, number: usize) -> io::Result<()> {
    if number > 0 { sink.write_all(b",") } else { Ok(()) }
}

fn text(sink: &mut impl Write, text: &str) -> io::Result<()> {
    sink.write_all(model::csv::cell(text).as_bytes())
}

fn list(cell: &mut String, items: &dyn Array) -> io::Result<()> {
    use std::fmt::Write;
    cell.push('[');
    for item in 0..items.len() {
        cell.push_str(if item > 0 { "," } else { "" });
        match items.data_type() {
            // A user stack ends with a null where the callers are unknown.
            _ if items.is_null(item) => cell.push_str("null"),
            DataType::UInt32 => {
                write!(cell, "{}", items.as_primitive::<UInt32Type>().value(item)).map_err(io::Error::other)?
            }
            DataType::UInt64 => {
                write!(cell, "{}", items.as_primitive::<UInt64Type>().value(item)).map_err(io::Error::other)?
            }
            DataType::Utf8 => cell.push_str(&serde_json::to_string(items.as_string::<i32>().value(item))?),
            other => return Err(unknown(other)),
        }
    }
    cell.push(']');
    Ok(())
}

/// The archive has no such column; the first test of a new one shows this error.
fn unknown(data_type: &DataType) -> io::Error {
    io::Error::other(format!("CSV has no form for columns of type {data_type}"))
}

#[cfg(test)]
mod tests;
