//! The counters of one cgroup that is read in full.

use std::path::Path;

use model::metric::{Semantics, Unit};

use super::hierarchy::{Hierarchy, Kind, THROTTLE};
use crate::bytes::below;
use crate::last_values::SampleWriter;
use crate::rows::Table;
use crate::source::cgroup::io_stat::IoStat;
use crate::source::cgroup::{BlkioTable, FlatTable, LimitTable, Meaning, cpu_stat};
use crate::source::pressure::PressureTable;
use crate::source::single::SingleTable;
use crate::source::{MetricSource, TableFile, sample_all};
use crate::source_error::SourceError;

/// A cgroup: its files in all hierarchies, which stay open.
pub(super) struct Group {
    pub(super) path: String,
    files: Vec<Box<dyn File>>,
    io: Vec<IoStat>,
}

/// A file whose metrics can be given up.
trait File: Send {
    fn read(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError>;
    fn vanish(&mut self, writer: &mut SampleWriter<'_>);
}

impl<T: Table + Send> File for TableFile<T> {
    fn read(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.update(writer)
    }

    fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        TableFile::vanish(self, writer);
    }
}

impl Group {
    pub(super) fn open(path: String, hierarchies: &[Hierarchy]) -> Group {
        let mut group = Group { path, files: Vec::new(), io: Vec::new() };
        for hierarchy in hierarchies {
            let folder = below(&hierarchy.mount, &group.path);
            hierarchy.kinds.iter().for_each(|kind| group.add(*kind, &folder));
        }
        group
    }

    /// What every process without a cgroup of its own is limited by: a limit of the root holds for its own requests
    /// alone.
    pub(super) fn limits_of_root(hierarchies: &[Hierarchy]) -> Group {
        let mut root = Group { path: "/".to_owned(), files: Vec::new(), io: Vec::new() };
        hierarchies
            .iter()
            .filter(|hierarchy| hierarchy.kinds.contains(&Kind::BlkioV1))
            .for_each(|hierarchy| root.throttle(&hierarchy.mount));
        root
    }

    fn add(&mut self, kind: Kind, folder: &Path) {
        match kind {
            Kind::CpuacctV1 => self.single(folder, "cpuacct.usage", Unit::Nanoseconds, Semantics::Counter),
            Kind::CpuV1 => self.flat(folder, "cpu.stat", cpu_stat),
            Kind::MemoryV1 => {
                self.single(folder, "memory.usage_in_bytes", Unit::Bytes, Semantics::Gauge);
                self.single(folder, "memory.limit_in_bytes", Unit::Bytes, Semantics::Gauge);
                self.single(folder, "memory.failcnt", Unit::Count, Semantics::Counter);
                self.flat(folder, "memory.stat", refaults_v1);
            }
            Kind::BlkioV1 => self.blkio(folder),
            Kind::V2 => {
                self.flat(folder, "cpu.stat", cpu_stat);
                self.single(folder, "memory.current", Unit::Bytes, Semantics::Gauge);
                self.single(folder, "memory.max", Unit::Bytes, Semantics::Gauge);
                self.flat(folder, "memory.stat", refaults_v2);
                for file in ["cpu.pressure", "io.pressure", "memory.pressure"] {
                    let table = PressureTable { prefix: format!("cgroups.{file}"), instance: self.path.clone() };
                    self.table(folder, file, table);
                }
                for (file, prefix) in [("io.stat", "cgroups.io.stat"), ("io.max", "cgroups.io.max")] {
                    let file = folder.join(file);
                    if file.is_file() {
                        self.io.push(IoStat::new(file, prefix, &self.path));
                    }
                }
            }
        }
    }

    fn blkio(&mut self, folder: &Path) {
        let files = [("blkio.throttle.io_service_bytes", Unit::Bytes), ("blkio.throttle.io_serviced", Unit::Count)];
        for (file, unit) in files {
            let table = BlkioTable { prefix: format!("cgroups.{file}"), label: self.path.clone(), unit, brief: true };
            self.table(folder, file, table);
        }
        self.throttle(folder);
    }

    fn throttle(&mut self, folder: &Path) {
        for (file, unit) in THROTTLE {
            self.table(folder, file, LimitTable { name: format!("cgroups.{file}"), label: self.path.clone(), unit });
        }
    }

    fn flat(&mut self, folder: &Path, file: &str, meaning: Meaning) {
        let prefix = format!("cgroups.{file}");
        let table = FlatTable { prefix, instance: self.path.clone(), meaning };
        self.table(folder, file, table);
    }

    fn single(&mut self, folder: &Path, file: &str, unit: Unit, semantics: Semantics) {
        let table = SingleTable { name: format!("cgroups.{file}"), instance: self.path.clone(), unit, semantics };
        self.table(folder, file, table);
    }

    fn table<T: Table + Send + 'static>(&mut self, folder: &Path, file: &str, table: T) {
        let path = folder.join(file);
        if path.is_file() {
            self.files.push(Box::new(TableFile::new(path, table)));
        }
    }

    /// Makes its metrics absent.
    pub(super) fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        self.files.iter_mut().for_each(|file| file.vanish(writer));
        self.io.iter_mut().for_each(|file| file.vanish(writer));
    }
}

impl MetricSource for Group {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let mut first = Ok(());
        for file in &mut self.files {
            let result = file.read(writer);
            first = first.and(result);
        }
        let io = sample_all(self.io.iter_mut(), writer);
        first.and(io)
    }
}

/// Of memory.stat of v1 (Documentation/admin-guide/cgroup-v1/memory.rst), only pages that are read again after they
/// were evicted, with the cgroups below.
fn refaults_v1(name: &str) -> Option<(Unit, Semantics)> {
    refaults_v2(name.strip_prefix("total_")?)
}

/// The same of v2, whose counters hold the cgroups below.
fn refaults_v2(name: &str) -> Option<(Unit, Semantics)> {
    name.starts_with("workingset_refault").then_some((Unit::Count, Semantics::Counter))
}
