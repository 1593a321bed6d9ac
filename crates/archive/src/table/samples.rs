//! `samples`: when each sample was taken and what it cost.

use arrow_array::ArrayRef;
use model::metric::SampleHeader;
use model::time::Moment;

use super::cell::Cell;
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each sample.
pub(crate) struct SampleTable;

impl Table for SampleTable {
    type Row = SampleHeader;
    const NAME: &'static str = "samples";
    const PRIORITY: Priority = Priority::Metrics;

    columns! { SampleHeader;
        /// ordinal from 0
        sample: u32, "ordinal";
        /// when reading began
        monotonic_ns: u64 = |row| row.at.monotonic_ns, "nanoseconds";
        /// the same moment on the wall clock
        wall_ns: i64 = |row| row.at.wall_ns, "nanoseconds since 1970";
        /// delay after the planned moment
        late_ns: u64, "nanoseconds";
        /// CPU time that the sample took
        cpu_ns: u64, "nanoseconds";
        /// from the first to the last read
        took_ns: u64, "nanoseconds";
        read { at: Moment { monotonic_ns, wall_ns } }
    }

    fn span_ns(row: &SampleHeader) -> Option<(u64, u64)> {
        Some((row.at.monotonic_ns, row.at.monotonic_ns))
    }
}
