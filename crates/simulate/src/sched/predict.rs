//! Predicts how a recorded load would fare under another scheduler.

use std::collections::BTreeMap;

use model::block::{Kind, Operation};
use model::prediction::{Latencies, Predicted, Prediction, Service};
use model::stall::RequestRecord;

use super::arrivals::{Arrivals, Cause, Loop, Recorded, arrivals};
use super::fit::{Fit, fit, fit_with};
use super::layer::{Shape, is_sync};
use super::pool::Limit;
use super::replay::{Met, replay};
use super::settings::{self, Scheduler};
use super::tally::percentile;
use crate::parameter::Settings;

/// What to predict.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// Policies, by their names in [`super::MODEL`].
    pub policies: Vec<&'a str>,
    /// The policy that the requests were recorded under, if known. It is predicted as well, as a check.
    pub recorded_under: Option<&'a str>,
    /// `nr_requests` of the schedulers. `None`: twice the device's depth.
    pub nr_requests: Option<u32>,
    /// Depth of the device. `None`: the most requests observed at the device.
    pub depth: Option<u32>,
    /// Requests that the device serves at once. `None`: fitted.
    pub servers: Option<u32>,
    /// Time from a freed tag until a woken waiter tries to get one; until then others may take it. `None`: estimated.
    /// 0: waiters come first.
    pub wake_ns: Option<u64>,
    /// Settings of the schedulers.
    pub settings: &'a Settings,
}

const CLASSES: [&str; 4] = ["read", "sync write", "async write", "other"];
/// Samples that must lie beyond a percentile for it to be reported.
const BEYOND: f64 = 10.0;
/// Per cent of all requests from which a task belongs to the load. When the first of these tasks is done, the load
/// changes.
const PART_PERCENT: usize = 1;

fn class(kind: Kind) -> usize {
    match kind.operation() {
        Operation::Read => 0,
        Operation::Write if is_sync(kind) => 1,
        Operation::Write => 2,
        Operation::Discard | Operation::None => 3,
    }
}

/// Predicts, from the requests of one device.
///
/// # Panics
/// Where the question names a policy that [`super::MODEL`] does not have, which is our bug.
pub fn predict(rows: &[RequestRecord], question: &Question<'_>) -> Prediction {
    let arrivals = arrivals(rows);
    let requests = &arrivals.requests;
    let fit = match question.servers {
        Some(servers) => fit_with(requests, servers.max(1)),
        None => fit(requests),
    };
    let recorded: Vec<Option<Met>> = requests.iter().map(|request| Some(as_met(request))).collect();
    let mut policies = question.policies.clone();
    policies.extend(question.recorded_under.filter(|policy| !question.policies.contains(policy)));
    let wake_ns = question.wake_ns.unwrap_or_else(|| wake_ns(&arrivals));
    let settings = &with_budget(question.settings, requests, &fit);
    let predicted = policies.iter().map(|policy| {
        let scheduler = Scheduler::of_policy(policy).expect("a question names policies of the model");
        let shape = shape(scheduler, question, &fit, wake_ns);
        let met = replay(&arrivals, &fit, shape, settings::elevator(scheduler, settings));
        Predicted {
            policy: (*policy).to_owned(),
            latencies: latencies(&arrivals, &met),
            took_ns: took_ns(&met),
            is_check: question.recorded_under == Some(*policy),
        }
    });
    Prediction {
        requests: requests.len() as u64,
        unusable: arrivals.unusable,
        loops: loops(&arrivals),
        depth: question.depth.unwrap_or(fit.depth),
        servers: fit.servers,
        servers_fitted: question.servers.is_none(),
        load_correlation: fit.load_correlation,
        out_of_turn: fit.out_of_turn,
        service: services(&arrivals, &fit),
        recorded: latencies(&arrivals, &recorded),
        recorded_took_ns: took_ns(&recorded),
        predicted: predicted.collect(),
    }
}

/// Sets BFQ's budget to what the device serves at most in `timeout_sync` (`bfq_calc_max_budget`), unless it was set.
fn with_budget(settings: &Settings, requests: &[Recorded], fit: &Fit) -> Settings {
    let mut settings = settings.clone();
    let sectors: u64 = requests.iter().map(|request| u64::from(request.sectors)).sum();
    let busy_ns: u64 = fit.service_ns.iter().sum();
    let is_set = settings.whole("budget") != Settings::new(settings::PARAMETERS).whole("budget");
    if busy_ns > 0 && !is_set {
        let per_ns = sectors as f64 / busy_ns as f64 * f64::from(fit.servers);
        let budget = (per_ns * settings.whole("timeout_sync") as f64) as u64;
        settings.set("budget", &budget.max(1).to_string()).expect("budget is a count");
    }
    settings
}

/// Time until a woken task tries to get a tag. Estimated from tasks woken by their own completions that submit the next
/// request without a pause: the fastest quarter of those gaps.
fn wake_ns(arrivals: &Arrivals) -> u64 {
    let gaps = arrivals.causes.iter().filter_map(|cause| match cause {
        Cause::Done { gap_ns, .. } => Some(*gap_ns),
        Cause::Time(_) | Cause::Got { .. } => None,
    });
    let mut gaps: Vec<u64> = gaps.collect();
    percentile(&mut gaps, 0.25).unwrap_or(0)
}

