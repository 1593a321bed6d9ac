//! /proc/meminfo: memory now. All gauges.

use model::metric::{Semantics, Unit};

use crate::bytes::{shown, words};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

/// Left out: what vmstat has by the page (`Active(file)` is `nr_active_file`, ...), and sizes that say nothing of
/// storage. `MemFree`, `Dirty` and `Writeback` stay, though vmstat has them, because users look for them.
const LEFT_OUT: [&str; 29] = [
    "Active",
    "Inactive",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "Unevictable",
    "Mlocked",
    "AnonPages",
    "Mapped",
    "Shmem",
    "KReclaimable",
    "SReclaimable",
    "SUnreclaim",
    "KernelStack",
    "PageTables",
    "SecPageTables",
    "NFS_Unstable",
    "Bounce",
    "WritebackTmp",
    "VmallocTotal",
    "VmallocUsed",
    "VmallocChunk",
    "HardwareCorrupted",
    "DirectMap4k",
    "DirectMap2M",
    "DirectMap1G",
    "DirectMap4M",
    "SwapCached",
];

pub(crate) struct MeminfoTable;

impl Table for MeminfoTable {
    fn key_len(&self, line: &[u8]) -> usize {
        line.iter().position(|byte| *byte == b':').map_or(line.len(), |at| at + 1)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let name = shown(key.strip_suffix(b":").unwrap_or(key));
        if LEFT_OUT.contains(&&*name) {
            return Vec::new();
        }
        let unit = if words(values).nth(1) == Some(b"kB") { Unit::Kibibytes } else { Unit::Count };
        vec![writer.column(0, format!("meminfo.{name}"), "", unit, Semantics::Gauge)]
    }
}
