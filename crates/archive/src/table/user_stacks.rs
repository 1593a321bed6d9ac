//! `user_stacks`: where programs were in their own code.

use arrow_array::ArrayRef;
use model::user_stack::UserStackRecord;

use super::cell::Cell;
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each stack that was taken; none unless they were asked for.
pub(crate) struct UserStackTable;

impl Table for UserStackTable {
    type Row = UserStackRecord;
    const NAME: &'static str = "user_stacks";
    const PRIORITY: Priority = Priority::Trace;

    columns! { UserStackRecord;
        /// thread: a row of `tasks`
        tid: u32, "id";
        /// since when it was there: the begin of its first long wait in that system call
        start_ns: u64, "nanoseconds";
        /// until when; equal to the start where the thread woke one that waited for a lock
        end_ns: u64, "nanoseconds";
        /// rows of `user_frames`, innermost first
        frames: Vec<u32>, "id";
        /// whether the last frame is the thread's first function; otherwise callers are missing
        whole: bool, "flag";
    }

    fn span_ns(row: &UserStackRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &UserStackRecord) -> usize {
        size_of::<UserStackRecord>() + size_of_val(row.frames.as_slice())
    }
}
