//! The counters of the cgroup that the load runs in, of either version.

use std::path::{Path, PathBuf};

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, shown, words, words_len};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::pressure::PressureTable;
use crate::source::single::SingleTable;
use crate::source::{MetricSource, TableFile, sample_all};
use crate::source_error::SourceError;

pub(super) mod io_stat;

/// Folders of the cgroup that the load runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadCgroup {
    /// Instance of its metrics. The same for all runs, which makes them comparable: `box`.
    pub label: String,
    /// Its folder in the v1 memory hierarchy.
    pub memory_v1: Option<PathBuf>,
    /// Its folder in the v1 blkio hierarchy.
    pub blkio_v1: Option<PathBuf>,
    /// Its folder in the v2 hierarchy.
    pub v2: Option<PathBuf>,
}

pub(super) type Meaning = fn(&str) -> Option<(Unit, Semantics)>;

const SINGLE_V1: [(&str, Unit, Semantics); 4] = [
    ("memory.usage_in_bytes", Unit::Bytes, Semantics::Gauge),
    ("memory.max_usage_in_bytes", Unit::Bytes, Semantics::Gauge),
    ("memory.limit_in_bytes", Unit::Bytes, Semantics::Gauge),
    ("memory.failcnt", Unit::Count, Semantics::Counter),
];

const SINGLE_V2: [(&str, Unit, Semantics); 6] = [
    ("memory.current", Unit::Bytes, Semantics::Gauge),
    ("memory.peak", Unit::Bytes, Semantics::Gauge),
    ("memory.max", Unit::Bytes, Semantics::Gauge),
    ("memory.high", Unit::Bytes, Semantics::Gauge),
    ("memory.swap.current", Unit::Bytes, Semantics::Gauge),
    ("pids.current", Unit::Count, Semantics::Gauge),
];

const FLAT_V2: [(&str, Meaning); 3] = [
    ("memory.stat", memory_stat_v2),
    ("memory.events", |_| Some((Unit::Count, Semantics::Counter))),
    ("cpu.stat", cpu_stat),
];

const BLKIO: [(&str, Unit); 2] =
    [("blkio.throttle.io_service_bytes", Unit::Bytes), ("blkio.throttle.io_serviced", Unit::Count)];

/// memory.stat of v1. Only the `total_` lines, which hold the group's children too.
fn memory_stat_v1(name: &str) -> Option<(Unit, Semantics)> {
    let name = name.strip_prefix("total_")?;
    let is_event = name.starts_with("pg") || name.starts_with("workingset_");
    Some(if is_event { (Unit::Count, Semantics::Counter) } else { (Unit::Bytes, Semantics::Gauge) })
}

/// memory.stat of v2 (Documentation/admin-guide/cgroup-v2.rst): amounts in bytes, and events.
fn memory_stat_v2(name: &str) -> Option<(Unit, Semantics)> {
    const EVENTS: [&str; 6] = ["pg", "workingset_", "thp_", "numa_", "zswp", "swp"];
    Some(match name {
        "workingset_nodes" => (Unit::Count, Semantics::Gauge),
        name if EVENTS.iter().any(|prefix| name.starts_with(prefix)) => (Unit::Count, Semantics::Counter),
        _ => (Unit::Bytes, Semantics::Gauge),
    })
}

/// cpu.stat of v2 has microseconds, that of v1 nanoseconds.
pub(super) fn cpu_stat(name: &str) -> Option<(Unit, Semantics)> {
    let unit = match name {
        name if name.ends_with("_usec") => Unit::Microseconds,
        name if name.ends_with("_time") => Unit::Nanoseconds,
        _ => Unit::Count,
    };
    Some((unit, Semantics::Counter))
}

/// Files of `name number` lines.
pub(super) struct FlatTable {
    pub(super) prefix: String,
    pub(super) instance: String,
    pub(super) meaning: Meaning,
}

impl Table for FlatTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let name = shown(key);
        let Some((unit, semantics)) = (self.meaning)(&name) else { return Vec::new() };
        vec![writer.column(0, format!("{}.{name}", self.prefix), &self.instance, unit, semantics)]
    }
}

