//! The trait of metric sources, and the simplest kind: one file that is a table.

use std::path::PathBuf;

use crate::file::TextFile;
use crate::last_values::SampleWriter;
use crate::rows::{Rows, Table};
use crate::source_error::SourceError;

pub(crate) mod bdi;
pub(crate) mod buddyinfo;
pub(crate) mod cgroup;
pub(crate) mod cgroups;
pub(crate) mod diskstats;
pub(crate) mod ext4;
pub(crate) mod jbd2;
pub(crate) mod meminfo;
pub(crate) mod mountstats;
pub(crate) mod pressure;
pub(crate) mod recorder;
pub(crate) mod single;
pub(crate) mod slabinfo;
pub(crate) mod stat;
pub(crate) mod tracepoint;
pub(crate) mod vmstat;
pub(crate) mod xfs;

/// A place where the kernel exposes numbers.
pub(crate) trait MetricSource: Send {
    /// Writes the current values. What cannot be read becomes absent; the first error is returned, and the rest is
    /// still read.
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError>;
}

/// Samples all, and returns the first error.
pub(crate) fn sample_all<'s, S: MetricSource + ?Sized + 's>(
    sources: impl Iterator<Item = &'s mut S>,
    writer: &mut SampleWriter<'_>,
) -> Result<(), SourceError> {
    let mut first = Ok(());
    for source in sources {
        let result = source.sample(writer);
        first = first.and(result);
    }
    first
}

/// A file whose lines are rows of a table.
pub(crate) struct TableFile<T> {
    file: TextFile,
    rows: Rows,
    table: T,
}

impl<T: Table> TableFile<T> {
    pub(crate) fn new(path: PathBuf, table: T) -> TableFile<T> {
        TableFile { file: TextFile::new(path), rows: Rows::default(), table }
    }

    /// Whether it can be read now.
    pub(crate) fn probe(&mut self) -> Result<(), SourceError> {
        self.file.read().map(|_| ())
    }

    /// Makes its metrics absent.
    pub(crate) fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.rows.vanish(writer);
    }

    /// Reads the file. Where it cannot be read its metrics become absent.
    pub(crate) fn update(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let (text, result) = self.file.read_or_empty();
        self.rows.update(text, &mut self.table, writer);
        result
    }

    /// The rows of the last reading.
    pub(crate) fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }
}

impl<T: Table + Send> MetricSource for TableFile<T> {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.update(writer)
    }
}
