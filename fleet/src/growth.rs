//! Whether something grew over the hosts of a fleet, in which part of it, and by how much.
//!
//! Stalls of one host depend on each other, and days of one host on its load. Hosts are what is independent: all tests and
//! intervals count hosts. Two tests look for growth, since one alone is blind to half of what happens to a fleet:
//!
//! - *everywhere a little*: Wilcoxon's signed-rank test over hosts, of each host's rate after to its rate before;
//! - *on few hosts a lot*: for each host, the exact rank-sum test of its days before and after; then whether more hosts have a small
//!   p than chance would give (a binomial tail, at two levels).
//!
//! The smaller p, doubled, is the verdict's; [`statistics::q_values`] corrects it for all that were tested.

use statistics::{BlockRatios, RankTests};

use crate::random::Random;

/// Levels at which hosts with a small p are counted.
const LEVELS: [f64; 2] = [0.01, 0.001];
/// Days of a side are summed to at most this many periods: exact tests stay quick, and neighbouring days depend less.
const PERIODS: usize = 8;
/// Resamples of an interval.
const RESAMPLES: usize = 500;
/// Share of false ones among the hosts that are named.
const HOSTS_Q: f64 = 0.1;

/// One host: stall time of each day on which it reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HostDays {
    /// The host.
    pub(crate) host: String,
    /// Before, ns by day.
    pub(crate) before: Vec<f64>,
    /// After, ns by day.
    pub(crate) after: Vec<f64>,
}

/// What happened to one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Growth {
    /// p of either test, doubled.
    pub(crate) p: f64,
    /// Rates of the fleet, ns per host and day.
    pub(crate) rates: (f64, f64),
    /// 95 % interval of their ratio, over hosts; none where it had no time before.
    pub(crate) interval: Option<(f64, f64)>,
    /// Hosts on which it grew by themselves, by their number in the list, those with the most time first.
    pub(crate) grown: Vec<usize>,
    /// Ratio on those.
    pub(crate) ratio_of_grown: Option<f64>,
}

impl Growth {
    /// After to before; infinite for what is new.
    pub(crate) fn ratio(&self) -> f64 {
        self.rates.1 / self.rates.0
    }
}

/// Tests one name. `idle` hosts report in both periods and have none of it: they count in rates alone.
pub(crate) fn growth(hosts: &[HostDays], idle: (f64, f64), tests: &mut RankTests) -> Growth {
    let paired: Vec<usize> =
        (0..hosts.len()).filter(|&at| !hosts[at].before.is_empty() && !hosts[at].after.is_empty()).collect();
    let host_p: Vec<f64> = paired.iter().map(|&at| host_p(&hosts[at], tests)).collect();
    let everywhere = everywhere_p(paired.iter().map(|&at| &hosts[at]));
    let sparse = LEVELS.iter().map(|&level| excess_p(&host_p, level)).fold(1.0, f64::min) * LEVELS.len() as f64;
    let mut grown: Vec<usize> = statistics::q_values(&host_p)
        .into_iter()
        .zip(&paired)
        .filter_map(|(q, &at)| (q <= HOSTS_Q).then_some(at))
        .collect();
    let sum = |days: &[f64]| days.iter().sum::<f64>();
    grown.sort_by(|&x, &y| sum(&hosts[y].after).total_cmp(&sum(&hosts[x].after)));
    let ratio_of_grown = (!grown.is_empty()).then(|| {
        let rate = |of: fn(&HostDays) -> &Vec<f64>| {
            grown.iter().map(|&at| sum(of(&hosts[at]))).sum::<f64>()
                / grown.iter().map(|&at| of(&hosts[at]).len()).sum::<usize>() as f64
        };
        rate(|host| &host.after) / rate(|host| &host.before)
    });
    let totals: Vec<[f64; 4]> = hosts
        .iter()
        .map(|host| [sum(&host.before), host.before.len() as f64, sum(&host.after), host.after.len() as f64])
        .collect();
    let all = totals.iter().fold([0.0, idle.0, 0.0, idle.1], plus);
    Growth {
        p: (2.0 * everywhere.min(sparse)).min(1.0),
        rates: (all[0] / all[1].max(1.0), all[2] / all[3].max(1.0)),
        interval: interval(&totals, idle),
        grown,
        ratio_of_grown,
    }
}

fn plus(sums: [f64; 4], host: &[f64; 4]) -> [f64; 4] {
    std::array::from_fn(|at| sums[at] + host[at])
}

/// One-sided p of one host's days: the exact test's tail if its days after have the larger ranks.
fn host_p(host: &HostDays, tests: &mut RankTests) -> f64 {
    let (before, after) = (periods(&host.before), periods(&host.after));
    let larger = after.iter().map(|x| before.iter().map(|y| sign(x - y)).sum::<f64>()).sum::<f64>();
    if larger <= 0.0 {
        return 1.0;
    }
    tests.p(&before, &after).map_or(1.0, |p| p / 2.0)
}

