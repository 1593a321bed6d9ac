//! Clients whose wait for an answer a signal ended: by `timeout`, or at the end of a recording.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::client_requests::received_ns;
use crate::blame::rule::{Example, Rule};
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::SOON_NS;

pub(crate) const RULE: Rule = Rule {
    id: "signal-did-not-answer",
    concludes: "A client whose wait for an answer a signal ended waited for the thread that its request woke, or that \
                alone received a request then.",
    from: "A wait for an answer whose waker's stack sends a signal; the threads that received something when the \
           request was sent.",
    because: "The sender of a signal is not the one that was asked. A request is received within moments of when it is \
              sent.",
    unless: "Several threads received a request at that moment and the client woke none of them: then nobody is named.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=poll awaits=answer waker=3 \
            waker_stack=signal_wake_up_state,kill_something_info asked=2
            off 9 |ss              | call=recvfrom awaits=message waker=7
            off 9 |   ssssssssssss | stack=xfs_log_force",
        causes: "fs_log 11, unexplained 1",
        chain: "thread 7: fs_log 11 < thread 9: fs_log 11",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let by_signal = |row: &Row| index.waker_stack(row).is_some_and(|waker| waker.signals);
    let is_one = |row: &Row| {
        row.kind == StallKind::OffCpu
            && index.awaits(row) == Some(Awaits::Answer)
            && index.asked_ns(row).is_some()
            && by_signal(row)
    };
    let waits: Vec<(u32, &Row)> = (0..).zip(&index.rows).filter(|(_, row)| is_one(row)).collect();
    if waits.is_empty() {
        return Vec::new();
    }
    let heard = Heard::new(index, &waits.iter().map(|(_, row)| row.tid).collect());
    let intent = |row: &Row| Some(Intent { whom: Some(heard.server(index, row)?).into(), ..*index.intent(row) });
    waits.into_iter().filter_map(|(at, row)| Some((at, intent(row)?))).collect()
}

/// Who got to know of requests, in order of time.
struct Heard {
    /// By client: threads that waited for a message, and when the client woke them.
    woken: FastMap<u32, Vec<(u64, u32)>>,
    /// When threads received a request of whomever.
    received: Vec<(u64, u32)>,
}

impl Heard {
    fn new(index: &RunIndex, clients: &FastSet<u32>) -> Heard {
        let mut heard = Heard { woken: FastMap::default(), received: Vec::new() };
        for row in &index.rows {
            let is_woken = row.kind == StallKind::OffCpu && index.awaits(row) == Some(Awaits::Message);
            if let Some(client) = index.waker(row).filter(|client| is_woken && clients.contains(client)) {
                heard.woken.entry(client).or_default().push((row.runnable_ns, row.tid));
            }
            heard.received.extend(received_ns(index, row).map(|received_ns| (received_ns, row.tid)));
        }
        heard.woken.values_mut().for_each(|woken| woken.sort_unstable());
        heard.received.sort_unstable();
        heard.received.dedup();
        heard
    }

    /// The thread that the request woke, else the only one that received a request then.
    fn server(&self, index: &RunIndex, wait: &Row) -> Option<u32> {
        let asked_ns = index.asked_ns(wait)?;
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
