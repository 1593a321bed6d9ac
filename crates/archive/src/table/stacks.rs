//! `stacks`: kernel stacks, each once.

use arrow_array::ArrayRef;
use arrow_array::types::UInt32Type;
use arrow_schema::{DataType, Field};
use model::stall::StackRecord;

use super::column::{list_of_text, numbers, required, text_lists};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each stack.
pub(crate) struct Stacks;

impl Table for Stacks {
    type Row = StackRecord;
    const NAME: &'static str = "stacks";
    const PRIORITY: Priority = Priority::Trace;

    fn columns() -> Vec<Field> {
        vec![required("stack", DataType::UInt32, "id"), required("frames", list_of_text(), "text")]
    }

    fn encode(rows: &[StackRecord]) -> Vec<ArrayRef> {
        vec![numbers::<UInt32Type, _>(rows, |row| row.stack), text_lists(rows, |row| &row.frames)]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<StackRecord>, ColumnError> {
        let (stack, frames) = (columns.u32("stack")?, columns.text_lists("frames")?);
        let row = |row| StackRecord { stack: stack.value(row), frames: frames.get(row) };
        Ok((0..columns.rows()).map(row).collect())
    }

    fn weight(row: &StackRecord) -> usize {
        let frame = |frame: &String| size_of::<String>() + frame.len();
        size_of::<StackRecord>() + row.frames.iter().map(frame).sum::<usize>()
    }
}
