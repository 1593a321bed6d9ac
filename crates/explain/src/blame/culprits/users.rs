//! Who used what a victim lacked.

use std::collections::BTreeMap;

use model::block::DeviceNumber;

use super::need::{Domain, Need};
use super::used_within::UsedWithin;
use super::weights::{Users, WEIGHT};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::Used;
use crate::thresholds::{USED_AFTER_NS, WRITTEN_WITHIN_NS};

/// The users of a resource within a time, or before it; of a device also after it: what it completes then was in its
/// queue; and of memory: who fills it has filled it before the recording. Where nobody is known, unknown processes
/// alone; empty where nothing is known.
pub(super) fn users(index: &RunIndex, need: &Need, (from_ns, to_ns): (u64, u64)) -> Users {
    let between = |from_ns: u64, to_ns: u64| {
        let users = UsedWithin { index, from_ns, to_ns }.users(need);
        Some(users).filter(|users| users.keys().any(Option::is_some))
    };
    let before = || between(from_ns.saturating_sub(WRITTEN_WITHIN_NS), to_ns);
    let after_ns = if need.is_of_memory() { WRITTEN_WITHIN_NS } else { USED_AFTER_NS };
    let has_later = need.is_of_device() || need.is_of_memory();
    let after = || between(from_ns, to_ns.saturating_add(after_ns)).filter(|_| has_later);
    let known = between(from_ns, to_ns).or_else(before).or_else(after);
    known.unwrap_or_else(|| UsedWithin { index, from_ns, to_ns }.users(need))
}

/// What a disk completed for somebody.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Amounts {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

/// What a disk completed within a time, by process; `None`: for processes that are not known.
pub(crate) fn amounts(
    index: &RunIndex,
    device: DeviceNumber,
    from_ns: u64,
    to_ns: u64,
) -> BTreeMap<Option<u32>, Amounts> {
    let time = UsedWithin { index, from_ns, to_ns };
    let whole = |weight: u128| u64::try_from(weight / WEIGHT).unwrap_or(u64::MAX);
    let mut amounts: BTreeMap<Option<u32>, Amounts> = BTreeMap::new();
    for (pid, weight) in time.of_device(device, None, |used| used.count, Domain::Everybody) {
        amounts.entry(pid).or_default().requests = whole(weight);
    }
    for (pid, weight) in time.of_device(device, None, Used::moved_bytes, Domain::Everybody) {
        amounts.entry(pid).or_default().bytes = whole(weight);
    }
    amounts.retain(|_, amounts| amounts.requests > 0);
    amounts
}
