//! Counters of a run, and the figures computed from them.

use model::block::{Kind, Operation};

use super::layer::{CompletedRequest, is_sync};
use crate::policy::Figure;

/// Nearest-rank percentile; `None` without values. Sorts the values.
pub(super) fn percentile(values: &mut [u64], share: f64) -> Option<u64> {
    values.sort_unstable();
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Statistics of completed requests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Of async writes, and of all other requests.
    q2g: [Mean; 2],
    i2d: [Mean; 2],
    d2c: [Mean; 2],
    merges: u64,
    bytes: u64,
    slow_writes: u64,
    barely_slow: u64,
    slowest_write_ns: u64,
    done_since: [Mean; 5],
    reads_ns: Vec<u64>,
    writes_ns: Vec<u64>,
    fsyncs_ns: Vec<u64>,
    until_ns: u64,
}

/// The kinds of the document's table: R, RM, RA, W.
const DOCUMENTS: [Kind; 4] = [
    Kind::of(Operation::Read),
    Kind::of(Operation::Read).with(Kind::META),
    Kind::of(Operation::Read).with(Kind::AHEAD),
    Kind::of(Operation::Write),
];

impl Tally {
    /// Adds a completed request. `slow_ns`: latency from which it is slow.
    pub(super) fn request(&mut self, finished: &CompletedRequest, slow_ns: u64) {
        let record = &finished.record;
        let side = usize::from(is_sync(record.kind));
        let span = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?) as f64);
        let mean = |mean: &mut Mean, value: Option<f64>| value.into_iter().for_each(|value| mean.add(value));
        mean(&mut self.q2g[side], span(record.queued_ns, record.got_ns));
        mean(&mut self.i2d[side], span(record.inserted_ns, record.issued_ns));
        mean(&mut self.d2c[side], span(record.issued_ns, Some(record.completed_ns)));
        self.merges += u64::from(record.merges);
        self.bytes += u64::from(record.bytes);
        self.until_ns = record.completed_ns;
        let took_ns = record.completed_ns - record.queued_ns.unwrap_or(record.completed_ns);
        match record.kind.operation() {
            Operation::Read => self.reads_ns.push(took_ns),
            _ if side == 0 => self.write(finished, took_ns, slow_ns),
            _ => {}
        }
    }

    fn write(&mut self, finished: &CompletedRequest, took_ns: u64, slow_ns: u64) {
        self.writes_ns.push(took_ns);
        self.slowest_write_ns = self.slowest_write_ns.max(took_ns);
        if took_ns < slow_ns {
            return;
        }
        self.slow_writes += 1;
        // The document examines a write that took "over a second"; slower writes were overtaken by more requests.
        if took_ns > slow_ns + slow_ns / 5 {
            return;
        }
        self.barely_slow += 1;
        let count = |wanted: &dyn Fn(Kind) -> bool| -> f64 {
            let counts = finished.done_since.iter().filter(|(kind, _)| wanted(*kind));
            counts.map(|(_, count)| f64::from(*count)).sum()
        };
        for (number, documents) in DOCUMENTS.iter().enumerate() {
            self.done_since[number].add(count(&|kind| kind == *documents));
        }
        self.done_since[4].add(count(&|kind| !DOCUMENTS.contains(&kind)));
    }

    /// Adds an fsync.
    pub(super) fn fsync(&mut self, took_ns: u64) {
        self.fsyncs_ns.push(took_ns);
    }

    /// All figures.
    pub(super) fn figures(mut self) -> Vec<Figure> {
        let mut figures = self.stages();
        let figure = |name, about, value, more_is_better| Figure { name, about, value, more_is_better };
        let by_kind = [
            ("meanwhile_r", "mean reads completed during a barely slow write"),
            ("meanwhile_rm", "the same, metadata reads"),
            ("meanwhile_ra", "the same, readahead"),
            ("meanwhile_w", "the same, async writes"),
            ("meanwhile_others", "the same, all other requests"),
        ];
        for ((name, about), mean) in by_kind.into_iter().zip(self.done_since) {
            figures.push(figure(name, about, mean.get(), None));
        }
        let names = [
            ("read_p50_ns", "read_p99_ns"),
            ("async_write_p50_ns", "async_write_p99_ns"),
            ("fsync_p50_ns", "fsync_p99_ns"),
        ];
        let classes = [&mut self.reads_ns, &mut self.writes_ns, &mut self.fsyncs_ns];
        for ((median, tail), values) in names.into_iter().zip(classes) {
            let mut at = |share| percentile(values, share).map(|ns| ns as f64);
            figures.push(figure(median, "median latency", at(0.5), Some(false)));
            figures.push(figure(tail, "99th percentile of latency", at(0.99), Some(false)));
        }
        figures
    }

    // tidy: table
    fn stages(&self) -> Vec<Figure> {
        let seconds = self.until_ns as f64 / 1e9;
        let rate = |count: usize| (seconds > 0.0).then(|| count as f64 / seconds);
        let figure = |name, about, value, more_is_better| Figure { name, about, value, more_is_better };
        vec![
            figure("reads_per_s", "reads completed", rate(self.reads_ns.len()), Some(true)),
            figure("async_writes_per_s", "async writes completed", rate(self.writes_ns.len()), Some(true)),
            figure(
                "throughput_bytes_per_s",
                "throughput of all requests",
                (seconds > 0.0).then(|| self.bytes as f64 / seconds),
                Some(true),
            ),
            figure("merged_bios", "bios merged into another request", Some(self.merges as f64), None),
            figure("async_q2g_mean_ns", "mean request (tag) wait of an async write", self.q2g[0].get(), Some(false)),
            figure("async_i2d_mean_ns", "mean time of an async write in the scheduler", self.i2d[0].get(), Some(false)),
            figure("async_d2c_mean_ns", "mean time of an async write at the device", self.d2c[0].get(), Some(false)),
            figure("sync_q2g_mean_ns", "mean request (tag) wait of all other requests", self.q2g[1].get(), Some(false)),
            figure(
                "sync_i2d_mean_ns",
                "mean time of all other requests in the scheduler",
                self.i2d[1].get(),
                Some(false),
            ),
            figure("sync_d2c_mean_ns", "mean time of all other requests at the device", self.d2c[1].get(), Some(false)),
            figure(
                "slow_async_writes",
                "async writes that took slow_write or longer",
                Some(self.slow_writes as f64),
                Some(false),
            ),
            figure(
                "barely_slow_async_writes",
                "slow async writes of at most 1.2 times slow_write",
                Some(self.barely_slow as f64),
                None,
            ),
            figure(
                "slowest_async_write_ns",
                "from queue to completion",
                Some(self.slowest_write_ns as f64),
                Some(false),
            ),
        ]
    }
}
