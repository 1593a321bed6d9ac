//! Memory by use: caches, slabs, the memory cgroup.

use explain::series::Series;
use serde_json::Value;

use crate::chart::{ChartUnit, lines};
use crate::counters::SampledCounters;

/// Slab caches drawn: the largest.
const SLABS: usize = 6;

impl SampledCounters<'_> {
    /// Memory by use, and the largest slab caches.
    pub(crate) fn caches(&self) -> [Value; 2] {
        [self.memory(), self.slabs()]
    }

    fn memory(&self) -> Value {
        let mut series = Vec::new();
        for (name, label) in [
            ("meminfo.Cached", "page cache"),
            ("meminfo.AnonPages", "anonymous"),
            ("meminfo.SReclaimable", "reclaimable slab"),
            ("meminfo.SUnreclaim", "other slab"),
            ("meminfo.MemFree", "free"),
        ] {
            series.extend(self.one(name).and_then(|gauge| {
                let factor = if gauge.descriptor.unit == model::metric::Unit::Kibibytes { 1024.0 } else { 1.0 };
                self.line(label, &self.level(gauge, factor))
            }));
        }
        for name in ["cgroup.memory.usage_in_bytes", "cgroup.memory.current"] {
            for usage in self.series.named(name) {
                series.extend(self.line("memory cgroup", &self.level(usage, 1.0)));
            }
        }
        let title = "Memory and caches";
        lines("memory", title, ChartUnit::Bytes, "samples", series, "The run has no /proc/meminfo counters.")
    }

    fn slabs(&self) -> Value {
        let size_of = |cache: &str| self.series.named("slabinfo.objsize").find(|one| one.descriptor.instance == cache);
        let mut caches: Vec<(f64, &str, Vec<Option<f64>>)> = Vec::new();
        for objects in self.series.named("slabinfo.num_objs") {
            let cache = objects.descriptor.instance.as_str();
            let Some(bytes) = size_of(cache).and_then(|size| last(self, size)) else { continue };
            let values = self.level(objects, bytes);
            let largest = values.iter().copied().flatten().fold(0.0, f64::max);
            caches.push((largest, cache, values));
        }
        caches.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let drawn = caches.iter().take(SLABS).filter_map(|(_, cache, values)| self.moving_line(cache, values));
        let why = "The run has no /proc/slabinfo counters: only root can read it.";
        lines("slabs", "Largest slab caches", ChartUnit::Bytes, "samples", drawn.collect(), why)
    }
}

fn last(samples: &SampledCounters<'_>, series: &Series) -> Option<f64> {
    let headers = samples.series.headers();
    headers.iter().rev().find_map(|header| series.at(header.sample)).map(|value| value as f64)
}
