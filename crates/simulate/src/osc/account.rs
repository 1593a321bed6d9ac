//! What is counted, sampled and summed up.

use model::metric::{Semantics, Unit};

use crate::observer::Metric;
use crate::policy::{Figure, Form, Histogram, Outcome};

use super::extent::State;
use super::formation::Reason;
use super::parameters::PAGE_BYTES;
use super::simulation::Simulation;
use super::writer::{CACHE, ptlrpcd_tid};

const fn metric(name: &'static str, unit: Unit, semantics: Semantics) -> Metric {
    Metric { name, instance: "", unit, semantics }
}

/// All OSCs together.
const METRICS: &[Metric] = &[
    metric("osc.cl_dirty_pages", Unit::Pages, Semantics::Gauge),
    metric("osc.cl_avail_grant", Unit::Bytes, Semantics::Gauge),
    metric("osc.cl_w_in_flight", Unit::Count, Semantics::Gauge),
    metric("osc.cl_cache_waiters", Unit::Count, Semantics::Gauge),
    metric("osc.oo_nr_writes", Unit::Pages, Semantics::Gauge),
    metric("osc.oo_full_exts", Unit::Count, Semantics::Gauge),
    metric("osc.extents_active", Unit::Count, Semantics::Gauge),
    metric("osc.extents_cache", Unit::Count, Semantics::Gauge),
    metric("osc.extents_rpc", Unit::Count, Semantics::Gauge),
    metric("osc.rpcs", Unit::Count, Semantics::Counter),
    metric("osc.partial_rpcs", Unit::Count, Semantics::Counter),
    metric("osc.written", Unit::Bytes, Semantics::Counter),
];

/// Rows of rpc_stats: OBD_HIST_MAX.
const ROWS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Account {
    sample_every_ns: u64,
    next_sample_ns: u64,
    pub(super) slow_ns: u64,
    pub(super) dirtied_pages: u64,
    pub(super) written_pages: u64,
    pub(super) sync_rpcs: u64,
    pub(super) locks_taken: u64,
    pub(super) target_busy_ns: u64,
    /// Time in which only a timer could help.
    pub(super) stalled_ns: u64,
    /// When the last writer closed its file.
    pub(super) closed_ns: Option<u64>,
    rpcs: u64,
    full_rpcs: u64,
    pieces: u64,
    reasons: [u64; 4],
    by_pages: [u64; ROWS],
    by_in_flight: Vec<u64>,
    longest_write_ns: Option<u64>,
    longest_cache_wait_ns: Option<u64>,
    cache_wait_ns: u64,
    oldest_ns: Option<u64>,
    oldest_partial_ns: Option<u64>,
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
        // lprocfs_oh_tally_log2: a row holds what is more than half of it, up to it.
        let row = (u64::BITS - (pages - 1).leading_zeros()) as usize;
        self.by_pages[row.min(ROWS - 1)] += 1;
        let in_flight = in_flight as usize;
        if self.by_in_flight.len() <= in_flight {
            self.by_in_flight.resize(in_flight + 1, 0);
        }
        self.by_in_flight[in_flight] += 1;
    }

    /// How long the oldest page of an RPC was dirty when it was sent.
    pub(super) fn age(&mut self, ns: u64, partial: bool) {
        self.oldest_ns = self.oldest_ns.max(Some(ns));
        if partial {
            self.oldest_partial_ns = self.oldest_partial_ns.max(Some(ns));
        }
    }

    fn histograms(&self) -> Vec<Histogram> {
        let rows = self.by_pages.iter().enumerate().map(|(row, count)| (1 << row, *count));
        let in_flight = self.by_in_flight.iter().enumerate().skip(1).map(|(row, count)| (row as u64, *count));
        vec![
            Histogram { name: "pages per rpc", form: Form::RpcStats, rows: up_to_the_last(rows) },
            Histogram { name: "rpcs in flight", form: Form::RpcStats, rows: up_to_the_last(in_flight) },
        ]
    }

    fn rpc_figures(&self) -> Vec<Figure> {
        let mean = |sum: u64| (self.rpcs > 0).then(|| sum as f64 / self.rpcs as f64);
        let partial = Some((self.rpcs - self.full_rpcs) as f64);
        let [high_priority, urgent, waiters, enough] = self.reasons.map(|count| Some(count as f64));
        vec![
            figure("rpcs", "write RPCs", Some(self.rpcs as f64), Some(false)),
            figure("pages_per_rpc_mean", "their pages, on average", mean(self.written_pages), Some(true)),
            figure("full_rpcs_share", "share of them with max_pages_per_rpc pages", mean(self.full_rpcs), Some(true)),
            figure("partial_rpcs", "those with fewer", partial, Some(false)),
            figure("pieces_per_rpc_mean", "contiguous pieces in one, on average", mean(self.pieces), Some(false)),
            figure("rpcs_for_high_priority", "made because another client wants the lock", high_priority, None),
            figure("rpcs_for_urgent", "made for fsync, the flusher, or a synchronous write", urgent, None),
            figure("rpcs_for_cache_waiters", "made because tasks wait in osc_enter_cache", waiters, None),
            figure("rpcs_for_enough", "made because of the count of pages, or a full extent", enough, None),
            figure("sync_rpcs", "without grant, for a task that waits", Some(self.sync_rpcs as f64), Some(false)),
        ]
    }

    fn time_figures(&self) -> Vec<Figure> {
        let ns = |value: Option<u64>| value.map(|ns| ns as f64);
        let (write, cache) = (ns(self.longest_write_ns), ns(self.longest_cache_wait_ns));
        let (oldest, partial) = (ns(self.oldest_ns), ns(self.oldest_partial_ns));
        let (sum, stalled) = (Some(self.cache_wait_ns as f64), Some(self.stalled_ns as f64));
        vec![
            figure("write_max_ns", "longest write call", write, Some(false)),
            figure("cache_wait_max_ns", "longest wait in osc_enter_cache", cache, Some(false)),
            figure("cache_wait_sum_ns", "all waits in osc_enter_cache", sum, Some(false)),
            figure("dirty_age_max_ns", "longest time that a page was dirty before its RPC", oldest, Some(false)),
            figure("partial_age_max_ns", "the same, of RPCs that were not full", partial, Some(false)),
            figure("stalled_until_timer_ns", "time in which nothing moved until a timer ended", stalled, Some(false)),
        ]
    }
}

