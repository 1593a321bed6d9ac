//! Time in which the hypervisor ran other machines on a CPU of this one: CPUs by counters of /proc/stat, which tick a
//! hundred times per second (`USER_HZ`).

use std::collections::HashMap;

use crate::series::SeriesSet;
use crate::thresholds::SMALL_PART;

/// The counter of each CPU; its instance is `cpu3`.
pub const STEAL: &str = "stat.percpu.steal";
const TICK_NS: u64 = 10_000_000;

/// Stolen time by CPU.
#[derive(Debug, Default)]
pub(crate) struct Steal {
    by_cpu: HashMap<u32, Vec<Stolen>>,
}

/// Time stolen between two samples.
#[derive(Debug)]
struct Stolen {
    start_ns: u64,
    end_ns: u64,
    ns: u64,
}

impl Steal {
    /// The growth of the counters between samples.
    pub(crate) fn of(series: &SeriesSet) -> Steal {
        let mut by_cpu = HashMap::new();
        for counter in series.named(STEAL) {
            let number = counter.descriptor.instance.strip_prefix("cpu").and_then(|number| number.parse().ok());
            let Some(cpu) = number else { continue };
            let pairs = series.headers().windows(2).filter_map(|pair| {
                let (start_ns, end_ns) = (pair[0].at.monotonic_ns, pair[1].at.monotonic_ns);
                let ticks = counter.growth(pair[0].sample, pair[1].sample)?;
                // Whole ticks are counted late, by less than one.
                let ns = ticks.saturating_mul(TICK_NS).min(end_ns.saturating_sub(start_ns));
                (ns > 0).then_some(Stolen { start_ns, end_ns, ns })
            });
            by_cpu.insert(cpu, pairs.collect());
        }
        Steal { by_cpu }
    }

    /// Whether nothing was stolen.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_cpu.values().all(Vec::is_empty)
    }

    /// How much of a CPU's time was stolen between two moments, if that matters: the time between two samples is taken
    /// to be even.
    pub(crate) fn within(&self, cpu: u32, from_ns: u64, to_ns: u64) -> Option<u64> {
        let stolen = self.by_cpu.get(&cpu)?;
        let first = stolen.partition_point(|part| part.end_ns <= from_ns);
        let inside = stolen[first..].iter().take_while(|part| part.start_ns < to_ns);
        let parts = inside.map(|part| {
            let overlap_ns = part.end_ns.min(to_ns).saturating_sub(part.start_ns.max(from_ns));
            (u128::from(part.ns) * u128::from(overlap_ns) / u128::from(part.end_ns - part.start_ns)) as u64
        });
        let sum_ns = parts.fold(0, u64::saturating_add);
        (sum_ns > 0 && sum_ns >= (to_ns - from_ns) / SMALL_PART).then_some(sum_ns)
    }
}
