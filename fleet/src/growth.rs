//! Whether something grew over the hosts of a fleet, in which part of it, and by how much.
//!
//! Stalls of one host depend on each other, and days of one host on its load. Hosts are what is independent: all tests
//! and intervals count hosts. Each host has the exact rank-sum test of its days before and after, which holds for any
//! distribution of days and for periods of any lengths. Two tests join them, since one alone is blind to half of what
//! happens to a fleet ([`statistics::Strata`]): *everywhere a little*, and *on few hosts a lot*.
//!
//! The smaller p, doubled, is the verdict's; [`statistics::q_values`] corrects it for all that were tested.

use statistics::{RankTests, Strata, Stratum, all_strata_p, few_strata_p, q_values};

use statistics::SplitMix64;

/// Days are summed to stretches of one length, of which the shorter period has at most this many: tests stay quick, and
/// neighbours depend less.
const STRETCHES: usize = 16;
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
    /// Hosts on which it grew significantly, each tested alone, by their number in the list, those with the most time
    /// first.
    pub(crate) grown: Vec<usize>,
    /// Ratio on those.
    pub(crate) ratio_of_grown: Option<f64>,
}

/// Tests one name. `idle` hosts report in both periods and have none of it: they count in rates alone.
pub(crate) fn growth(hosts: &[HostDays], idle: (f64, f64), strata: &mut Strata) -> Growth {
    let tested = |at: usize| Some((at, hosts[at].stratum(strata)?));
    let (tested, strata): (Vec<usize>, Vec<Stratum>) = (0..hosts.len()).filter_map(tested).unzip();
    let grown = grown(hosts, &tested, &strata);
    let totals: Vec<[f64; 4]> = hosts.iter().map(HostDays::totals).collect();
    let ratio_of = |[before, before_days, after, after_days]: [f64; 4]| (after / after_days) / (before / before_days);
    let all = totals.iter().fold([0.0, idle.0, 0.0, idle.1], plus);
    Growth {
        p: (2.0 * all_strata_p(&strata).min(few_strata_p(&strata))).min(1.0),
        rates: (all[0] / all[1].max(1.0), all[2] / all[3].max(1.0)),
        interval: interval(&totals, idle),
        ratio_of_grown: (!grown.is_empty()).then(|| ratio_of(grown.iter().map(|&at| &totals[at]).fold([0.0; 4], plus))),
        grown,
    }
}

/// Hosts that are significant when tested alone, those with the most time first.
fn grown(hosts: &[HostDays], tested: &[usize], strata: &[Stratum]) -> Vec<usize> {
    let q = q_values(&strata.iter().map(Stratum::p).collect::<Vec<_>>());
    let mut grown: Vec<usize> = tested.iter().zip(q).filter(|(_, q)| *q <= HOSTS_Q).map(|(at, _)| *at).collect();
    let after = |at: usize| hosts[at].totals()[2];
    grown.sort_by(|&x, &y| after(y).total_cmp(&after(x)));
    grown
}

impl HostDays {
    /// Its test; none where it reports in one period only.
    fn stratum(&self, strata: &mut Strata) -> Option<Stratum> {
        let length = self.before.len().min(self.after.len()).div_ceil(STRETCHES).max(1);
        strata.stratum(&stretches(&self.before, length), &stretches(&self.after, length))
    }

    /// Time and days before, and after.
    fn totals(&self) -> [f64; 4] {
        let sum = |days: &[f64]| days.iter().sum();
        [sum(&self.before), self.before.len() as f64, sum(&self.after), self.after.len() as f64]
    }
}

fn plus(sums: [f64; 4], host: &[f64; 4]) -> [f64; 4] {
    std::array::from_fn(|at| sums[at] + host[at])
}

/// Sums of stretches of days; the first days that fill none are left out. Stretches of two lengths would not be
/// comparable: sums of skewed values are less skewed.
fn stretches(days: &[f64], length: usize) -> Vec<f64> {
    days[days.len() % length..].chunks_exact(length).map(|days| days.iter().sum()).collect()
}

/// 95 % of the ratios of rates that fleets of hosts drawn from this one have.
fn interval(hosts: &[[f64; 4]], idle: (f64, f64)) -> Option<(f64, f64)> {
    let mut random = SplitMix64::of(hosts.len() as u64);
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
    let mut random = SplitMix64::of((a.len() + b.len()) as u64);
    let mut drawn = |side: &[HostRate]| -> f64 {
        let hosts: Vec<HostRate> = (0..side.len()).map(|_| side[random.below(side.len())]).collect();
        rate(&hosts)
    };
    let ratios: Vec<f64> = (0..RESAMPLES).map(|_| (drawn(a), drawn(b))).map(|(a, b)| b / a).collect();
    Difference { p: tests.p(&rates(a), &rates(b)).unwrap_or(1.0), rates: (rate(a), rate(b)), interval: middle(ratios) }
}

#[cfg(test)]
mod tests;
