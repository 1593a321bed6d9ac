//! When slabinfo is read: by what vmstat says of the caches.

use model::metric::MetricId;

use crate::last_values::SampleWriter;

/// It is read after this long in any case.
const LONGEST_NS: u64 = 10_000_000_000;
/// And when the caches' memory has changed by this part.
const PART: i64 = 16;

/// The metrics that say whether the caches have changed.
pub(super) struct Signs {
    scanned: Option<MetricId>,
    reclaimable: Option<MetricId>,
}

/// What they say: objects that shrinkers have looked at so far, and pages of reclaimable caches now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caches {
    pub(super) scanned: i64,
    pub(super) pages: i64,
}

impl Signs {
    /// vmstat is read first at each sample.
    pub(super) fn find(writer: &SampleWriter<'_>) -> Signs {
        let find = |name: &str| writer.find(name, "");
        Signs { scanned: find("vmstat.slabs_scanned"), reclaimable: find("vmstat.nr_slab_reclaimable") }
    }

    /// `None` where this kernel, or this recording, lacks one.
    pub(super) fn read(&self, writer: &SampleWriter<'_>) -> Option<Caches> {
        let read = |metric: Option<MetricId>| metric.and_then(|metric| writer.value(metric));
        Some(Caches { scanned: read(self.scanned)?, pages: read(self.reclaimable)? })
    }
}

/// What was known at the last reading.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    last: Option<(u64, Caches)>,
}

impl Schedule {
    /// Whether to read now: also if `anyway`.
    pub(super) fn is_due(&mut self, now_ns: u64, now: Caches, anyway: bool) -> bool {
        let is_due = anyway
            || self.last.is_none_or(|(at_ns, last)| {
                let changed = now.pages.saturating_sub(last.pages).saturating_abs();
                now.scanned != last.scanned || changed > last.pages / PART || now_ns.saturating_sub(at_ns) >= LONGEST_NS
            });
        if is_due {
            self.last = Some((now_ns, now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{Caches, LONGEST_NS, Schedule};

    #[test]
    fn it_is_read_while_shrinkers_run_or_caches_grow_and_now_and_then() {
        let mut schedule = Schedule::default();
        let mut due = |at_ns, scanned, pages| schedule.is_due(at_ns, Caches { scanned, pages }, false);
        assert!(due(0, 5, 1600), "the first time");
        assert!(!due(1, 5, 1650) && !due(2, 5, 1550));
        assert!(due(3, 5, 1701), "grown");
        assert!(due(4, 6, 1701) && due(5, 7, 1701), "shrinkers run");
        assert!(!due(6, 7, 1701));
        assert!(due(5 + LONGEST_NS, 7, 1701), "after a while");
        assert!(schedule.is_due(6 + LONGEST_NS, Caches { scanned: 7, pages: 1701 }, true), "when all is read");
    }
}
