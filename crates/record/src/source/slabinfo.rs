//! /proc/slabinfo: the slab caches that memory pressure can shrink. Readable by root only.
//!
//! To answer, the kernel counts the objects of each cache slab by slab, with the cache locked: it costs more than all
//! other files together. So it is read when shrinkers have run or the caches' memory has changed, which vmstat says for
//! next to nothing, and else now and then.

mod schedule;

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, shown};
use crate::clock::monotonic_ns;
use crate::file::read_trimmed;
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;
use crate::source::{MetricSource, TableFile};
use crate::source_error::SourceError;
use schedule::{Schedule, Signs};

/// Caches beyond this are left out, however many there are.
pub(crate) const CACHE_LIMIT: usize = 64;

/// Reclaimable caches where sysfs does not say so (CONFIG_SLUB with sysfs off): by name, or end of the name.
const KNOWN: [&str; 6] = ["dentry", "_inode_cache", "inode_cache", "_inode", "buffer_head", "radix_tree_node"];
const KNOWN_FAMILIES: [&str; 3] = ["xfs_", "ext4_", "btrfs_"];

/// Columns of slabinfo 2.1 behind the name that are kept.
const FIELDS: [(usize, &str, Unit); 5] = [
    (0, "active_objs", Unit::Count),
    (1, "num_objs", Unit::Count),
    (2, "objsize", Unit::Bytes),
    (4, "pagesperslab", Unit::Pages),
    (13, "num_slabs", Unit::Count),
];

pub(crate) struct SlabinfoTable {
    /// sysfs's slab folder.
    folder: PathBuf,
    kept: Vec<Vec<u8>>,
    /// Whether caches were left out.
    is_full: bool,
}

impl SlabinfoTable {
    pub(crate) fn new(sys: &std::path::Path) -> SlabinfoTable {
        SlabinfoTable { folder: sys.join("kernel/slab"), kept: Vec::new(), is_full: false }
    }

    fn is_reclaimable(&self, cache: &str) -> bool {
        match read_trimmed(&self.folder.join(cache).join("reclaim_account")) {
            Some(flag) => flag == "1",
            None => {
                KNOWN.iter().any(|name| cache.ends_with(name))
                    || KNOWN_FAMILIES.iter().any(|family| cache.starts_with(family))
            }
        }
    }

    /// Within the limit; caches that were kept before count once.
    fn has_room(&mut self, key: &[u8], writer: &mut SampleWriter<'_>) -> bool {
        if self.kept.iter().any(|kept| kept == key) {
            return true;
        }
        if self.kept.len() >= CACHE_LIMIT {
            if !std::mem::replace(&mut self.is_full, true) {
                writer.leave_out("slabinfo", format!("there are more than {CACHE_LIMIT} reclaimable slab caches"));
            }
            return false;
        }
        self.kept.push(key.to_owned());
        true
    }
}

impl Table for SlabinfoTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let cache = shown(key);
        if cache.starts_with('#') || cache == "slabinfo" || !self.is_reclaimable(&cache) || !self.has_room(key, writer)
        {
            return Vec::new();
        }
        let column = |(word, name, unit): (usize, &str, Unit)| {
            writer.column(word, format!("slabinfo.{name}"), &cache, unit, Semantics::Gauge)
        };
        FIELDS.into_iter().map(column).collect()
    }
}

/// The file, read when there may be something new.
pub(crate) struct Slabinfo {
    table: TableFile<SlabinfoTable>,
    schedule: Schedule,
    /// Where vmstat has the signs; `None` until the first sample.
    signs: Option<Signs>,
    readings: i64,
}

impl Slabinfo {
    pub(crate) fn new(path: PathBuf, sys: &std::path::Path) -> Slabinfo {
        let table = TableFile::new(path, SlabinfoTable::new(sys));
        Slabinfo { table, schedule: Schedule::default(), signs: None, readings: 0 }
    }
}

impl MetricSource for Slabinfo {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        let signs = &*self.signs.get_or_insert_with(|| Signs::find(writer));
        let Some(now) = signs.read(writer) else { return self.table.update(writer) };
        if !self.schedule.is_due(monotonic_ns(), now, writer.everything) {
            return Ok(());
        }
        // At the samples between two readings the values are of the first.
        self.readings += 1;
        let readings = writer.metric("slabinfo.readings".to_owned(), "", Unit::Count, Semantics::Counter);
        writer.set(readings, Some(self.readings));
        let result = self.table.update(writer);
        if result.is_err() {
            // Tried again at the next sample, as every source is.
            self.schedule = Schedule::default();
        }
        result
    }
}
