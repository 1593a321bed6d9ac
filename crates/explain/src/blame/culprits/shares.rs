//! How the users of something share the blame for a time in which it was lacking.

use std::borrow::Cow;

use super::clients::Clients;
use super::need::Need;
use super::weights::{Users, divided};
use crate::blame::facts::run_index::RunIndex;
use crate::hashing::FastMap;

/// Who used what was needed, and of servers, for whom.
pub(super) struct Shares<'a> {
    pub(super) need: &'a Need,
    pub(super) at_ns: u64,
    pub(super) users: Users,
    pub(super) clients: FastMap<u32, Clients>,
    /// Of the users, what those that had it written out have in place of unknown processes.
    pub(super) taken_over: Users,
}

impl Shares<'_> {
    /// Divides a time that a process lost.
    pub(super) fn by_process(&self, index: &RunIndex, ns: u64, victim: u32, mut take: impl FnMut(Option<u32>, u64)) {
        for (pid, ns) in divided(ns, &self.of_victim(victim)) {
            let clients = pid.and_then(|pid| Some((pid, self.clients.get(&pid)?)));
            match clients {
                Some((pid, clients)) => {
                    clients.divide(index, ns, (pid, victim)).into_iter().for_each(|(pid, ns)| take(Some(pid), ns));
                }
                None => take(pid, ns),
            }
        }
    }

    /// A victim that had others' pages written out did not make them dirty.
    fn of_victim(&self, victim: u32) -> Cow<'_, Users> {
        let of = |users: &Users| users.get(&Some(victim)).copied();
        let (Some(all), Some(taken)) = (of(&self.users), of(&self.taken_over)) else {
            return Cow::Borrowed(&self.users);
        };
        let (taken, mut users) = (taken.min(all), self.users.clone());
        users.insert(Some(victim), all - taken);
        *users.entry(None).or_default() += taken;
        users.retain(|_, weight| *weight > 0);
        Cow::Owned(users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 40 that were written, process 7 had 30 written out that were dirty before.
    #[test]
    fn who_has_the_pages_of_others_written_out_did_not_make_them_dirty() {
        let users: Users = [(Some(5), 10), (Some(7), 30)].into();
        let taken_over: Users = [(Some(7), 30)].into();
        let used = Shares { need: &Need::Dirty(None), at_ns: 0, users, clients: FastMap::default(), taken_over };
        let of = |victim| {
            let mut shares = Vec::new();
            used.by_process(&RunIndex::default(), 400, victim, |pid, ns| shares.push((pid, ns)));
            shares
        };
        assert_eq!(of(9), [(Some(5), 100), (Some(7), 300)]);
        assert_eq!(of(7), [(None, 300), (Some(5), 100)]);
    }
}
