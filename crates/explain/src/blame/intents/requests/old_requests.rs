//! Requests of which the server's side does not show that they are worked on, of servers with a thread for each client.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::hashing::FastMap;

pub(crate) const RULE: Rule = Rule {
    id: "request-is-worked-on",
    concludes: "A thread worked for a client though its own rows do not say so: it waits for a thread or a lock for \
                the sake of that request, and who waits \
                for what it sends waits for the answer.",
    from: "A moment at which the thread sent an answer to a request from before the recording; or a client that waited \
           for the rest of an answer.",
    because: "A request from before the recording shows only when it is answered, and after a part of an answer (a \
              report of progress) a thread seems to owe nothing. Each client has a thread of its own, which works on \
              nothing else until the last part.",
    unless: "The server answers several clients from one thread: those do not wait for threads in such calls.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=for_client asked=1 waker=9
            off 9 |ssssssssssss    | call=clock_nanosleep state=1
            asked 8 |  ==============| waker=9 awaits=part_of_answer",
        causes: "lock 12",
        chain: "thread 7: lock 12 < thread 9: sleep 10",
    },
};

/// Times in which each thread worked for a client, from the receipt of a request on.
type Work = FastMap<u32, Vec<(u64, u64)>>;

/// Waits for a thread while another client's thread had what both need are for a lock, as those of requests that were
/// seen to come.
pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let works = Works::of(index);
    if works.old.is_empty() && works.waited_for.is_empty() {
        return Vec::new();
    }
    let asleep = index.rows.iter().filter(|row| row.kind == StallKind::OffCpu && row.interruptible);
    let is_for_thread = |row: &Row| index.does(row, traits::WAITS_FOR_THREAD);
    let by_signal = |row: &Row| index.waker_stack(row).is_some_and(|waker| waker.signals);
    let concluded = |row: &Row| {
        let by_other_process = index.awaits(row) == Some(Awaits::Message) && by_signal(row);
        let for_thread = by_other_process || is_for_thread(row);
        Some((
            row.at,
            if for_thread { works.waits_for_thread(index, row) } else { works.waits_for_answer(index, row) }?,
        ))
    };
    asleep.filter_map(concluded).collect()
}

/// What threads worked on.
struct Works {
    /// Requests from before the recording.
    old: Work,
    /// Requests that were seen to come.
    seen: Work,
    /// Times in which clients waited for the rest of an answer.
    waited_for: Work,
}

impl Works {
    fn of(index: &RunIndex) -> Works {
        let is_old = |row: &Row| row.cut && index.awaits(row) == Some(Awaits::ForClient) && is_moment(index, row);
        let is_seen = |row: &Row| index.awaits(row) == Some(Awaits::Interrupt) && is_moment(index, row);
        Works { old: times(index, is_old), seen: times(index, is_seen), waited_for: waited_for(index) }
    }

    fn waits_for_thread(&self, index: &RunIndex, row: &Row) -> Option<Intent> {
        let mut intent = *index.intent(row);
        let asked_ns = receipt(&self.old, row.tid, row.runnable_ns).filter(|_| intent.since_ns.get().is_none());
        let is_of_request = matches!(intent.what, Some(Awaits::Work | Awaits::Interrupt | Awaits::Message));
        let is_found = asked_ns.is_some() && is_of_request;
        if is_found {
            (intent.since_ns, intent.what) = (asked_ns.into(), Some(Awaits::ForClient));
        }
        let works = |tid: u32| {
            let all = [&self.old, &self.seen, &self.waited_for];
            all.into_iter().any(|work| receipt(work, tid, row.runnable_ns).is_some())
        };
        let is_for_lock = intent.what == Some(Awaits::ForClient) && intent.whom.get().is_some_and(works);
        if is_for_lock {
            intent.what = Some(Awaits::Lock);
        }
        (is_found || is_for_lock).then_some(intent)
    }

    /// Who has waited since before the recording for what its server's thread sent as an answer is a client.
    fn waits_for_answer(&self, index: &RunIndex, row: &Row) -> Option<Intent> {
        let is_meant = row.cut && index.awaits(row) == Some(Awaits::Message) && !is_moment(index, row);
        let server = index.whom(row).filter(|_| is_meant)?;
        let asked_ns = receipt(&self.old, server, row.runnable_ns)?;
        Some(Intent { since_ns: Some(asked_ns).into(), what: Some(Awaits::Answer), ..*index.intent(row) })
    }
}

/// Whether it is no wait, but a moment at which its thread worked for a client.
fn is_moment(index: &RunIndex, row: &Row) -> bool {
    row.while_running && index.asked_ns(row).is_some()
}

fn times(index: &RunIndex, is_one: impl Fn(&Row) -> bool) -> Work {
    let mut times = Work::default();
    for row in index.rows.iter().filter(|row| is_one(row)) {
        let Some(asked_ns) = index.asked_ns(row) else { continue };
        times.entry(row.tid).or_default().push((asked_ns, row.end_ns));
    }
    times
}

/// Times in which clients waited for the rest of an answer, by the thread that sent it.
fn waited_for(index: &RunIndex) -> Work {
    let mut times = Work::default();
    let is_rest = |row: &&Row| row.kind == StallKind::ServerRequest && index.awaits(row) == Some(Awaits::PartOfAnswer);
    for row in index.rows.iter().filter(is_rest) {
        let server = index.whom(row).filter(|&server| server != 0);
        server.into_iter().for_each(|server| times.entry(server).or_default().push((row.start_ns, row.runnable_ns)));
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    times
}

/// When the request came that a thread worked on at a moment. Its times are in order, as its rows are.
fn receipt(work: &Work, tid: u32, at_ns: u64) -> Option<u64> {
    let times = work.get(&tid)?;
    let &(from_ns, _) = times.get(times.partition_point(|&(_, to_ns)| to_ns < at_ns))?;
    (from_ns <= at_ns).then_some(from_ns)
}
