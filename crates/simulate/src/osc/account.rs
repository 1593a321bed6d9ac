//! What is counted, sampled and summed up.

use crate::policy::{Figure, Form, Histogram};

use super::rpc::Reason;
use super::writer::CACHE;

/// Rows of rpc_stats: OBD_HIST_MAX.
const ROWS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) sample_every_ns: u64,
    pub(super) next_sample_ns: u64,
    pub(super) slow_ns: u64,
    pub(super) dirtied_pages: u64,
    pub(super) written_pages: u64,
    pub(super) sync_rpcs: u64,
    pub(super) locks_taken: u64,
    pub(super) target_busy_ns: u64,
    /// Time in which only a timer could end the waits.
    pub(super) stalled_ns: u64,
    /// When the last writer closed its file.
    pub(super) closed_ns: Option<u64>,
    pub(super) rpcs: u64,
    pub(super) full_rpcs: u64,
    pub(super) pieces: u64,
    pub(super) reasons: [u64; 4],
    pub(super) by_pages: [u64; ROWS],
    pub(super) by_in_flight: Vec<u64>,
    pub(super) longest_write_ns: Option<u64>,
    pub(super) longest_cache_wait_ns: Option<u64>,
    pub(super) cache_wait_ns: u64,
    pub(super) oldest_ns: Option<u64>,
    pub(super) oldest_partial_ns: Option<u64>,
}

impl Account {
    pub(super) fn new(sample_every_ns: u64, slow_ns: u64) -> Account {
        Account { sample_every_ns: sample_every_ns.max(1), slow_ns, ..Account::default() }
    }

    pub(super) fn write(&mut self, ns: u64) {
        self.longest_write_ns = self.longest_write_ns.max(Some(ns));
    }

    pub(super) fn wait(&mut self, frames: &'static [&'static str], ns: u64) {
        if frames == CACHE {
            self.longest_cache_wait_ns = self.longest_cache_wait_ns.max(Some(ns));
            self.cache_wait_ns += ns;
        }
    }

    pub(super) fn sent(&mut self, pages: u64, pieces: u64, reason: Reason, in_flight: u64, full: u64) {
        self.rpcs += 1;
        self.full_rpcs += u64::from(pages == full);
        self.pieces += pieces;
        self.reasons[reason as usize] += 1;
        // lprocfs_oh_tally_log2: a row counts the values above half of it, up to it.
        let row = (u64::BITS - (pages - 1).leading_zeros()) as usize;
        self.by_pages[row.min(ROWS - 1)] += 1;
        let in_flight = in_flight as usize;
        if self.by_in_flight.len() <= in_flight {
            self.by_in_flight.resize(in_flight + 1, 0);
        }
        self.by_in_flight[in_flight] += 1;
    }

    /// Records how long the oldest page of an RPC was dirty when it was sent.
    pub(super) fn age(&mut self, ns: u64, partial: bool) {
        self.oldest_ns = self.oldest_ns.max(Some(ns));
        if partial {
            self.oldest_partial_ns = self.oldest_partial_ns.max(Some(ns));
        }
    }

    pub(super) fn histograms(&self) -> Vec<Histogram> {
        let rows = self.by_pages.iter().enumerate().map(|(row, count)| (1 << row, *count));
        let in_flight = self.by_in_flight.iter().enumerate().skip(1).map(|(row, count)| (row as u64, *count));
        vec![
            Histogram { name: "pages per rpc", form: Form::RpcStats, rows: without_empty_tail(rows) },
            Histogram { name: "rpcs in flight", form: Form::RpcStats, rows: without_empty_tail(in_flight) },
        ]
    }

    pub(super) fn rpc_figures(&self) -> Vec<Figure> {
        let mean = |sum: u64| (self.rpcs > 0).then(|| sum as f64 / self.rpcs as f64);
        let partial = Some((self.rpcs - self.full_rpcs) as f64);
        let [high_priority, urgent, waiters, enough] = self.reasons.map(|count| Some(count as f64));
        vec![
            figure("rpcs", "write RPCs", Some(self.rpcs as f64), Some(false)),
            figure("pages_per_rpc_mean", "mean pages of an RPC", mean(self.written_pages), Some(true)),
            figure("full_rpcs_share", "share of RPCs with max_pages_per_rpc pages", mean(self.full_rpcs), Some(true)),
            figure("partial_rpcs", "RPCs with fewer pages", partial, Some(false)),
            figure("pieces_per_rpc_mean", "mean contiguous pieces in an RPC", mean(self.pieces), Some(false)),
            figure("rpcs_for_high_priority", "sent because another client requests the lock", high_priority, None),
            figure("rpcs_for_urgent", "sent for fsync, the flusher, or a synchronous write", urgent, None),
            figure("rpcs_for_cache_waiters", "sent because tasks wait in osc_enter_cache", waiters, None),
            figure("rpcs_for_enough", "sent because of the count of pages, or a full extent", enough, None),
            figure("sync_rpcs", "synchronous RPCs without grant", Some(self.sync_rpcs as f64), Some(false)),
        ]
    }

    pub(super) fn time_figures(&self) -> Vec<Figure> {
        let ns = |value: Option<u64>| value.map(|ns| ns as f64);
        let (write, cache) = (ns(self.longest_write_ns), ns(self.longest_cache_wait_ns));
        let (oldest, partial) = (ns(self.oldest_ns), ns(self.oldest_partial_ns));
        let (sum, stalled) = (Some(self.cache_wait_ns as f64), Some(self.stalled_ns as f64));
        vec![
            figure("write_max_ns", "longest write call", write, Some(false)),
            figure("cache_wait_max_ns", "longest wait in osc_enter_cache", cache, Some(false)),
            figure("cache_wait_sum_ns", "sum of the waits in osc_enter_cache", sum, Some(false)),
            figure("dirty_age_max_ns", "longest time from dirtying a page to its RPC", oldest, Some(false)),
            figure("partial_age_max_ns", "the same, of partial RPCs", partial, Some(false)),
            figure("stalled_until_timer_ns", "time without progress that only a timer ended", stalled, Some(false)),
        ]
    }
}

pub(super) fn figure(
    name: &'static str,
    about: &'static str,
    value: Option<f64>,
    more_is_better: Option<bool>,
) -> Figure {
    Figure { name, about, value, more_is_better }
}

fn without_empty_tail(rows: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut rows: Vec<(u64, u64)> = rows.collect();
    let used = rows.iter().rposition(|(_, count)| *count > 0).map_or(0, |last| last + 1);
    rows.truncate(used);
    rows
}
