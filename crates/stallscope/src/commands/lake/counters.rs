//! The counters that a lake keeps.

use archive::Run;
use explain::series::{Series, SeriesSet};
use lake::{CounterMinutes, CounterRow};
use model::metric::{MetricDescriptor, Semantics};

/// What most stalls show in, of the machine and of its disks. A fixed set: a lake is not for all counters, runs are.
const KEPT: [&str; 24] = [
    "diskstats.io_ticks",
    "diskstats.read_ios",
    "diskstats.read_sectors",
    "diskstats.time_in_queue",
    "diskstats.write_ios",
    "diskstats.write_sectors",
    "meminfo.MemAvailable",
    "pressure.cpu.some",
    "pressure.io.full",
    "pressure.io.some",
    "pressure.memory.full",
    "pressure.memory.some",
    "stat.cpu.iowait",
    "stat.cpu.steal",
    "stat.cpu.system",
    "stat.cpu.user",
    "stat.procs_blocked",
    "stat.procs_running",
    "vmstat.allocstall_normal",
    "vmstat.nr_dirty",
    "vmstat.nr_writeback",
    "vmstat.pgscan_direct",
    "vmstat.pswpin",
    "vmstat.pswpout",
];

/// Counters of a run.
pub struct Counters {
    /// By minute.
    pub rows: Vec<CounterRow>,
    /// The moment of the last sample on the monotonic clock.
    pub end_ns: Option<u64>,
}

/// Reads them.
pub fn counters(run: &Run) -> Counters {
    let mut series = SeriesSet::default();
    let is_kept = |metric: &MetricDescriptor| KEPT.contains(&metric.name.as_str());
    // A run notes its own damage.
    run.descriptors().filter_map(Result::ok).for_each(|rows| series.describe(&rows, is_kept));
    run.samples().filter_map(Result::ok).flatten().for_each(|header| series.sample(header));
    run.changes().filter_map(Result::ok).for_each(|rows| series.feed(&rows));
    let of = |name: &&str| series.named(name).flat_map(|one| rows(&series, one)).collect::<Vec<_>>();
    Counters {
        rows: KEPT.iter().flat_map(of).collect(),
        end_ns: series.headers().last().map(|header| header.at.monotonic_ns),
    }
}

/// Of a counter the growth per second since the sample before, of a gauge the value. A disk goes by its kernel name.
fn rows(set: &SeriesSet, series: &Series) -> Vec<CounterRow> {
    let mut minutes = CounterMinutes::default();
    let metric = &series.descriptor;
    match metric.semantics {
        Semantics::Gauge => {
            for header in set.headers() {
                series.at(header.sample).into_iter().for_each(|value| minutes.add(header.at.wall_ns, value as f64));
            }
        }
        Semantics::Counter => {
            for pair in set.headers().windows(2) {
                let [before, header] = pair else { continue };
                let ns = header.at.since_ns(before.at);
                let growth = series.growth(before.sample, header.sample).filter(|_| ns > 0);
                growth.into_iter().for_each(|growth| minutes.add(header.at.wall_ns, growth as f64 * 1e9 / ns as f64));
            }
        }
    }
    let unit = match metric.semantics {
        Semantics::Counter => format!("{}/s", metric.unit.name()),
        Semantics::Gauge => metric.unit.name().to_owned(),
    };
    minutes.rows(&metric.name, metric.device.as_deref().unwrap_or(&metric.instance), &unit).collect()
}
