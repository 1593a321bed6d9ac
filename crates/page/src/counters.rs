//! Kernel counters over time: pressure, reclaim, dirty pages, devices.

use explain::series::{Series, SeriesSet};
use model::metric::{MetricDescriptor, Semantics};
use model::run::RunDescription;
use serde_json::{Value, json};

use crate::chart::{ChartUnit, lines};
use crate::steps::{ChartAxis, Join};

/// Devices drawn: the busiest.
const DEVICES: usize = 4;

/// Whether the page draws a metric without a request.
pub fn wanted_counter(metric: &MetricDescriptor) -> bool {
    const PREFIXES: [&str; 13] = [
        "pressure.",
        "tracepoint.",
        "diskstats.",
        "vmstat.allocstall",
        "vmstat.pgscan",
        "vmstat.pgsteal",
        "vmstat.slabs_scanned",
        "vmstat.nr_dirty",
        "vmstat.nr_writeback",
        "cgroup.memory.usage_in_bytes",
        "cgroup.memory.current",
        "slabinfo.",
        "meminfo.",
    ];
    PREFIXES.iter().any(|prefix| metric.name.starts_with(prefix))
}

/// The series of a run at its samples.
pub(crate) struct SampledCounters<'a> {
    pub(crate) series: &'a SeriesSet,
    pub(crate) run: &'a RunDescription,
    pub(crate) axis: ChartAxis,
}

