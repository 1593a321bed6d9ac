//! What every source of metrics is, and the simplest kind: one file that is a table.

use std::path::PathBuf;

use rustix::io::Errno;

use crate::file::TextFile;
use crate::ledger::Sheet;
use crate::rows::{Rows, Table};

pub(crate) mod bdi;
pub(crate) mod buddyinfo;
pub(crate) mod cgroup;
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

/// Why a source could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// A file could not be opened or read.
    #[error("{}: {errno}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A tracepoint could not be counted.
    #[error("perf_event_open of {event} on CPU {cpu}: {errno}")]
    Counter {
        /// `category:event`.
        event: String,
        /// The CPU.
        cpu: u32,
        /// The kernel's answer.
        errno: Errno,
    },
}

impl SourceError {
    /// The file is no more: its device or mount went away.
    pub(crate) fn means_gone(&self) -> bool {
        matches!(self, SourceError::Read { errno: Errno::NOENT | Errno::NODEV, .. })
    }
}

/// One place where the kernel tells numbers.
pub(crate) trait Source: Send {
    /// Puts the values of now on the sheet. What cannot be read becomes absent; the first error is given, the rest is
    /// read all the same.
    fn sample(&mut self, sheet: &mut Sheet<'_>) -> Result<(), SourceError>;
}

/// Samples all, and gives the first error.
pub(crate) fn sample_all<'s, S: Source + ?Sized + 's>(
    sources: impl Iterator<Item = &'s mut S>,
    sheet: &mut Sheet<'_>,
) -> Result<(), SourceError> {
    let mut first = Ok(());
    for source in sources {
        let result = source.sample(sheet);
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
    pub(crate) fn vanish(&mut self, sheet: &mut Sheet<'_>) {
        self.rows.vanish(sheet);
    }

    /// Reads the file. Where it cannot be read its metrics become absent.
    pub(crate) fn update(&mut self, sheet: &mut Sheet<'_>) -> Result<(), SourceError> {
        let (text, result) = self.file.read_or_empty();
        self.rows.update(text, &mut self.table, sheet);
        result
    }

    /// The rows of the last reading.
    pub(crate) fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }
}

impl<T: Table + Send> Source for TableFile<T> {
    fn sample(&mut self, sheet: &mut Sheet<'_>) -> Result<(), SourceError> {
        self.update(sheet)
    }
}
