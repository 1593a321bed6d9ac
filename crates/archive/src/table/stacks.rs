//! `stacks`: kernel stacks, each once.

use arrow_array::ArrayRef;
use model::stall::StackRecord;

use super::cell::Cell;
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each stack.
pub(crate) struct StackTable;

impl Table for StackTable {
    type Row = StackRecord;
    const NAME: &'static str = "stacks";
    const PRIORITY: Priority = Priority::Trace;

    columns! { StackRecord;
        /// number within the run
        stack: u32, "id";
        /// function names, innermost first
        frames: Vec<String>, "text";
    }

    fn weight(row: &StackRecord) -> usize {
        let frame = |frame: &String| size_of::<String>() + frame.len();
        size_of::<StackRecord>() + row.frames.iter().map(frame).sum::<usize>()
    }
}
