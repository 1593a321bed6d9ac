//! Limits of dirty pages: the machine's, from a counter, and a memory cgroup's, which is a part of its memory; and on which disks dirty
//! pages were.

use std::collections::HashMap;

use model::block::DeviceNumber;

use super::names::Names;
use super::rows::Row;
use crate::series::SeriesSet;

/// The machine's limit of dirty pages, in pages.
const LIMIT: &str = "vmstat.nr_dirty_threshold";

/// Whether [`limit_bytes`] reads that metric.
pub(super) fn is_limit(metric: &str) -> bool {
    metric == LIMIT
}

/// The limit, where it was sampled. A page has so many bytes.
pub(super) fn limit_bytes(series: &SeriesSet, page_bytes: u64) -> Option<u64> {
    let (first, last) = (series.headers().first()?, series.headers().last()?);
    let pages = series.named(LIMIT).filter_map(|limit| limit.max(first.sample, last.sample)).max()?;
    Some(u64::try_from(pages).ok()?.saturating_mul(page_bytes.max(4096)))
}

/// What is below this part of the machine's limit is another one. The machine's varies with its free memory.
const LOWER: f64 = 0.75;

/// Whether a wait's words (`dirty 1.0 MiB of 2.0 MiB, on 7:0 ...`) name the limit of a memory cgroup, not the machine's.
pub(super) fn is_of_cgroup(words: &str, machine_bytes: Option<u64>) -> bool {
    let Some((pages, machine_bytes)) = Pages::of(words).zip(machine_bytes) else { return false };
    pages.limit < machine_bytes as f64 * LOWER
}

/// What a wait's words say of dirty pages, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pages {
    all: f64,
    limit: f64,
    device: DeviceNumber,
    /// Of them, those of the device.
    there: f64,
}

impl Pages {
    /// Of `dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s`.
    fn of(words: &str) -> Option<Pages> {
        let words: Vec<&str> = words.split_ascii_whitespace().collect();
        let ["dirty", all, "MiB", "of", limit, "MiB,", "on", device, there, "MiB", ..] = words[..] else { return None };
        let bytes = |mebibytes: &str| Some(mebibytes.parse::<f64>().ok()? * f64::from(1 << 20));
        let (major, minor) = device.split_once(':')?;
        let device = DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?);
        Some(Pages { all: bytes(all)?, limit: bytes(limit)?, device, there: bytes(there)? })
    }
}

/// What is known of a disk's dirty pages at a moment counts so long before and after.
const NEAR_NS: u64 = 2_000_000_000;

/// The dirty pages of each disk, as throttled writers found them, by time.
#[derive(Debug, Default)]
pub(super) struct DirtyDisks(HashMap<DeviceNumber, Vec<(u64, f64)>>);

impl DirtyDisks {
    pub(super) fn new(rows: &[Row], names: &Names) -> DirtyDisks {
        let mut disks: HashMap<DeviceNumber, Vec<(u64, f64)>> = HashMap::new();
        for row in rows.iter().filter(|row| row.announced.is_some()) {
            if let Some(pages) = row.detail.and_then(|detail| Pages::of(names.get(detail))) {
                disks.entry(pages.device).or_default().push((row.start_ns, pages.there));
            }
        }
        disks.values_mut().for_each(|pages| pages.sort_unstable_by_key(|(at_ns, _)| *at_ns));
        DirtyDisks(disks)
    }

    /// The disk whose pages fill the limit, where that is not the one that a throttled writer writes to: that one has less than half of all,
    /// and another one more than it.
    pub(super) fn fullest_other(&self, words: &str, at_ns: u64) -> Option<DeviceNumber> {
        let own = Pages::of(words).filter(|pages| pages.there < pages.all / 2.0)?;
        let others = self.0.iter().filter(|(device, _)| **device != own.device);
        let near = others.filter_map(|(device, pages)| Some((*device, nearest(pages, at_ns)?)));
        let fullest = near.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))?;
        (fullest.1 > own.there).then_some(fullest.0)
    }
}

/// The latest known before a moment, else the first after it.
fn nearest(pages: &[(u64, f64)], at_ns: u64) -> Option<f64> {
    let after = pages.partition_point(|(known_ns, _)| *known_ns <= at_ns);
    let known = after.checked_sub(1).and_then(|at| pages.get(at)).or_else(|| pages.get(after));
    known.filter(|(known_ns, _)| known_ns.abs_diff(at_ns) <= NEAR_NS).map(|(_, there)| *there)
}

#[cfg(test)]
mod tests {
    use model::stall::{StallKind, StallRecord};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn words(device: u32, there: &str) -> String {
        format!("dirty 33.0 MiB of 38.1 MiB, on 7:{device} {there} MiB of 6.4 MiB, allowed 0.8 MiB/s")
    }

    #[test]
    fn pages_of_another_disk_fill_the_limit() {
        let mut names = Names::default();
        let row = |device, there, at_s: u64| StallRecord {
            tracepoint: Some("balance_dirty_pages".into()),
            detail: Some(words(device, there)),
            ..StallRecord::new(StallKind::OffCpu, 9, at_s * S, (at_s + 1) * S)
        };
        let rows: Vec<Row> = [row(5, "28.0", 10), row(5, "0.1", 20), row(6, "2.0", 10)]
            .iter()
            .map(|record| Row::new(record, &mut names).unwrap())
            .collect();
        let disks = DirtyDisks::new(&rows, &names);
        let slow = Some(DeviceNumber::new(7, 5));
        assert_eq!(disks.fullest_other(&words(6, "2.0"), 11 * S), slow);
        assert_eq!(disks.fullest_other(&words(6, "2.0"), 9 * S), slow, "known a little later");
        assert_eq!(disks.fullest_other(&words(6, "17.0"), 11 * S), None, "most pages are its own");
        assert_eq!(disks.fullest_other(&words(6, "2.0"), 21 * S), None, "the other one has fewer");
        assert_eq!(disks.fullest_other(&words(6, "2.0"), 15 * S), None, "nothing is known of that time");
    }

    #[test]
    fn a_limit_well_below_the_machines_is_that_of_a_cgroup() {
        let words =
            |limit: &str| format!("dirty 9.0 MiB of {limit} MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s");
        let machine_bytes = Some(200 << 20);
        for (words, expected) in [(words("12.0"), true), (words("190.5"), false), ("dirty".to_owned(), false)] {
            assert_eq!(is_of_cgroup(&words, machine_bytes), expected, "{words}");
        }
        assert!(!is_of_cgroup(&words("12.0"), None), "the machine's is not known");
    }
}