fn figure(name: &'static str, about: &'static str, value: Option<f64>, more_is_better: Option<bool>) -> Figure {
    Figure { name, about, value, more_is_better }
}

fn up_to_the_last(rows: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut rows: Vec<(u64, u64)> = rows.collect();
    let used = rows.iter().rposition(|(_, count)| *count > 0).map_or(0, |last| last + 1);
    rows.truncate(used);
    rows
}

impl Simulation<'_> {
    /// Tells who there is.
    pub(super) fn introduce(&mut self) {
        self.observer.metrics(METRICS);
        for client in 0..self.plan.clients {
            self.observer.task(ptlrpcd_tid(client), &format!("ptlrpcd {client}"));
        }
        for writer in &self.writers {
            self.observer.task(writer.tid(), &writer.name());
        }
        self.observer.phase("write", true, 0);
    }

    /// Samples of what was until now.
    pub(super) fn sample_until(&mut self, now_ns: u64) {
        while self.account.next_sample_ns < now_ns {
            self.sample_at(self.account.next_sample_ns);
            self.account.next_sample_ns += self.account.sample_every_ns;
        }
    }

    fn sample_at(&mut self, at_ns: u64) {
        let sum = |of: fn(&super::simulation::Osc) -> u64| self.oscs.iter().map(of).sum::<u64>();
        let in_state = |state: State| self.extents.in_state[state as usize];
        let pending: u64 = self.objects.iter().map(|object| object.pending_pages).sum();
        let full: usize = self.objects.iter().map(|object| object.full.len()).sum();
        let values = [
            sum(|osc| osc.dirty_pages),
            sum(|osc| osc.grant_pages) * PAGE_BYTES,
            sum(|osc| osc.in_flight),
            sum(|osc| osc.waiters.len() as u64),
            pending,
            full as u64,
            in_state(State::Active),
            in_state(State::Cache) + in_state(State::Sync),
            in_state(State::Rpc),
            self.account.rpcs,
            self.account.rpcs - self.account.full_rpcs,
            self.account.written_pages * PAGE_BYTES,
        ];
        self.observer.sample(at_ns, &values.map(|value| i64::try_from(value).ok()));
    }

    /// The end, and what came of it.
    pub(super) fn conclude(mut self) -> Outcome {
        let ended_ns = self.agenda.now_ns();
        self.sample_until(ended_ns);
        self.sample_at(ended_ns);
        self.tell_waits_that_go_on();
        let account = &self.account;
        let seconds = account.closed_ns.map(|ns| ns as f64 / 1e9);
        let throughput = seconds.map(|seconds| (self.plan.total_pages() * PAGE_BYTES) as f64 / seconds);
        let left: u64 = self.oscs.iter().map(|osc| osc.dirty_pages).sum();
        let busy = account.target_busy_ns as f64 / (ended_ns.max(1) as f64 * self.plan.stripes as f64);
        let locks = Some(account.locks_taken as f64);
        let about = "what the writers wrote, through the last one's close";
        let mut figures = vec![figure("throughput_bytes_per_s", about, throughput, Some(true))];
        figures.extend(account.rpc_figures());
        figures.extend(account.time_figures());
        figures.push(figure("target_busy_share", "share of the time that the targets worked", Some(busy), None));
        figures.push(figure("locks_taken_away", "extent locks given up for another client", locks, Some(false)));
        figures.push(figure("dirty_left_pages", "pages never written", Some(left as f64), Some(false)));
        let (histograms, events) = (account.histograms(), self.agenda.events());
        let hang = self.hang();
        Outcome { ended_ns, hang, events, figures, histograms }
    }
}
