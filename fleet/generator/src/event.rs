//! Injected events: an issue whose stall time grows on a few hosts since a day.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::Host;
use statistics::SplitMix64;

/// Stall time grows by this factor.
const FACTOR: f64 = 3.0;
/// Share of the fleet's hosts on which it does.
const SHARE: f64 = 0.02;

/// An event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) seed: String,
    pub(crate) hosts: BTreeSet<usize>,
    pub(crate) since: usize,
    /// Factors of how often and of how long, whose product is the event's.
    pub(crate) factors: (f64, f64),
}

/// Chooses issues (with file system and disk) that enough hosts have, and hosts of each. No issue has two events.
pub(crate) fn events(seed: u64, hosts: &[Host], count: usize, since: usize) -> Vec<Event> {
    let wanted = ((hosts.len() as f64 * SHARE).round() as usize).max(1);
    let mut candidates: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for host in hosts.iter().filter(|host| host.since == 0) {
        for (issue, _) in &host.issues {
            candidates.entry(host.seed_of(*issue)).or_default().push(host.number);
        }
    }
    let mut candidates: Vec<_> = candidates.into_iter().filter(|(_, hosts)| hosts.len() >= wanted).collect();
    let mut random = SplitMix64::of_parts(&[seed, 2]);
    let mut events = Vec::new();
    while events.len() < count && !candidates.is_empty() {
        let (seed, mut having) = candidates.swap_remove(random.below(candidates.len()));
        let hosts = (0..wanted).map(|_| having.swap_remove(random.below(having.len()))).collect();
        let factors = *random.one(&[(FACTOR, 1.0), (1.0, FACTOR), (FACTOR.sqrt(), FACTOR.sqrt())]);
        events.push(Event { seed, hosts, since, factors });
    }
    events
}

/// The factors of a host's issue on a day.
pub(crate) fn factors(events: &[Event], host: &Host, issue: usize, day: usize) -> (f64, f64) {
    let seed = host.seed_of(issue);
    let here = |event: &&Event| event.seed == seed && day >= event.since && event.hosts.contains(&host.number);
    events.iter().find(here).map_or((1.0, 1.0), |event| event.factors)
}
