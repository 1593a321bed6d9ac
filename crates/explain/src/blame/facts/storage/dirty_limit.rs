//! Limits of dirty pages: the machine's, from a counter, and a memory cgroup's, which is a part of its memory; and on
//! which disks dirty pages were.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::detail::DirtyPages;

use crate::blame::facts::names::Names;
use crate::blame::facts::rows::Row;
use crate::series::SeriesSet;
use crate::thresholds::{DIRTY_PAGES_KNOWN_NS, OWN_DIRTY_LIMIT_PART};

/// The machine's limit of dirty pages, in pages.
const LIMIT: &str = "vmstat.nr_dirty_threshold";

/// Whether [`limit_bytes`] reads that metric.
pub(crate) fn is_limit(metric: &str) -> bool {
    metric == LIMIT
}

/// The limit, where it was sampled. A page has so many bytes.
pub(crate) fn limit_bytes(series: &SeriesSet, page_bytes: u64) -> Option<u64> {
    let (first, last) = (series.headers().first()?, series.headers().last()?);
    let pages = series.named(LIMIT).filter_map(|limit| limit.max(first.sample, last.sample)).max()?;
    Some(u64::try_from(pages).ok()?.saturating_mul(page_bytes.max(4096)))
}

/// Whether the limit of a wait is that of a memory cgroup, not the machine's.
pub(crate) fn is_of_cgroup(pages: &DirtyPages, machine_bytes: Option<u64>) -> bool {
    machine_bytes.is_some_and(|machine_bytes| (pages.limit_bytes as f64) < machine_bytes as f64 * OWN_DIRTY_LIMIT_PART)
}

/// The dirty pages of each disk, as throttled writers found them, by time.
#[derive(Debug, Default)]
pub(crate) struct DirtyDisks(HashMap<DeviceNumber, Vec<(u64, u64)>>);

impl DirtyDisks {
    pub(crate) fn new(rows: &[Row], names: &Names) -> DirtyDisks {
        let mut disks: HashMap<DeviceNumber, Vec<(u64, u64)>> = HashMap::new();
        for row in rows.iter().filter(|row| row.announced.is_some()) {
            let pages = row.detail.and_then(|detail| names.detail(detail).dirty_pages());
            if let Some((pages, device)) = pages.and_then(|pages| Some((pages, pages.device?))) {
                disks.entry(device).or_default().push((row.start_ns, pages.device_dirty_bytes));
            }
        }
        disks.values_mut().for_each(|pages| pages.sort_unstable_by_key(|(at_ns, _)| *at_ns));
        DirtyDisks(disks)
    }

    /// The disk whose pages fill the limit, where that is not the disk of the throttled writer: its own has less than
    /// half of all, and another one more than it.
    pub(crate) fn fullest_other(&self, own: &DirtyPages, at_ns: u64) -> Option<DeviceNumber> {
        if own.device_dirty_bytes >= own.dirty_bytes / 2 {
            return None;
        }
        let others = self.0.iter().filter(|(device, _)| Some(**device) != own.device);
        let near = others.filter_map(|(device, pages)| Some((nearest(pages, at_ns)?, *device)));
        near.max().filter(|(bytes, _)| *bytes > own.device_dirty_bytes).map(|(_, device)| device)
    }
}

/// The latest known before a moment, else the first after it.
fn nearest(pages: &[(u64, u64)], at_ns: u64) -> Option<u64> {
    let after = pages.partition_point(|(known_ns, _)| *known_ns <= at_ns);
    let known = after.checked_sub(1).and_then(|at| pages.get(at)).or_else(|| pages.get(after));
    known.filter(|(known_ns, _)| known_ns.abs_diff(at_ns) <= DIRTY_PAGES_KNOWN_NS).map(|(_, there)| *there)
}

#[cfg(test)]
mod tests {
    use model::detail::Detail;
    use model::stall::{StallKind, StallRecord};

    use super::*;

    const S: u64 = 1_000_000_000;

    const MIB: u64 = 1 << 20;

    fn pages(device: u32, device_dirty_mib: u64) -> DirtyPages {
        DirtyPages {
            dirty_bytes: 33 * MIB,
            limit_bytes: 38 * MIB,
            backing_device: format!("7:{device}"),
            device: Some(DeviceNumber::new(7, device)),
            device_dirty_bytes: device_dirty_mib * MIB,
            device_limit_bytes: 6 * MIB,
            allowed_bytes_per_s: MIB,
        }
    }

    #[test]
    fn pages_of_another_disk_fill_the_limit() {
        let mut names = Names::default();
        let row = |device, there, at_s: u64| StallRecord {
            tracepoint: Some("balance_dirty_pages".into()),
            detail: Some(Detail::DirtyPages(pages(device, there))),
            ..StallRecord::new(StallKind::OffCpu, 9, at_s * S, (at_s + 1) * S)
        };
        let rows: Vec<Row> = [row(5, 28, 10), row(5, 1, 20), row(6, 2, 10)]
            .iter()
            .map(|record| Row::new(record, &mut names).unwrap())
            .collect();
        let disks = DirtyDisks::new(&rows, &names);
        let slow = Some(DeviceNumber::new(7, 5));
        assert_eq!(disks.fullest_other(&pages(6, 2), 11 * S), slow);
        assert_eq!(disks.fullest_other(&pages(6, 2), 9 * S), slow, "known a little later");
        assert_eq!(disks.fullest_other(&pages(6, 17), 11 * S), None, "most pages are its own");
        assert_eq!(disks.fullest_other(&pages(6, 2), 21 * S), None, "the other one has fewer");
        assert_eq!(disks.fullest_other(&pages(6, 2), 15 * S), None, "nothing is known of that time");
    }

    #[test]
    fn a_limit_well_below_the_machines_is_that_of_a_cgroup() {
        let of = |limit_mib: u64| DirtyPages { limit_bytes: limit_mib * MIB, ..pages(0, 1) };
        let machine_bytes = Some(200 * MIB);
        assert!(is_of_cgroup(&of(12), machine_bytes));
        assert!(!is_of_cgroup(&of(190), machine_bytes));
        assert!(!is_of_cgroup(&of(12), None), "the machine's is not known");
    }
}