impl<'a> SampledCounters<'a> {
    pub(crate) fn new(series: &'a SeriesSet, run: &'a RunDescription) -> SampledCounters<'a> {
        let since = |ns: u64| ns.saturating_sub(run.started.monotonic_ns);
        let at_ns = series.headers().iter().map(|header| since(header.at.monotonic_ns)).collect();
        SampledCounters { series, run, axis: ChartAxis { at_ns } }
    }

    /// Growth per second before each sample.
    pub(crate) fn rate(&self, counters: &[&Series], factor: f64) -> Vec<Option<f64>> {
        let headers = self.series.headers();
        let rate = |pair: &[model::metric::SampleHeader]| {
            let of = counters.iter().copied();
            self.series.rate_per_s(of, pair[0].sample, pair[1].sample).map(|per_s| per_s * factor)
        };
        std::iter::once(None).chain(headers.windows(2).map(rate)).take(headers.len()).collect()
    }

    /// The value at each sample.
    pub(crate) fn level(&self, gauge: &Series, factor: f64) -> Vec<Option<f64>> {
        let level = |header: &model::metric::SampleHeader| gauge.at(header.sample).map(|value| value as f64 * factor);
        self.series.headers().iter().map(level).collect()
    }

    /// A line, unless all of it is absent.
    pub(crate) fn line(&self, name: &str, values: &[Option<f64>]) -> Option<Value> {
        values.iter().any(Option::is_some).then(|| self.axis.line(name, values, Join::Mean))
    }

    /// A line, unless all of it is absent or zero: for charts with many lines that stay at zero.
    pub(crate) fn moving_line(&self, name: &str, values: &[Option<f64>]) -> Option<Value> {
        values.iter().flatten().any(|&value| value != 0.0).then(|| self.axis.line(name, values, Join::Mean))
    }

    pub(crate) fn one<'b>(&'b self, name: &'b str) -> Option<&'b Series> {
        self.series.named(name).find(|series| series.descriptor.instance.is_empty())
    }

    /// The charts, in the order of the page.
    pub(crate) fn charts(&self) -> Vec<Value> {
        let mut charts = vec![self.devices_throughput(), self.pressure()];
        charts.extend([self.scanned(), self.reclaims(), self.dirty(), self.queues()]);
        charts
    }

    fn pressure(&self) -> Value {
        let mut series = Vec::new();
        for (resource, extent) in
            [("memory", "some"), ("memory", "full"), ("io", "some"), ("io", "full"), ("cpu", "some")]
        {
            let prefix = format!("pressure.{resource}.{extent}");
            let of = self.series.prefixed(&prefix).filter(|one| one.descriptor.instance.is_empty());
            let of: Vec<&Series> = of.collect();
            series.extend(self.line(&format!("{resource} {extent}"), &self.rate(&of, 1e-6)));
        }
        let why = "This machine has no /proc/pressure (it needs CONFIG_PSI, and 'psi=1' on the kernel command line).";
        lines("pressure", "PSI: share of time that tasks stalled", ChartUnit::Share, "samples", series, why)
    }

    fn scanned(&self) -> Value {
        let mut series = Vec::new();
        for (name, label) in [
            ("vmstat.pgscan_direct", "scanned by direct reclaim"),
            ("vmstat.pgscan_kswapd", "scanned by kswapd"),
            ("vmstat.pgsteal_direct", "freed by direct reclaim"),
            ("vmstat.pgsteal_kswapd", "freed by kswapd"),
            ("vmstat.slabs_scanned", "objects scanned by shrinkers"),
        ] {
            let of: Vec<&Series> = self.one(name).into_iter().collect();
            series.extend(self.line(label, &self.rate(&of, 1.0)));
        }
        let title = "Reclaim and shrinkers: pages and objects";
        lines("scanned", title, ChartUnit::PerS, "samples", series, "The run has no /proc/vmstat counters.")
    }

    fn reclaims(&self) -> Value {
        let mut series = Vec::new();
        for (name, label) in [
            ("tracepoint.vmscan.mm_vmscan_direct_reclaim_begin", "direct reclaims"),
            ("tracepoint.vmscan.mm_vmscan_memcg_reclaim_begin", "reclaims within a memory cgroup"),
            ("tracepoint.vmscan.mm_shrink_slab_start", "shrinker calls"),
            ("tracepoint.vmscan.mm_vmscan_throttled", "reclaim throttling"),
            ("tracepoint.writeback.balance_dirty_pages", "dirty throttling checks (balance_dirty_pages)"),
            ("tracepoint.compaction.mm_compaction_begin", "compactions"),
        ] {
            let of: Vec<&Series> = self.series.named(name).collect();
            series.extend(self.line(label, &self.rate(&of, 1.0)));
        }
        let stalls: Vec<&Series> = self.series.prefixed("vmstat.allocstall").collect();
        series.extend(self.line("allocation stalls (allocstall)", &self.rate(&stalls, 1.0)));
        let why = "The run has neither tracepoint counters (they need root) nor /proc/vmstat.";
        lines("reclaims", "Reclaim and shrinkers: events", ChartUnit::PerS, "samples", series, why)
    }

    fn dirty(&self) -> Value {
        let page = self.run.host.page_size_bytes as f64;
        let mut series = Vec::new();
        for (name, label) in [
            ("vmstat.nr_dirty", "dirty"),
            ("vmstat.nr_writeback", "under writeback"),
            ("vmstat.nr_dirty_background_threshold", "background threshold"),
            ("vmstat.nr_dirty_threshold", "threshold (writers throttled)"),
        ] {
            let line = self.one(name).and_then(|gauge| self.line(label, &self.level(gauge, page)));
            series.extend(line);
        }
        let title = "Dirty pages and thresholds";
        lines("dirty", title, ChartUnit::Bytes, "samples", series, "The run has no /proc/vmstat counters.")
    }

    fn devices_throughput(&self) -> Value {
        let mut series = Vec::new();
        for device in self.charted() {
            for (what, name) in [("reads", "diskstats.read_sectors"), ("writes", "diskstats.write_sectors")] {
                let of: Vec<&Series> = self.of_device(name, device).collect();
                series.extend(self.line(&format!("{} {what}", self.device_name(device)), &self.rate(&of, 512.0)));
            }
        }
        let title = "Device throughput";
        lines("devices", title, ChartUnit::BytesPerS, "samples", series, "The run has no /proc/diskstats counters.")
    }

    /// Time in the queue by time: how many requests were there on average, which a look now and then would miss.
    fn queues(&self) -> Value {
        let mut series = Vec::new();
        for device in self.charted() {
            let of: Vec<&Series> = self.of_device("diskstats.time_in_queue", device).collect();
            series.extend(self.line(&self.device_name(device), &self.rate(&of, 1e-3)));
        }
        let title = "Queue depth: requests in the queue or at the device, on average";
        lines("queue", title, ChartUnit::Count, "samples", series, "The run has no /proc/diskstats counters.")
    }

    fn of_device<'b>(&'b self, name: &'b str, device: &'b str) -> impl Iterator<Item = &'b Series> {
        self.series.named(name).filter(move |series| series.descriptor.instance == device)
    }

    /// Identities of the devices under test, also of those that did nothing, then of those that moved most.
    fn charted(&self) -> Vec<&str> {
        let headers = self.series.headers();
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else { return Vec::new() };
        let moved = |device: &str| -> u64 {
            let names = ["diskstats.read_sectors", "diskstats.write_sectors"];
            let of = names.iter().flat_map(|name| self.of_device(name, device));
            of.filter_map(|counter| counter.growth(first.sample, last.sample)).sum()
        };
        let devices = self.series.named("diskstats.read_sectors").map(|one| one.descriptor.instance.as_str());
        let mut devices: Vec<(u64, &str)> = devices.map(|device| (moved(device), device)).collect();
        let described = |identity: &str| self.run.devices.iter().find(|device| device.identity == identity);
        let is_under_test = |identity: &str| described(identity).is_some_and(|device| self.run.is_under_test(device));
        devices.retain(|(moved, device)| *moved > 0 || is_under_test(device));
        devices.sort_by_key(|&(moved, device)| (!is_under_test(device), std::cmp::Reverse(moved)));
        let under_test = devices.iter().filter(|(_, device)| is_under_test(device)).count();
        devices.into_iter().take(DEVICES.max(under_test)).map(|(_, device)| device).collect()
    }

    pub(crate) fn device_name(&self, identity: &str) -> String {
        let known = self.run.devices.iter().find(|device| device.identity == identity);
        // The run does not describe a disk that came later.
        let of_disk =
            || self.of_device("diskstats.read_sectors", identity).find_map(|one| one.descriptor.device.as_deref());
        known.map(|device| device.name.as_str()).or_else(of_disk).unwrap_or(identity).to_owned()
    }
}

/// One metric at each sample, for a search: a counter's rate per second or a gauge's value, in the kernel's unit.
pub fn counter(series: &SeriesSet, one: &Series, run: &RunDescription) -> Value {
    let samples = SampledCounters::new(series, run);
    let is_counter = one.descriptor.semantics == Semantics::Counter;
    let values = if is_counter { samples.rate(&[one], 1.0) } else { samples.level(one, 1.0) };
    let instance = one.descriptor.shown_instance();
    let name =
        if instance.is_empty() { one.descriptor.name.clone() } else { format!("{} {instance}", one.descriptor.name) };
    let per_s = if is_counter { "/s" } else { "" };
    let title = format!("{name}, {}{per_s}", one.descriptor.unit.name());
    let unit = if is_counter { ChartUnit::PerS } else { ChartUnit::Count };
    let lines = samples.line(&name, &values).into_iter().collect();
    let chart = lines_of(&title, unit, one.descriptor.id.0, lines);
    json!({ "chart": chart, "axis": samples.axis.to_value() })
}

fn lines_of(title: &str, unit: ChartUnit, metric: u32, series: Vec<Value>) -> Value {
    lines(&format!("metric.{metric}"), title, unit, "samples", series, "Absent from every sample.")
}
