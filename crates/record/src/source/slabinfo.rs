//! /proc/slabinfo: the slab caches that memory pressure can shrink. Readable by root only.

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, lossy};
use crate::file::read_trimmed;
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

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
}

impl SlabinfoTable {
    pub(crate) fn new(sys: &std::path::Path) -> SlabinfoTable {
        SlabinfoTable { folder: sys.join("kernel/slab"), kept: Vec::new() }
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
    fn has_room(&mut self, key: &[u8]) -> bool {
        if self.kept.iter().any(|kept| kept == key) {
            return true;
        }
        if self.kept.len() >= CACHE_LIMIT {
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
        let cache = lossy(key);
        if cache.starts_with('#') || cache == "slabinfo" || !self.is_reclaimable(&cache) || !self.has_room(key) {
            return Vec::new();
        }
        let column = |(word, name, unit): (usize, &str, Unit)| {
            writer.column(word, format!("slabinfo.{name}"), &cache, unit, Semantics::Gauge)
        };
        FIELDS.into_iter().map(column).collect()
    }
}
