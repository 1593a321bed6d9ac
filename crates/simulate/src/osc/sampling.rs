//! Tasks, samples and the outcome, as the observer gets them.

use model::metric::{Semantics, Unit};

use crate::observer::Metric;
use crate::policy::Outcome;

use super::account::figure;
use super::client::Osc;
use super::extent::State;
use super::plan::PAGE_BYTES;
use super::simulation::Simulation;
use super::writer::ptlrpcd_tid;

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

impl Simulation<'_> {
    /// Reports the metrics and tasks.
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

    /// Reports the samples that are due before `now_ns`.
    pub(super) fn sample_until(&mut self, now_ns: u64) {
        while self.account.next_sample_ns < now_ns {
            self.sample_at(self.account.next_sample_ns);
            self.account.next_sample_ns += self.account.sample_every_ns;
        }
    }

    fn sample_at(&mut self, at_ns: u64) {
        let sum = |of: fn(&Osc) -> u64| self.oscs.iter().map(of).sum::<u64>();
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

    /// Ends the run, and returns its outcome.
    pub(super) fn conclude(mut self) -> Outcome {
        let ended_ns = self.agenda.now_ns();
        self.sample_until(ended_ns);
        self.sample_at(ended_ns);
        self.report_open_waits();
        let account = &self.account;
        let seconds = account.closed_ns.map(|ns| ns as f64 / 1e9);
        let throughput = seconds.map(|seconds| (self.plan.total_pages() * PAGE_BYTES) as f64 / seconds);
        let left: u64 = self.oscs.iter().map(|osc| osc.dirty_pages).sum();
        let busy = account.target_busy_ns as f64 / (ended_ns.max(1) as f64 * self.plan.stripes as f64);
        let locks = Some(account.locks_taken as f64);
        let about = "bytes written by the writers, up to the last close";
        let mut figures = vec![figure("throughput_bytes_per_s", about, throughput, Some(true))];
        figures.extend(account.rpc_figures());
        figures.extend(account.time_figures());
        figures.push(figure("target_busy_share", "utilization of the targets", Some(busy), None));
        figures.push(figure("locks_taken_away", "extent locks revoked for another client", locks, Some(false)));
        figures.push(figure("dirty_left_pages", "pages never written", Some(left as f64), Some(false)));
        let (histograms, events) = (account.histograms(), self.agenda.events());
        let hang = self.hang();
        Outcome { ended_ns, hang, events, figures, histograms }
    }
}
