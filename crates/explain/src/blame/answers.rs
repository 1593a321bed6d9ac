//! Which threads of servers answered whom.

use model::stall::{Awaits, StallKind};

use super::rows::Row;
use crate::hashing::FastMap;

/// A client's wait for an answer, until that was sent.
#[derive(Debug, Clone, Copy)]
struct Answer {
    sent_ns: u64,
    asked_ns: u64,
    client: u32,
}

/// By the thread that sent them, in order of time.
#[derive(Debug, Default)]
pub(super) struct Answers(FastMap<u32, Vec<Answer>>);

impl Answers {
    pub(super) fn new(rows: &[Row]) -> Answers {
        let mut all: FastMap<u32, Vec<Answer>> = FastMap::default();
        let requests =
            rows.iter().filter(|row| row.kind == StallKind::ServerRequest && row.awaits == Some(Awaits::Answer));
        for row in requests {
            let Some(server) = row.waker_tid.filter(|&tid| tid != 0) else { continue };
            let answer = Answer { sent_ns: row.runnable_ns, asked_ns: row.start_ns, client: row.tid };
            all.entry(server).or_default().push(answer);
        }
        all.values_mut().for_each(|all| all.sort_by_key(|answer| (answer.sent_ns, answer.asked_ns, answer.client)));
        Answers(all)
    }

    /// Whether a thread is known to answer clients.
    pub(super) fn has(&self, server: u32) -> bool {
        self.0.contains_key(&server)
    }

    /// The client to whom a thread sends its next answer, and when, if it had the request by then.
    pub(super) fn next(&self, server: u32, at_ns: u64) -> Option<(u32, u64)> {
        self.after(server, at_ns, at_ns)
    }

    /// The same after a moment, if it had the request by an earlier one.
    pub(super) fn after(&self, server: u32, after_ns: u64, asked_by_ns: u64) -> Option<(u32, u64)> {
        let all = self.0.get(&server)?;
        let next = *all.get(all.partition_point(|answer| answer.sent_ns <= after_ns))?;
        (next.asked_ns <= asked_by_ns).then_some((next.client, next.sent_ns))
    }
}
