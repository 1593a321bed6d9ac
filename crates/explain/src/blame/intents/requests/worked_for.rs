//! For whom a server worked while another client waited for it: one that works on one request at a time sends the
//! answer when it is done with it.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::answers::Answer;
use crate::blame::intents::interruptions::choice::is_by_choice;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::{CHAIN_TASKS, SERVED_WITHIN_NS, passed_on_within_ns};

pub(crate) const RULE: Rule = Rule {
    id: "works-for-its-next-answer",
    concludes: "While one client waited, the server worked for the client that it answered next; where that is a \
                proxy, for the proxy's client.",
    from: "Answers of the server's thread, and that it did not sleep until the next one.",
    because: "A thread that works on one request at a time sends the answer when it is done with it.",
    unless: "It slept in between, or the next answer is for the same client: then the server itself is named.",
    example: Example {
        timeline: "
            off   7 |  ssssssssssss  | call=poll awaits=answer waker=9 asked=2
            asked 6 |============    | waker=9
            off   9 |s               | call=recvfrom awaits=message waker=6 cpu=1
            off   9 |              ss| call=recvfrom awaits=message waker=7 cpu=14",
        causes: "running 23, unexplained 1",
        chain: "thread 7: running 12 < thread 9: running 12",
    },
};

/// A thread that asked, and when its answer was sent.
type Client = (u32, u64);

/// For whom a thread of a server worked at a moment, and until when: its client or, if that is a proxy, the proxy's
/// client. `None` where it worked for that process itself, whether or not a proxy asked for it, or for a proxy that
/// this process asks, too: what that needs may be for several (a cache fetches a page once).
pub(crate) fn client_of(index: &RunIndex, server: u32, at_ns: u64, pid: u32) -> Option<Client> {
    let first = next_client(index, server, at_ns).filter(|_| index.applies(&RULE))?;
    let clients = through_proxies(index, first, at_ns);
    if clients.iter().any(|&(client, sent_ns)| index.tasks.process_of(client, sent_ns) == pid) {
        return None;
    }
    let (client, sent_ns) = clients[passed_on(&clients, at_ns)];
    (!index.asks(pid, index.tasks.process_of(client, sent_ns))).then_some((client, first.1))
}

/// A client, if that is a proxy its own client, and so on.
fn through_proxies(index: &RunIndex, first: Client, at_ns: u64) -> Vec<Client> {
    let above = |&(proxy, sent_ns): &Client| index.answers.after(proxy, sent_ns, at_ns);
    std::iter::successors(Some(first), above).take(CHAIN_TASKS).collect()
}

/// How many of the clients, the first of which got its answer for what was done at a moment, passed it on at once.
fn passed_on(clients: &[Client], at_ns: u64) -> usize {
    let worked_ns = clients[0].1.saturating_sub(at_ns);
    let latest_ns = |sent_ns: u64| sent_ns + passed_on_within_ns(worked_ns);
    clients.windows(2).take_while(|pair| pair[1].1 <= latest_ns(pair[0].1)).count()
}

/// The processes for which a thread of a server worked within a time: its client and, if that is a proxy, the proxy's
/// client. Where none waited for it then, the one that it served before and after, if that is the same. Empty where
/// none is known.
pub(crate) fn clients_within(index: &RunIndex, server: u32, span_ns: (u64, u64)) -> Vec<u32> {
    let process = |client: u32, at_ns: u64| index.tasks.process_of(client, at_ns);
    let waited = index.answers.during(server, span_ns);
    let Some(answer) = waited.or_else(|| served_about(index, server, span_ns)) else { return Vec::new() };
    let at_ns = answer.asked_ns.max(span_ns.0).min(answer.sent_ns);
    let clients = through_proxies(index, (answer.client, answer.sent_ns), at_ns);
    let known = &clients[..=passed_on(&clients, at_ns)];
    known.iter().map(|&(client, sent_ns)| process(client, sent_ns)).collect()
}

fn served_about(index: &RunIndex, server: u32, (from_ns, to_ns): (u64, u64)) -> Option<Answer> {
    let (last, next) = index.answers.around(server, from_ns);
    let last = last.filter(|last| from_ns - last.sent_ns <= SERVED_WITHIN_NS);
    let next = next.filter(|next| next.sent_ns.saturating_sub(to_ns) <= SERVED_WITHIN_NS);
    match (last, next) {
        (Some(last), Some(next)) => (last.client == next.client).then_some(next),
        (one, other) => one.or(other),
    }
}

/// Who gets a thread's next answer. In between it did not sleep: else what it did may have been for others.
fn next_client(index: &RunIndex, server: u32, at_ns: u64) -> Option<Client> {
    let (client, sent_ns) = index.answers.next(server, at_ns)?;
    let sleeps =
        |row: &Row| row.kind == StallKind::OffCpu && row.interruptible && row.start_ns >= at_ns && !row.while_running;
    let slept = index.rows_between(server, at_ns, sent_ns).any(|(_, row)| sleeps(row));
    (!slept).then_some((client, sent_ns))
}

/// The client whose request made a thread of a server sleep in that row, until a timer: `SLEEP()` of a database, which
/// keeps what the client's transaction has locked.
pub(crate) fn client_of_sleep(index: &RunIndex, sleep: &Row) -> Option<u32> {
    let by_nobody =
        matches!(index.awaits(sleep), Some(Awaits::Interrupt | Awaits::ForClient)) && index.waker(sleep).is_none();
    let by_timer = index.asked_ns(sleep).is_some() && by_nobody;
    // The client's own call may end when the server sleeps already.
    let middle_ns = sleep.start_ns + (sleep.runnable_ns - sleep.start_ns) / 2;
    let (client, _) = index.answers.after(sleep.tid, sleep.start_ns, middle_ns)?;
    (by_timer || is_by_choice(index, sleep)).then_some(client)
}
