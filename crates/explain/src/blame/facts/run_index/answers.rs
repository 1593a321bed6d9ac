//! Which threads of servers answered whom.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::rule::{Example, Rule};
use crate::hashing::FastMap;
use crate::thresholds::{SMALL_PART, passed_on_within_ns};

pub(crate) const PROXY: Rule = Rule {
    id: "proxy-passes-on",
    concludes: "A server passed a request on: its own request that begins right after it was asked and ends right \
                before it answers is what its client waited \
                for.",
    from: "Requests and answers by sender and receiver, on both sides of the server.",
    because: "A proxy sends on what it receives at once, and passes back the answer at once.",
    unless: "It asks several at the same moment: the one that fits closest is taken.",
    example: Example {
        timeline: "
            off   7 |  ssssssssssssssssss   | call=poll awaits=answer waker=6 asked=2 state=1
            asked 6 |  =================    | waker=9
            asked 6 |============           | waker=8
            off   6 |   ssssssssssss        | call=epoll_wait awaits=message waker=8 state=1
            off   9 |   sssssssssssssss     | stack=xfs_log_force
            off   8 |sssssssssssssss        | call=clock_nanosleep stack=hrtimer_nanosleep state=1 awaits=interrupt",
        causes: "fs_log 30, unexplained 5",
        chain: "thread 7: fs_log 15 < thread 9: fs_log 15",
    },
};

/// Answers that are looked at.
const ANSWERS: usize = 64;

/// A client's wait for an answer, until that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Answer {
    pub(crate) sent_ns: u64,
    pub(crate) asked_ns: u64,
    pub(crate) client: u32,
    pub(crate) server: u32,
}

impl Answer {
    /// For how long within a time the client waited for it.
    fn within_ns(&self, (from_ns, to_ns): (u64, u64)) -> u64 {
        self.sent_ns.min(to_ns).saturating_sub(self.asked_ns.max(from_ns))
    }
}

/// In order of time.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// By the thread that sent them.
    sent: FastMap<u32, Vec<Answer>>,
    /// Parts of answers, by the thread that sent them.
    parts: FastMap<u32, Vec<Answer>>,
    /// By the thread that received them.
    received: FastMap<u32, Vec<Answer>>,
}

impl Answers {
    pub(crate) fn new<'a>(rows: &'a [Row], intent: impl Fn(&'a Row) -> &'a Intent) -> Answers {
        let mut all = Answers::default();
        for row in rows.iter().filter(|row| row.kind == StallKind::ServerRequest) {
            let Some(server) = intent(row).whom.get().filter(|&tid| tid != 0) else { continue };
            let answer = Answer { sent_ns: row.runnable_ns, asked_ns: row.start_ns, client: row.tid, server };
            match intent(row).what {
                Some(Awaits::Answer) => {
                    all.sent.entry(server).or_default().push(answer);
                    all.received.entry(row.tid).or_default().push(answer);
                }
                Some(Awaits::PartOfAnswer) => all.parts.entry(server).or_default().push(answer),
                _ => {}
            }
        }
        let sums = all.sent.values_mut().chain(all.received.values_mut()).chain(all.parts.values_mut());
        sums.for_each(|answers| answers.sort_unstable());
        all
    }

    /// Whether a thread is known to answer clients.
    pub(crate) fn has(&self, server: u32) -> bool {
        self.sent.contains_key(&server)
    }

    /// The threads that answered such clients, and when they did so first.
    pub(crate) fn servers_of(&self, is_client: impl Fn(u32) -> bool) -> impl Iterator<Item = (u32, u64)> {
        let answer = move |(server, sent): (&u32, &Vec<Answer>)| {
            sent.iter().find(|answer| is_client(answer.client)).map(|answer| (*server, answer.sent_ns))
        };
        self.sent.iter().filter_map(answer)
    }