/// blkio files of v1: lines `254:0 Read 4096`. The grand total at the end names no device and is left out.
pub(super) struct BlkioTable {
    pub(super) prefix: String,
    pub(super) label: String,
    pub(super) unit: Unit,
    /// Only reads and writes, not also the parts of each that are synchronous.
    pub(super) brief: bool,
}

impl Table for BlkioTable {
    fn key_len(&self, line: &[u8]) -> usize {
        words_len(line, 2)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let mut names = words(key);
        let (Some(number), Some(direction)) = (names.next(), names.next()) else { return Vec::new() };
        let is_extra = self.brief && direction != b"Read" && direction != b"Write";
        if words(values).next().is_none() || direction == b"Total" || is_extra {
            return Vec::new();
        }
        let instance = format!("{}:{}", self.label, writer.devices.identity_of_number(&shown(number)));
        let name = format!("{}.{}", self.prefix, shown(direction));
        vec![writer.column(0, name, &instance, self.unit, Semantics::Counter)]
    }
}

/// Limits of v1 on devices: lines `254:0 1048576`.
pub(super) struct LimitTable {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) unit: Unit,
}

impl Table for LimitTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let instance = format!("{}:{}", self.label, writer.devices.identity_of_number(&shown(key)));
        vec![writer.column(0, self.name.clone(), &instance, self.unit, Semantics::Gauge)]
    }
}

/// All files of the cgroup that this kernel has.
pub(crate) struct Cgroup(Vec<Box<dyn MetricSource>>);

impl Cgroup {
    pub(crate) fn open(cgroup: &LoadCgroup) -> Cgroup {
        let mut files = Files { label: &cgroup.label, sources: Vec::new() };
        if let Some(folder) = &cgroup.memory_v1 {
            files.single(folder, &SINGLE_V1);
            files.flat(folder, "memory.stat", memory_stat_v1);
        }
        if let Some(folder) = &cgroup.blkio_v1 {
            files.blkio(folder);
        }
        if let Some(folder) = &cgroup.v2 {
            files.single(folder, &SINGLE_V2);
            FLAT_V2.into_iter().for_each(|(name, meaning)| files.flat(folder, name, meaning));
            files.pressure(folder);
            files.io_stat(folder);
        }
        Cgroup(files.sources)
    }

    /// Whether the cgroup has no readable file.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MetricSource for Cgroup {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        sample_all(self.0.iter_mut().map(|source| &mut **source), writer)
    }
}

struct Files<'a> {
    label: &'a str,
    sources: Vec<Box<dyn MetricSource>>,
}

impl Files<'_> {
    fn add<T: Table + Send + 'static>(&mut self, folder: &Path, name: &str, table: T) {
        let path = folder.join(name);
        if path.is_file() {
            self.sources.push(Box::new(TableFile::new(path, table)));
        }
    }

    fn single(&mut self, folder: &Path, files: &[(&str, Unit, Semantics)]) {
        for &(file, unit, semantics) in files {
            let (name, instance) = (format!("cgroup.{file}"), self.label.to_owned());
            self.add(folder, file, SingleTable { name, instance, unit, semantics });
        }
    }

    fn flat(&mut self, folder: &Path, file: &str, meaning: Meaning) {
        let (prefix, instance) = (format!("cgroup.{file}"), self.label.to_owned());
        self.add(folder, file, FlatTable { prefix, instance, meaning });
    }

    fn blkio(&mut self, folder: &Path) {
        for (file, unit) in BLKIO {
            let (prefix, label) = (format!("cgroup.{file}"), self.label.to_owned());
            self.add(folder, file, BlkioTable { prefix, label, unit, brief: false });
        }
    }

    fn pressure(&mut self, folder: &Path) {
        for file in ["cpu.pressure", "io.pressure", "memory.pressure"] {
            let (prefix, instance) = (format!("cgroup.{file}"), self.label.to_owned());
            self.add(folder, file, PressureTable { prefix, instance });
        }
    }

    fn io_stat(&mut self, folder: &Path) {
        let path = folder.join("io.stat");
        if path.is_file() {
            self.sources.push(Box::new(io_stat::IoStat::new(path, "cgroup.io.stat", self.label)));
        }
    }
}

#[cfg(test)]
mod tests;
