//! /proc/vmstat: what the page allocator, reclaim and writeback have done (counters), and hold now (gauges).
//!
//! Gauges are the `nr_` lines but for seven that count events (`enum node_stat_item` of mmzone.h), and
//! `workingset_nodes`. Units are those of mm/vmstat.c: pages where pages are counted, huge pages for the lines that
//! `vmstat_item_print_in_thp` names.

use model::metric::{Semantics, Unit};

use crate::bytes::{first_word_len, shown};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

/// Lines that say what other lines say: by zone what is also there by node, and NUMA placement, which on one node
/// repeats `pgalloc`.
const REPEATED: [&str; 3] = ["nr_zone_", "numa_hit", "numa_local"];

const COUNTERS_NAMED_NR: [&str; 7] = [
    "nr_dirtied",
    "nr_written",
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
    "nr_throttled_written",
    "nr_foll_pin_acquired",
    "nr_foll_pin_released",
];

const IN_HUGE_PAGES: [&str; 5] = [
    "nr_shmem_hugepages",
    "nr_shmem_pmdmapped",
    "nr_file_hugepages",
    "nr_file_pmdmapped",
    "nr_anon_transparent_hugepages",
];

const COUNTED_IN_PAGES: [&str; 26] = [
    "pswpin",
    "pswpout",
    "pgalloc_",
    "pgskip_",
    "pgfree",
    "pgactivate",
    "pgdeactivate",
    "pglazyfree",
    "pgrefill",
    "pgsteal_",
    "pgscan_",
    "pgrotated",
    "pginodesteal",
    "pgpromote_",
    "pgdemote_",
    "pgmigrate_",
    "kswapd_inodesteal",
    "workingset_refault",
    "workingset_activate",
    "workingset_restore",
    "unevictable_pgs_",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "compact_isolated",
    "numa_pages_migrated",
    "compact_daemon_",
];

const COUNTED_AS_EVENTS: [&str; 2] = ["pgscan_direct_throttle", "compact_daemon_wake"];

pub(crate) struct VmstatTable;

impl Table for VmstatTable {
    fn key_len(&self, line: &[u8]) -> usize {
        first_word_len(line)
    }

    fn columns(&mut self, key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let name = shown(key);
        if REPEATED.iter().any(|prefix| name.starts_with(prefix)) {
            return Vec::new();
        }
        let (unit, semantics) = meaning(&name);
        vec![writer.column(0, format!("vmstat.{name}"), "", unit, semantics)]
    }
}

/// Unit and semantics of a line.
fn meaning(name: &str) -> (Unit, Semantics) {
    match name {
        "nr_kernel_stack" | "nr_shadow_call_stack" => (Unit::Kibibytes, Semantics::Gauge),
        "pgpgin" | "pgpgout" => (Unit::Kibibytes, Semantics::Counter),
        "workingset_nodes" => (Unit::Count, Semantics::Gauge),
        name if IN_HUGE_PAGES.contains(&name) => (Unit::Count, Semantics::Gauge),
        name if COUNTERS_NAMED_NR.contains(&name) => (Unit::Pages, Semantics::Counter),
        name if name.starts_with("nr_") => (Unit::Pages, Semantics::Gauge),
        name if COUNTED_AS_EVENTS.contains(&name) => (Unit::Count, Semantics::Counter),
        name if COUNTED_IN_PAGES.iter().any(|prefix| name.starts_with(prefix)) => (Unit::Pages, Semantics::Counter),
        _ => (Unit::Count, Semantics::Counter),
    }
}

#[cfg(test)]
mod tests {
    use model::metric::{Semantics, Unit};

    use super::meaning;

    #[test]
    fn units_and_semantics() {
        use Semantics::{Counter, Gauge};
        for (name, unit, semantics) in [
            ("nr_dirty", Unit::Pages, Gauge),
            ("nr_dirty_threshold", Unit::Pages, Gauge),
            ("nr_dirtied", Unit::Pages, Counter),
            ("nr_throttled_written", Unit::Pages, Counter),
            ("nr_kernel_stack", Unit::Kibibytes, Gauge),
            ("nr_file_hugepages", Unit::Count, Gauge),
            ("pgpgout", Unit::Kibibytes, Counter),
            ("pgscan_direct", Unit::Pages, Counter),
            ("pgscan_direct_throttle", Unit::Count, Counter),
            ("allocstall_normal", Unit::Count, Counter),
            ("pgmajfault", Unit::Count, Counter),
            ("workingset_nodes", Unit::Count, Gauge),
            ("workingset_refault_file", Unit::Pages, Counter),
            ("compact_stall", Unit::Count, Counter),
        ] {
            assert_eq!(meaning(name), (unit, semantics), "{name}");
        }
    }
}