fn sign(difference: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.signum() }
}

/// Mean of each of at most [`PERIODS`] stretches of days.
fn periods(days: &[f64]) -> Vec<f64> {
    let periods = days.len().min(PERIODS);
    let mean = |days: &[f64]| days.iter().sum::<f64>() / days.len() as f64;
    (0..periods).map(|at| mean(&days[at * days.len() / periods..(at + 1) * days.len() / periods])).collect()
}

/// One-sided p of the signed-rank test over hosts.
fn everywhere_p<'a>(hosts: impl Iterator<Item = &'a HostDays>) -> f64 {
    let mean = |days: &[f64]| days.iter().sum::<f64>() / days.len() as f64;
    let ratio = |host: &HostDays| {
        let (before, after) = (mean(&host.before), mean(&host.after));
        (before != after).then(|| (after / before).ln())
    };
    let mut logs: Vec<f64> = hosts.filter_map(ratio).collect();
    let Some(ratios) = BlockRatios::of(logs.clone()) else { return 1.0 };
    logs.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let signed: f64 = logs.iter().enumerate().map(|(at, log)| sign(*log) * (at + 1) as f64).sum();
    if signed <= 0.0 { 1.0 } else { ratios.p() / 2.0 }
}

/// The chance of as many hosts with a p of at most `level`, if nothing grew.
fn excess_p(host_p: &[f64], level: f64) -> f64 {
    let found = host_p.iter().filter(|&&p| p <= level).count();
    binomial_upper_tail(host_p.len(), level, found)
}

/// P(X >= k) of a binomial distribution.
fn binomial_upper_tail(n: usize, chance: f64, k: usize) -> f64 {
    if k == 0 {
        return 1.0;
    }
    let mut log = n as f64 * (1.0 - chance).ln();
    let mut tail = 0.0;
    for at in 0..=n {
        if at >= k {
            tail += log.exp();
        }
        log += ((n - at) as f64 / (at + 1) as f64 * chance / (1.0 - chance)).ln();
    }
    tail.min(1.0)
}

/// 95 % of the ratios of rates that fleets of hosts drawn from this one have.
fn interval(hosts: &[[f64; 4]], idle: (f64, f64)) -> Option<(f64, f64)> {
    let mut random = Random::of(hosts.len() as u64);
    let resample = |_| {
        let drawn = (0..hosts.len()).map(|_| &hosts[random.below(hosts.len())]);
        let [before, before_days, after, after_days] = drawn.fold([0.0, idle.0, 0.0, idle.1], plus);
        after / after_days / (before / before_days)
    };
    middle((0..RESAMPLES).map(resample).collect())
}

/// The middle 95 % of ratios; none where most have no value.
fn middle(mut ratios: Vec<f64>) -> Option<(f64, f64)> {
    ratios.retain(|ratio| ratio.is_finite());
    if ratios.len() < RESAMPLES / 2 {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// One host of a side: stall time, and the days on which it reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HostRate {
    /// Stall time, ns.
    pub(crate) stall_ns: f64,
    /// Days.
    pub(crate) days: f64,
}

/// How two sets of hosts differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Two-sided p of the rank-sum test of the hosts' rates.
    pub(crate) p: f64,
    /// Rates of both sides, ns per host and day.
    pub(crate) rates: (f64, f64),
    /// 95 % interval of their ratio, over hosts.
    pub(crate) interval: Option<(f64, f64)>,
}

/// Tests whether the rates of hosts differ between two sides.
pub(crate) fn difference(a: &[HostRate], b: &[HostRate], tests: &mut RankTests) -> Difference {
    let rates = |side: &[HostRate]| side.iter().map(|host| host.stall_ns / host.days.max(1.0)).collect::<Vec<f64>>();
    let rate = |side: &[HostRate]| {
        let sums = side.iter().fold((0.0, 0.0), |sums, host| (sums.0 + host.stall_ns, sums.1 + host.days));
        sums.0 / sums.1.max(1.0)
    };
    let mut random = Random::of((a.len() + b.len()) as u64);
    let mut drawn = |side: &[HostRate]| -> f64 {
        let hosts: Vec<HostRate> = (0..side.len()).map(|_| side[random.below(side.len())]).collect();
        rate(&hosts)
    };
    let ratios: Vec<f64> = (0..RESAMPLES).map(|_| (drawn(a), drawn(b))).map(|(a, b)| b / a).collect();
    Difference { p: tests.p(&rates(a), &rates(b)).unwrap_or(1.0), rates: (rate(a), rate(b)), interval: middle(ratios) }
}

#[cfg(test)]
mod tests;
