//! /proc/diskstats: requests, sectors and times of each block device and partition.
//!
//! Instances are the devices' identities, not their names: a recording stays readable when `sdb` comes back as `sdc`,
//! and two recordings can be compared if the same file backed different loop devices.

use std::collections::HashSet;
use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::{shown, words, words_len};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::{MetricSource, TableFile};
use crate::source_error::SourceError;

/// Columns behind the name, as in Documentation/block/stat.rst. Discards since Linux 4.18, flushes since 5.5.
const FIELDS: [(&str, Unit, Semantics); 17] = {
    use Semantics::{Counter, Gauge};
    [
        ("read_ios", Unit::Count, Counter),
        ("read_merges", Unit::Count, Counter),
        ("read_sectors", Unit::Sectors, Counter),
        ("read_ticks", Unit::Milliseconds, Counter),
        ("write_ios", Unit::Count, Counter),
        ("write_merges", Unit::Count, Counter),
        ("write_sectors", Unit::Sectors, Counter),
        ("write_ticks", Unit::Milliseconds, Counter),
        ("in_flight", Unit::Count, Gauge),
        ("io_ticks", Unit::Milliseconds, Counter),
        ("time_in_queue", Unit::Milliseconds, Counter),
        ("discard_ios", Unit::Count, Counter),
        ("discard_merges", Unit::Count, Counter),
        ("discard_sectors", Unit::Sectors, Counter),
        ("discard_ticks", Unit::Milliseconds, Counter),
        ("flush_ios", Unit::Count, Counter),
        ("flush_ticks", Unit::Milliseconds, Counter),
    ]
};

/// Devices beyond this are left out, however many there are: each has 17 metrics.
const DEVICE_LIMIT: usize = 1024;

#[derive(Default)]
struct DiskstatsTable {
    /// Identities that have metrics.
    kept: HashSet<String>,
    /// Whether devices were left out.
    is_full: bool,
}

impl DiskstatsTable {
    fn has_room(&mut self, identity: &str, writer: &mut SampleWriter<'_>) -> bool {
        if self.kept.contains(identity) {
            return true;
        }
        if self.kept.len() >= DEVICE_LIMIT {
            if !std::mem::replace(&mut self.is_full, true) {
                writer.leave_out("diskstats", format!("there are, or were, more than {DEVICE_LIMIT} block devices"));
            }
            return false;
        }
        self.kept.insert(identity.to_owned())
    }
}

impl Table for DiskstatsTable {
    fn key_len(&self, line: &[u8]) -> usize {
        words_len(line, 3)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let mut names = words(key);
        let (Some(major), Some(minor), Some(name)) = (names.next(), names.next(), names.next()) else {
            return Vec::new();
        };
        let device = writer.devices.identify(&shown(major), &shown(minor), &shown(name));
        if !device.used {
            return Vec::new();
        }
        let identity = device.identity.clone();
        if !self.has_room(&identity, writer) {
            return Vec::new();
        }
        // Kernels before 4.18 print fewer columns: what is not printed is no metric.
        let named = FIELDS.iter().take(words(values).count()).enumerate();
        let column = |(word, (name, unit, semantics)): (usize, &(&str, Unit, Semantics))| {
            writer.column(word, format!("diskstats.{name}"), &identity, *unit, *semantics)
        };
        named.map(column).collect()
    }

    fn still(&mut self, key: &[u8], writer: &mut SampleWriter<'_>) -> bool {
        !writer.devices.has_changed(words(key).nth(2).unwrap_or_default())
    }
}

pub(crate) struct Diskstats(TableFile<DiskstatsTable>);

impl Diskstats {
    pub(crate) fn new(path: PathBuf) -> Diskstats {
        Diskstats(TableFile::new(path, DiskstatsTable::default()))
    }
}

impl MetricSource for Diskstats {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        if let Some((number, name)) = writer.devices.next_changed() {
            writer.devices.forget(&name);
            let (major, minor) = number.split_once(':').unwrap_or_default();
            self.0.rows().remove(|key| words(key).eq([major, minor, &name].map(str::as_bytes)), writer);
        }
        self.0.update(writer)
    }
}
