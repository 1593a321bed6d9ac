//! debugfs bdi/*/stats: each backing device's share of the dirty limit, its bandwidth as writeback sees it, and the
//! inodes that wait to be written.

use std::path::{Path, PathBuf};

use model::metric::{Semantics, Unit};

use crate::bytes::{shown, words};
use crate::instances::{Instance, Instances};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::{MetricSource, TableFile};
use crate::source_error::SourceError;

/// Lines `BdiWriteback:   0 kB`; the lists count inodes.
struct BdiTable {
    instance: String,
}

impl Table for BdiTable {
    fn key_len(&self, line: &[u8]) -> usize {
        line.iter().position(|byte| *byte == b':').map_or(line.len(), |at| at + 1)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let name = shown(key.strip_suffix(b":").unwrap_or(key));
        let semantics = match &*name {
            // Bits and registration, of no use to a reader; and the machine's limits, which vmstat has too
            // (`nr_dirty_threshold`, `nr_dirty_background_threshold`).
            "state" | "bdi_list" | "DirtyThresh" | "BackgroundThresh" => return Vec::new(),
            "BdiDirtied" | "BdiWritten" => Semantics::Counter,
            _ => Semantics::Gauge,
        };
        let unit = match words(values).nth(1) {
            Some(b"kB" | b"kBps") => Unit::Kibibytes,
            _ => Unit::Count,
        };
        vec![writer.column(0, format!("bdi.{name}"), &self.instance, unit, semantics)]
    }
}

impl Instance for TableFile<BdiTable> {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.update(writer)
    }

    fn vanish(&mut self, writer: &mut SampleWriter<'_>) {
        TableFile::vanish(self, writer);
    }
}

pub(crate) struct Bdi {
    folder: PathBuf,
    instances: Instances<TableFile<BdiTable>>,
    /// [`Devices::generation`](crate::device::Devices::generation) when unused devices were last looked at.
    generation: u64,
}

impl Bdi {
    pub(crate) fn new(debug: &Path) -> Bdi {
        let folder = debug.join("bdi");
        Bdi { instances: Instances::new(folder.clone()), folder, generation: 0 }
    }
}

impl MetricSource for Bdi {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let generation = writer.devices.generation();
        if generation != self.generation {
            self.generation = generation;
            self.instances.reconsider();
        }
        let folder = &self.folder;
        self.instances.sample(writer, |name, writer| {
            let instance = match writer.devices.by_number(name) {
                Some(device) if !device.used => return None,
                Some(device) => device.identity.clone(),
                // Network file systems, FUSE and btrfs have one without a device.
                None => name.to_owned(),
            };
            Some(TableFile::new(folder.join(name).join("stats"), BdiTable { instance }))
        })
    }
}
