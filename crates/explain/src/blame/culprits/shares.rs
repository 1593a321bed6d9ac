//! How the users of something share the blame for a time in which it was lacking.

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
}

impl Shares<'_> {
    /// Divides a time that a process lost.
    pub(super) fn by_process(&self, index: &RunIndex, ns: u64, victim: u32, mut take: impl FnMut(Option<u32>, u64)) {
        for (pid, ns) in divided(ns, &self.users) {
            let clients = pid.and_then(|pid| Some((pid, self.clients.get(&pid)?)));
            match clients {
                Some((pid, clients)) => {
                    clients.divide(index, ns, (pid, victim)).into_iter().for_each(|(pid, ns)| take(Some(pid), ns));
                }
                None => take(pid, ns),
            }
        }
    }
}
