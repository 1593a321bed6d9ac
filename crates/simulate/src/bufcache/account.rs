//! Counters, and the figures computed from them.

use super::buffers::Buffers;
use super::config::Config;
use super::wait::Reason;
use crate::liveness::Hang;
use crate::policy::{Figure, Form, Histogram};

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, Default)]
struct Second {
    call_bytes: u64,
    device_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    seconds: Vec<Second>,
    pub(super) call_bytes: u64,
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) daemon_flushes: u64,
    pub(super) file_flushes: u64,
    pub(super) helper_flushes: u64,
    dirty_max: u64,
    /// Write requests by their blocks.
    writes: Vec<u64>,
    /// Waits in `bwillwrite()` and `getnewbuf()`, in powers of two of ns.
    dirty_waits: Waits,
    space_waits: Waits,
}

#[derive(Debug)]
struct Waits([u64; 64]);

impl Default for Waits {
    fn default() -> Self {
        Waits([0; 64])
    }
}

impl Waits {
    fn rows(&self) -> Vec<(u64, u64)> {
        let first = self.0.iter().position(|count| *count > 0);
        let last = self.0.iter().rposition(|count| *count > 0);
        match (first, last) {
            (Some(first), Some(last)) => (first..=last).map(|power| (1 << power, self.0[power])).collect(),
            _ => Vec::new(),
        }
    }
}

impl Account {
    fn second(&mut self, now_ns: u64) -> &mut Second {
        let index = (now_ns / SECOND_NS) as usize;
        if index >= self.seconds.len() {
            self.seconds.resize(index + 1, Second::default());
        }
        &mut self.seconds[index]
    }

    /// A write call has ended.
    pub(super) fn written(&mut self, now_ns: u64, bytes: u64) {
        self.call_bytes += bytes;
        self.second(now_ns).call_bytes += bytes;
    }

    /// A transfer of the device has ended.
    pub(super) fn transferred(&mut self, now_ns: u64, bytes: u64, write: bool) {
        *(if write { &mut self.write_bytes } else { &mut self.read_bytes }) += bytes;
        self.second(now_ns).device_bytes += bytes;
    }

    pub(super) fn write_started(&mut self, blocks: u64) {
        if self.writes.len() <= blocks as usize {
            self.writes.resize(blocks as usize + 1, 0);
        }
        self.writes[blocks as usize] += 1;
    }

    pub(super) fn dirtied(&mut self, dirty: u64) {
        self.dirty_max = self.dirty_max.max(dirty);
    }

    pub(super) fn waited(&mut self, reason: Reason, ns: u64) {
        let waits = match reason {
            Reason::Dirty => &mut self.dirty_waits,
            Reason::Space => &mut self.space_waits,
            _ => return,
        };
        waits.0[ns.max(1).ilog2() as usize] += 1;
    }

    pub(super) fn histograms(&self) -> Vec<Histogram> {
        let sizes = (1_u64..).zip(self.writes.iter().skip(1)).map(|(blocks, count)| (blocks, *count)).collect();
        let waits = |name, waits: &Waits| Histogram { name, form: Form::Argdist, rows: waits.rows() };
        let mut all = vec![Histogram { name: "blocks per write", form: Form::RpcStats, rows: sizes }];
        all.push(waits("bwillwrite", &self.dirty_waits));
        all.push(waits("getnewbuf", &self.space_waits));
        all.retain(|histogram| !histogram.rows.is_empty());
        all
    }

    // tidy: table
    pub(super) fn figures(
        &self,
        config: &Config,
        buffers: &Buffers,
        ended_ns: u64,
        hang: Option<&Hang>,
    ) -> Vec<Figure> {
        let active_ns = hang.map_or(ended_ns, |hang| hang.at_ns);
        let rate = |bytes: u64| (active_ns > 0).then(|| bytes as f64 * SECOND_NS as f64 / active_ns as f64);
        let figure = |name, about, value, more_is_better| Figure { name, about, value, more_is_better };
        let count = |name, about, value: u64| figure(name, about, Some(value as f64), None);
        let (least, most) = self.extremes(active_ns);
        let (requests, blocks) =
            (1_u64..).zip(self.writes.iter().skip(1)).fold((0, 0), |sum, (size, n)| (sum.0 + n, sum.1 + n * size));
        let mean_blocks = (requests > 0).then(|| blocks as f64 / requests as f64);
        let limits = &config.limits;
        let last = self.last_bytes_per_s(ended_ns);
        vec![
            figure(
                "throughput_bytes_per_s",
                "written by calls, until the hang or the end",
                rate(self.call_bytes),
                Some(true),
            ),
            figure("throughput_last_bytes_per_s", "written by calls in the last two full seconds", last, Some(true)),
            figure(
                "device_bytes_per_s",
                "read and written by the disks (iostat)",
                rate(self.read_bytes + self.write_bytes),
                None,
            ),
            figure("device_least_bytes_per_s", "the same in the slowest full second", least, Some(true)),
            figure("device_most_bytes_per_s", "the same in the fastest full second", most, None),
            figure("hang_s", "time at which the last task hung", hang.map(|hang| hang.at_ns as f64 / 1e9), None),
            count("numdirtybuffers_max", "most dirty buffers", self.dirty_max),
            count("numdirtybuffers_end", "dirty buffers at the end", buffers.dirty),
            count("hidirtybuffers", "limit of dirty buffers at which writers wait", limits.hidirtybuffers),
            count(
                "dirtybufthresh",
                "limit of dirty buffers of a file, above which its writer flushes",
                limits.dirtybufthresh,
            ),
            count("buffers_max", "data buffers that fit into hibufspace", config.capacity),
            figure("cluster_mean_blocks", "mean blocks in a write request", mean_blocks, None),
            count("bufdaemon_flushes", "writes started by bufdaemon", self.daemon_flushes),
            count("dirtybufferflushes", "writes started because of dirtybufthresh", self.file_flushes),
            count("notbufdflushes", "writes started by tasks that lacked space", self.helper_flushes),
        ]
    }

    /// Bytes of the slowest and the fastest full second of the device, without the first second.
    fn extremes(&self, active_ns: u64) -> (Option<f64>, Option<f64>) {
        let whole = (active_ns / SECOND_NS) as usize;
        let bytes = || (1..whole).map(|second| self.seconds.get(second).map_or(0, |second| second.device_bytes) as f64);
        (bytes().reduce(f64::min), bytes().reduce(f64::max))
    }

    fn last_bytes_per_s(&self, ended_ns: u64) -> Option<f64> {
        let whole = (ended_ns / SECOND_NS) as usize;
        let first = whole.checked_sub(2)?;
        let bytes: u64 =
            (first..whole).filter_map(|second| self.seconds.get(second)).map(|second| second.call_bytes).sum();
        Some(bytes as f64 / 2.0)
    }
}
