//! Limits of dirty pages: the machine's, from a counter, and a memory cgroup's, which is a part of its memory.

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
    let limit = words.strip_prefix("dirty ").and_then(|rest| rest.split_once(" of ")?.1.split_once(" MiB,"));
    let Some((Ok(mebibytes), machine_bytes)) = limit.map(|limit| limit.0.parse::<f64>()).zip(machine_bytes) else {
        return false;
    };
    mebibytes * f64::from(1 << 20) < machine_bytes as f64 * LOWER
}

#[cfg(test)]
mod tests {
    use super::is_of_cgroup;

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
