//! Clients whose wait for an answer a signal ended: by `timeout`, or at the end of a recording. Who sent it is not whom they waited for.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::client_requests::received_ns;
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::SOON_NS;

/// Those waits, and the thread that had the request of each.
pub(crate) fn unanswered(index: &RunIndex) -> Vec<(u32, u32)> {
    let by_signal = |row: &Row| index.stack(row.waker_stack.get()).is_some_and(|waker| waker.signals);
    let is_one = |row: &Row| {
        row.kind == StallKind::OffCpu && row.awaits == Some(Awaits::Answer) && row.asked_ns.is_some() && by_signal(row)
    };
    let waits: Vec<(u32, &Row)> = (0..).zip(&index.rows).filter(|(_, row)| is_one(row)).collect();
    if waits.is_empty() {
        return Vec::new();
    }
    let heard = Heard::new(index, &waits.iter().map(|(_, row)| row.tid).collect());
    waits.into_iter().filter_map(|(at, row)| Some((at, heard.server(row)?))).collect()
}

/// Who got to know of requests, in order of time.
struct Heard {
    /// By client: threads that waited for a message, and when that one woke them.
    woken: FastMap<u32, Vec<(u64, u32)>>,
    /// When threads received a request of whomever.
    received: Vec<(u64, u32)>,
}

impl Heard {
    fn new(index: &RunIndex, clients: &FastSet<u32>) -> Heard {
        let mut heard = Heard { woken: FastMap::default(), received: Vec::new() };
        for row in &index.rows {
            let is_woken = row.kind == StallKind::OffCpu && row.awaits == Some(Awaits::Message);
            if let Some(client) = index.waker(row).filter(|client| is_woken && clients.contains(client)) {
                heard.woken.entry(client).or_default().push((row.runnable_ns, row.tid));
            }
            heard.received.extend(received_ns(row).map(|received_ns| (received_ns, row.tid)));
        }
        heard.woken.values_mut().for_each(|woken| woken.sort_unstable());
        heard.received.sort_unstable();
        heard.received.dedup();
        heard
    }

    /// The thread that the request woke, else the only one that received a request then.
    fn server(&self, wait: &Row) -> Option<u32> {
        let asked_ns = wait.asked_ns?;
        let until_ns = asked_ns.saturating_add(SOON_NS);
        let woken = self.woken.get(&wait.tid).map_or(&[][..], Vec::as_slice);
        let before = woken.partition_point(|&(at_ns, _)| at_ns <= until_ns);
        if let Some(&(at_ns, server)) = woken[..before].last()
            && at_ns.saturating_add(SOON_NS) >= asked_ns
        {
            return Some(server);
        }
        let first = self.received.partition_point(|&(at_ns, _)| at_ns < asked_ns);
        let then = || self.received[first..].iter().take_while(|(at_ns, _)| *at_ns <= until_ns).map(|&(_, tid)| tid);
        let server = then().find(|&tid| tid != wait.tid)?;
        then().all(|tid| tid == server || tid == wait.tid).then_some(server)
    }
}