    /// Which thread answered which, and when: each pair once.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Answer> {
        let first_of_each = |answers: &Vec<Answer>| {
            let mut first: FastMap<u32, Answer> = FastMap::default();
            answers.iter().for_each(|answer| _ = first.entry(answer.server).or_insert(*answer));
            first.into_values()
        };
        self.received.values().flat_map(first_of_each)
    }

    /// When a thread sends its next answer.
    pub(crate) fn next_ns(&self, server: u32, after_ns: u64) -> Option<u64> {
        let all = self.sent.get(&server)?;
        all.get(all.partition_point(|answer| answer.sent_ns <= after_ns)).map(|answer| answer.sent_ns)
    }

    /// The client to whom a thread sends its next answer, and when, if it had the request by then.
    pub(crate) fn next(&self, server: u32, at_ns: u64) -> Option<(u32, u64)> {
        self.after(server, at_ns, at_ns)
    }

    /// The same after a moment, if it had the request by an earlier one. Of answers that it sends at once, as an event
    /// loop does that first takes up all requests and then answers them in any order, that to the first request: the
    /// work was for this one, and the others waited for it.
    pub(crate) fn after(&self, server: u32, after_ns: u64, asked_by_ns: u64) -> Option<(u32, u64)> {
        let all = self.sent.get(&server)?;
        let all = &all[all.partition_point(|answer| answer.sent_ns <= after_ns)..];
        let next = all.first()?;
        let is_at_once = |answer: &&Answer| {
            let worked_ns = next.sent_ns.saturating_sub(answer.asked_ns);
            answer.sent_ns - next.sent_ns <= worked_ns / SMALL_PART
        };
        let asked = all.iter().take(ANSWERS).filter(is_at_once).filter(|answer| answer.asked_ns <= asked_by_ns);
        asked.min_by_key(|answer| answer.asked_ns).map(|answer| (answer.client, answer.sent_ns))
    }

    /// The answer, or part of one, of a thread that a client waited for the longest within a time.
    pub(crate) fn during(&self, server: u32, span_ns: (u64, u64)) -> Option<Answer> {
        let of = |answers: &FastMap<u32, Vec<Answer>>| {
            let all = answers.get(&server)?;
            let later = &all[all.partition_point(|answer| answer.sent_ns <= span_ns.0)..];
            let waited = later.iter().take(ANSWERS).filter(|answer| answer.within_ns(span_ns) > 0);
            waited.max_by_key(|answer| answer.within_ns(span_ns)).copied()
        };
        let both = [of(&self.sent), of(&self.parts)].into_iter().flatten();
        both.max_by_key(|answer| answer.within_ns(span_ns))
    }

    /// The last answer, or part of one, that a thread sent until a moment, and the next one after it.
    pub(crate) fn around(&self, server: u32, at_ns: u64) -> (Option<Answer>, Option<Answer>) {
        let mut around = (None, None);
        for all in [self.sent.get(&server), self.parts.get(&server)].into_iter().flatten() {
            let later = all.partition_point(|answer| answer.sent_ns <= at_ns);
            let last = all[..later].last().copied();
            let next = all.get(later).copied();
            around.0 = around.0.into_iter().chain(last).max();
            around.1 = around.1.into_iter().chain(next).min();
        }
        around
    }

    /// The request of a server's own that begins and ends with one that it was asked at a time and answered at another:
    /// what it passed on to the next server. Of several, the closest.
    pub(crate) fn passed_on(&self, proxy: u32, asked_ns: u64, sent_ns: u64) -> Option<Answer> {
        let all = self.received.get(&proxy)?;
        let latest_ns = passed_on_within_ns(sent_ns.saturating_sub(asked_ns));
        let first = all.partition_point(|answer| answer.sent_ns.saturating_add(latest_ns) < sent_ns);
        let then = all[first..].iter().take_while(|answer| answer.sent_ns <= sent_ns);
        // A proxy that then asks another server does not pass the answer back.
        let asks_again = |one: &Answer| then.clone().any(|other| other.asked_ns >= one.sent_ns);
        let within = then.clone().filter(|one| !asks_again(one));
        let within = within.filter(|answer| (asked_ns..=asked_ns.saturating_add(latest_ns)).contains(&answer.asked_ns));
        within.min_by_key(|answer| (answer.asked_ns - asked_ns) + (sent_ns - answer.sent_ns)).copied()
    }

    /// Who sent a thread the latest answer between two times, to a request from before: what it slept for, whatever
    /// ended that sleep.
    pub(crate) fn sender(&self, client: u32, from_ns: u64, to_ns: u64) -> Option<u32> {
        let all = self.received.get(&client)?;
        let last = all[..all.partition_point(|answer| answer.sent_ns <= to_ns)].last()?;
        (last.sent_ns > from_ns && last.asked_ns <= from_ns).then_some(last.server)
    }
}
