//! `user_frames`: places in programs.

use arrow_array::ArrayRef;
use model::user_stack::UserFrameRecord;

use super::cell::Cell;
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each place, and another one where its names were found when the recording ended.
pub(crate) struct UserFrameTable;

impl Table for UserFrameTable {
    type Row = UserFrameRecord;
    const NAME: &'static str = "user_frames";
    const PRIORITY: Priority = Priority::Trace;

    columns! { UserFrameRecord;
        /// number within the run
        frame: u32, "id";
        /// path of the program or library, as its process saw it; `[vdso]`, `[anonymous]`: no file; null: the process
        /// had ended before its memory map was read
        module: Option<String>, "text";
        /// the file's build id, in hexadecimal
        build_id: Option<String>, "text";
        /// offset in that file; the address where it is no file
        offset: u64, "bytes";
        /// whether it is where the innermost function was; of a caller, the place is the one after its call
        is_innermost: bool, "flag";
        /// functions at that place, of inlined ones the innermost first; empty: unknown
        functions: Vec<String>, "text";
        /// source file of each function; empty: unknown
        files: Vec<String>, "text";
        /// line of each; 0: unknown
        lines: Vec<u32>, "count";
    }

    fn weight(row: &UserFrameRecord) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = row.functions.iter().chain(&row.files).map(|text| size_of::<String>() + text.len() + 4);
        size_of::<UserFrameRecord>() + text(&row.module) + text(&row.build_id) + texts.sum::<usize>()
    }
}
