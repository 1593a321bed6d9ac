//! Pressure stall information: /proc/pressure and the `*.pressure` files of cgroup v2. Only the totals: averages are
//! derived on reading.

use std::path::Path;

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, shown, words};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::{MetricSource, TableFile, sample_all};
use crate::source_error::SourceError;

/// The resources. `irq` since Linux 6.1 with CONFIG_IRQ_TIME_ACCOUNTING.
pub(crate) const RESOURCES: [&str; 4] = ["cpu", "io", "memory", "irq"];

/// Lines `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and `full ...`.
pub(crate) struct PressureTable {
    pub(crate) prefix: String,
    pub(crate) instance: String,
}

impl Table for PressureTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let Some(word) = words(values).position(|word| word.starts_with(b"total=")) else { return Vec::new() };
        let name = format!("{}.{}", self.prefix, shown(key));
        vec![writer.column(word, name, &self.instance, Unit::Microseconds, Semantics::Counter)]
    }
}

/// The whole machine's pressure.
pub(crate) struct Pressure(Vec<TableFile<PressureTable>>);

impl Pressure {
    /// Opens the files that exist; the first error if none does.
    pub(crate) fn open(folder: &Path) -> Result<Pressure, SourceError> {
        let mut files = Vec::new();
        let mut first_error = None;
        for resource in RESOURCES {
            let table = PressureTable { prefix: format!("pressure.{resource}"), instance: String::new() };
            let mut file = TableFile::new(folder.join(resource), table);
            // Booted with psi=0 the files exist, and answer EOPNOTSUPP.
            match file.probe() {
                Ok(()) => files.push(file),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            Some(error) if files.is_empty() => Err(error),
            _ => Ok(Pressure(files)),
        }
    }
}

impl MetricSource for Pressure {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        sample_all(self.0.iter_mut(), writer)
    }
}
