//! The machine's limit of dirty pages, from a counter.

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
