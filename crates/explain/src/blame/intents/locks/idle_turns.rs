//! Servers whose threads or processes take turns at waiting for the next request, behind a lock: Apache's accept mutex,
//! pools that share a connection. A worker that waits for such a turn idles, as the one that has it does.

use std::collections::HashMap;

use model::stall::{Awaits, StallKind};

use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::times::joined;
use crate::blame::operations::Operation;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "waits-for-its-turn-to-idle",
    concludes: "A task that waits behind a lock for its turn to wait for a request idles.",
    from: "The task works on no request; the one that had the lock, and those of its name at other times, waited for a \
           message for at least half of the time.",
    because: "Servers let their threads or processes take turns at waiting for the next request (an accept mutex): a \
              worker that waits for its turn has no work.",
    unless: "The holder works on a request, or waits for a disk.",
    example: Example {
        timeline: "
            task 7 |n                   | pid=7 name=httpd
            task 8 |n                   | pid=8 name=httpd
            off 7 |sss                 | call=epoll_wait state=1 awaits=message waker=20
            call:fcntl 7 |   ============     |
            off 7 |   ssssssssssss     | call=fcntl state=1 lock=1 waker=8
            off 8 |  ssssssssssss      | call=epoll_wait state=1 awaits=message waker=20",
        causes: "",
        chain: "",
    },
};

/// Tasks that a wait is followed through, from each to the one whose turn was before.
const TURNS: usize = 64;

/// When tasks waited for messages that they did not ask for: of all of a name, in a call.
pub(crate) struct IdleTurns<'a> {
    index: &'a RunIndex,
    times: HashMap<(Name, Name), Vec<(u64, u64)>>,
}

impl<'a> IdleTurns<'a> {
    pub(crate) fn new(index: &'a RunIndex) -> IdleTurns<'a> {
        let mut times: HashMap<_, Vec<(u64, u64)>> = HashMap::new();
        for row in &index.rows {
            if let Some(call) = idle_call(index, row)
                && let Some(name) = index.tasks.name(row.tid, row.end_ns)
            {
                times.entry((name, call)).or_default().push((row.start_ns, row.end_ns));
            }
        }
        times.values_mut().for_each(|times| *times = joined(std::mem::take(times), 0));
        IdleTurns { index, times }
    }

    /// Whether an operation is a wait for such a turn: its task works on no request, and at other times does what the
    /// one before it did; tasks of that name waited for a request for at least half of the time.
    pub(crate) fn has(&self, operation: &Operation) -> bool {
        if !self.index.applies(&RULE) {
            return false;
        }
        let Some(wait) = longest_sleep(self.index, operation).filter(|row| is_for_turn(self.index, row)) else {
            return false;
        };
        self.call_of(wait).is_some_and(|call| self.idle_ns(wait, call) >= (wait.runnable_ns - wait.start_ns) / 2)
    }

    /// Where the recording does not hold who was before, what the task itself does tells.
    fn call_of(&self, wait: &Row) -> Option<Name> {
        let index = self.index;
        let own = || index.slice_of(wait.tid).0.iter().filter_map(|row| idle_call(index, row));
        let Some(waker) = index.waker(wait).filter(|_| !wait.cut) else { return own().next() };
        let pid = |tid| index.tasks.pid(tid, wait.runnable_ns);
        let is_thread = pid(waker).is_some() && pid(waker) == pid(wait.tid);
        call_before(index, wait, waker).filter(|&call| is_thread || own().any(|its| its == call))
    }

    fn idle_ns(&self, wait: &Row, call: Name) -> u64 {
        let name = self.index.tasks.name(wait.tid, wait.end_ns);
        let Some(times) = name.and_then(|name| self.times.get(&(name, call))) else { return 0 };
        let first = times.partition_point(|&(_, end_ns)| end_ns <= wait.start_ns);
        let inside = times[first..].iter().take_while(|&&(start_ns, _)| start_ns < wait.runnable_ns);
        inside.map(|&(start_ns, end_ns)| end_ns.min(wait.runnable_ns) - start_ns.max(wait.start_ns)).sum()
    }
}

fn longest_sleep<'a>(index: &'a RunIndex, operation: &Operation) -> Option<&'a Row> {
    let rows = index.rows_between(operation.tid, operation.start_ns, operation.end_ns).map(|(_, row)| row);
    let is_sleep = |row: &&Row| matches!(row.kind, StallKind::OffCpu | StallKind::Blocked);
    let sleeps = rows.filter(is_sleep).filter(|row| row.start_ns >= operation.start_ns);
    sleeps.max_by_key(|row| row.end_ns - row.start_ns)
}

/// A wait for a lock of user space, of a task that works on no request.
fn is_for_turn(index: &RunIndex, row: &Row) -> bool {
    row.interruptible
        && index.asked_ns(row).is_none()
        && (index.awaits(row) == Some(Awaits::Lock) || row.lock.get().is_some())
}

/// The call in which a task waits for a message that it did not ask for.
fn idle_call(index: &RunIndex, row: &Row) -> Option<Name> {
    row.call.filter(|_| row.kind == StallKind::OffCpu && index.awaits(row) == Some(Awaits::Message))
}

/// The call in which the task before waited for a message last, or one whose turn was before that one's.
fn call_before(index: &RunIndex, wait: &Row, waker: u32) -> Option<Name> {
    let (mut before, mut until_ns) = (waker, wait.runnable_ns);
    for _ in 0..TURNS {
        let rows = index.rows_between(before, wait.start_ns, until_ns).map(|(_, row)| row);
        let mut sleeps = rows.filter(|row| row.kind == StallKind::OffCpu && row.runnable_ns > row.start_ns);
        let last =
            sleeps.find(|row| idle_call(index, row).is_some() || is_for_turn(index, row) || !row.interruptible)?;
        if !is_for_turn(index, last) {
            return idle_call(index, last);
        }
        before = index.waker(last).filter(|&tid| tid != wait.tid)?;
        until_ns = last.runnable_ns.min(until_ns);
    }
    None
}
