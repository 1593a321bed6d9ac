//! In which proportion processes used a resource.

use std::collections::BTreeMap;

/// Amounts are divided in fractions of this, so that little is not lost in rounding.
pub(super) const WEIGHT: u128 = 1024;

/// What is little beside what others used.
pub(super) const MANY_TIMES: u128 = 4;

/// Weights by process; `None`: processes that are not known.
pub(super) type Users = BTreeMap<Option<u32>, u128>;

pub(super) fn add(users: &mut Users, more: Users) {
    more.into_iter().for_each(|(pid, weight)| *users.entry(pid).or_default() += weight);
}

/// Adds an amount to the users, in proportion to the weights of its causes.
pub(super) fn share(users: &mut Users, amount: u128, causes: &Users) {
    let sum: u128 = causes.values().sum();
    for (pid, weight) in causes {
        *users.entry(*pid).or_default() += (amount as f64 * (*weight as f64 / sum.max(1) as f64)) as u128;
    }
}

/// Divides a time in proportion to the weights. The parts sum exactly to it.
pub(super) fn divided(ns: u64, users: &Users) -> Vec<(Option<u32>, u64)> {
    let total: u128 = users.values().sum();
    let (mut before, mut given) = (0u128, 0u64);
    let mut parts = Vec::new();
    for (pid, weight) in users {
        before += weight;
        let until = scaled(ns, before, total);
        parts.push((*pid, until - given));
        given = until;
    }
    parts
}

/// `ns * part / total`, for weights whose product with a time may exceed the range.
fn scaled(ns: u64, part: u128, total: u128) -> u64 {
    if part >= total {
        return ns;
    }
    let shift = 128u32.saturating_sub(total.leading_zeros()).saturating_sub(63);
    let (part, total) = (part >> shift, (total >> shift).max(1));
    (u128::from(ns) * part / total).min(u128::from(ns)) as u64
}

#[cfg(test)]
mod tests {
    use super::{Users, divided};

    #[test]
    fn parts_sum_to_the_whole() {
        for weights in [vec![1u128, 1, 1], vec![u128::MAX / 4, 3, u128::MAX / 4], vec![7]] {
            let users: Users = (1..).map(Some).zip(weights).collect();
            for ns in [0, 1, 2, 1_000_000_007, u64::MAX] {
                assert_eq!(divided(ns, &users).iter().map(|part| part.1).sum::<u64>(), ns);
            }
        }
        let users: Users = [(Some(1), 1), (Some(2), 3)].into();
        assert_eq!(divided(400, &users), [(Some(1), 100), (Some(2), 300)]);
    }
}
