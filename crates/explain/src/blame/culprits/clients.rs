//! For whom the threads of a server used a device: its clients, such as a dump beside others that ask the same
//! database.

use std::collections::BTreeMap;

use super::need::Need;
use super::used_within::{amount, is_needed, weight};
use super::weights::{Users, divided};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::Target;
use crate::blame::intents::requests::worked_for::clients_within;

/// What a server used for each chain of clients: the process that asked it and, of proxies, who asked these. Empty: for
/// itself.
#[derive(Debug, Default)]
pub(super) struct Clients {
    parts: BTreeMap<Vec<u32>, u128>,
}

impl Clients {
    /// `None` where none of its threads is known to have worked for a client.
    pub(super) fn of(index: &RunIndex, need: &Need, server: u32, span_ns: (u64, u64)) -> Option<Clients> {
        if !index.usage.has_threads(server) {
            return None;
        }
        let mut clients = Clients::default();
        for (used, overlap_ns) in index.usage.between(Target::Device(need.device()?), span_ns.0, span_ns.1) {
            if used.pid == Some(server) && is_needed(need, used) {
                let served = used.thread.map(|thread| clients_within(index, thread, (used.start_ns, used.end_ns)));
                let amount = weight(used, amount(need, used), overlap_ns);
                *clients.parts.entry(served.unwrap_or_default()).or_default() += amount;
            }
        }
        clients.parts.retain(|_, weight| *weight > 0);
        clients.parts.keys().any(|served| !served.is_empty()).then_some(clients)
    }

    /// Divides a time that a process lost to the server. What the server did for that process, perhaps
    /// through a proxy that it asks, is its own part.
    pub(super) fn divide(&self, index: &RunIndex, ns: u64, (server, victim): (u32, u32)) -> Vec<(u32, u64)> {
        let mut users = Users::new();
        for (served, weight) in &self.parts {
            let is_other = |client: &&u32| !served.contains(&victim) && !index.asks(victim, **client);
            let client = served.last().filter(is_other).copied().unwrap_or(server);
            *users.entry(Some(client)).or_default() += weight;
        }
        divided(ns, &users).into_iter().filter_map(|(pid, ns)| Some((pid?, ns))).collect()
    }
}