fn as_met(request: &Recorded) -> Met {
    Met { queued_ns: request.queued_ns, issued_ns: request.issued_ns, completed_ns: request.completed_ns }
}

/// blk-mq: without a scheduler there are as many tags as the device's depth, with a scheduler more.
fn shape(scheduler: Scheduler, question: &Question<'_>, fit: &Fit, wake_ns: u64) -> Shape {
    let depth = question.depth.unwrap_or(fit.depth).max(1);
    let requests = match scheduler {
        Scheduler::None => depth,
        Scheduler::Cfq | Scheduler::Deadline | Scheduler::Bfq => {
            question.nr_requests.unwrap_or(depth.saturating_mul(2)).max(1)
        }
    };
    Shape {
        limit: Limit::Shared(requests, requests),
        depth,
        servers: fit.servers,
        max_sectors: 0,
        slow_ns: u64::MAX,
        wake_ns,
    }
}

fn took_ns(met: &[Option<Met>]) -> u64 {
    met.iter().flatten().map(|met| met.completed_ns).max().unwrap_or(0)
}

fn loops(arrivals: &Arrivals) -> [(u64, u64); 3] {
    let mut loops = [(0, 0); 3];
    let number = |kind: &Loop| match kind {
        Loop::Closed => 0,
        Loop::Fed => 1,
        Loop::Open => 2,
    };
    arrivals.loops.iter().for_each(|kind| loops[number(kind)].0 += 1);
    for request in &arrivals.requests {
        loops[number(&arrivals.loops[request.task as usize])].1 += 1;
    }
    loops
}

/// How long the whole load was active: a task that is served faster runs out of recorded requests earlier.
fn horizon_ns(arrivals: &Arrivals, met: &[Option<Met>]) -> u64 {
    let mut last: Vec<(u64, usize)> = vec![(0, 0); arrivals.loops.len()];
    for (request, met) in arrivals.requests.iter().zip(met) {
        let last = &mut last[request.task as usize];
        last.0 = last.0.max(met.map_or(u64::MAX, |met| met.queued_ns));
        last.1 += 1;
    }
    let parts = last.iter().filter(|(_, count)| count * 100 >= PART_PERCENT * met.len());
    parts.map(|(last_ns, _)| *last_ns).min().unwrap_or(u64::MAX)
}

fn latencies(arrivals: &Arrivals, met: &[Option<Met>]) -> Vec<Latencies> {
    let horizon_ns = horizon_ns(arrivals, met);
    let mut by_class: [(Vec<u64>, u128, u128); 4] = Default::default();
    for (request, met) in arrivals.requests.iter().zip(met) {
        let Some(met) = met.filter(|met| met.queued_ns <= horizon_ns) else { continue };
        let (all, queue, device) = &mut by_class[class(request.kind)];
        all.push(met.completed_ns - met.queued_ns);
        *queue += u128::from(met.issued_ns.saturating_sub(met.queued_ns));
        *device += u128::from(met.completed_ns.saturating_sub(met.issued_ns));
    }
    let rows = CLASSES.into_iter().zip(by_class).map(|(class, (mut all, queue, device))| {
        let count = all.len();
        let mut at = |share: f64| match count as f64 * (1.0 - share) >= BEYOND - 1e-9 {
            true => percentile(&mut all, share),
            false => None,
        };
        let (p50_ns, p90_ns, p99_ns) = (at(0.5), at(0.9), at(0.99));
        let mean = |sum: u128| (sum / count.max(1) as u128) as u64;
        let (queue_mean_ns, device_mean_ns) = (mean(queue), mean(device));
        Latencies { class, count: count as u64, p50_ns, p90_ns, p99_ns, queue_mean_ns, device_mean_ns }
    });
    rows.collect()
}

fn services(arrivals: &Arrivals, fit: &Fit) -> Vec<Service> {
    let mut ends: Vec<u64> = vec![u64::MAX; arrivals.loops.len()];
    let mut groups: BTreeMap<(usize, u32, bool), Vec<u64>> = BTreeMap::new();
    for (request, service_ns) in arrivals.requests.iter().zip(&fit.service_ns) {
        let end = &mut ends[request.task as usize];
        let sequential = *end == request.sector;
        *end = request.sector + u64::from(request.sectors);
        let size = request.sectors.checked_ilog2().map_or(0, |log| 1 << log);
        groups.entry((class(request.kind), size, sequential)).or_default().push(*service_ns);
    }
    let rows = groups.into_iter().map(|((class, sectors, sequential), mut times)| Service {
        class: CLASSES[class],
        bytes: u64::from(sectors) * u64::from(model::block::SECTOR_BYTES),
        sequential,
        count: times.len() as u64,
        p50_ns: percentile(&mut times, 0.5).unwrap_or(0),
        p99_ns: percentile(&mut times, 0.99).unwrap_or(0),
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
