//! Waits that a timer interrupts, and that go on.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::RETRY_NS;

pub(crate) const RULE: Rule = Rule {
    id: "interrupted-wait-goes-on",
    concludes: "A sleep that nobody ended, after which the task went on waiting for the same request, or for a child, \
                was for the task that ended the next one.",
    from: "Two sleeps of one thread for one request, or in one call for a child, right after each other; the first has \
           no waker.",
    because: "A server looks for deadlocks, or a client for its deadline, from time to time; a child that is stopped \
              interrupts its parent. It is one wait, and its end says what it was for.",
    unless: "Between the two the thread got what it waited for, and needed another thing: it was then woken.",
    example: Example {
        timeline: "
            off 7 | ssss           | call=epoll_wait awaits=for_client asked=1
            off 7 |     ssssss     | call=epoll_wait awaits=lock waker=9 asked=1
            off 9 | sssssssss      | stack=xfs_log_force",
        causes: "fs_log 9, lock 1",
        chain: "thread 7: fs_log 9 < thread 9: fs_log 9",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let mut found = Vec::new();
    let mut next: Option<(&Row, Intent)> = None;
    for row in index.rows.iter().rev().filter(|row| may_go_on(index, row)) {
        let mut intent = *index.intent(row);
        let goes_on = next.filter(|(later, its)| {
            (later.tid, its.since_ns) == (row.tid, intent.since_ns)
                && later.start_ns <= row.end_ns.saturating_add(RETRY_NS)
                && (intent.since_ns.get().is_some() || (later.call == row.call && its.what == Some(Awaits::Child)))
        });
        if let Some((_, its)) = goes_on.filter(|_| intent.whom.get().is_none_or(|waker| waker == 0)) {
            (intent.whom, intent.whom_stack, intent.what) = (its.whom, its.whom_stack, its.what);
            found.push((row.at, intent));
        }
        next = Some((row, intent));
    }
    found
}

/// Whether the rule says that a wait went on. Else a task that was woken got what it waited for: its next wait is
/// another one.
pub(crate) fn has_gone_on(index: &RunIndex, row: &Row) -> bool {
    index.intents.of(row.at).is_some() && index.intents.rules_of(row.at).any(|rule| *rule == RULE)
}

/// The last row of the wait that a row is a part of.
pub(crate) fn end_of(index: &RunIndex, at: u32) -> u32 {
    let tid = index.row(at).tid;
    let mut end = at;
    while has_gone_on(index, index.row(end)) {
        let later = index.rows[end as usize + 1..].iter().take_while(|row| row.tid == tid);
        let Some(next) = later.zip(end + 1..).find(|(row, _)| may_go_on(index, row)) else { break };
        end = next.1;
    }
    end
}

fn may_go_on(index: &RunIndex, row: &Row) -> bool {
    let is_asked = index.asked_ns(row).is_some() && index.awaits(row).is_some();
    row.kind == StallKind::OffCpu && (is_asked || is_for_child(index, row))
}

/// Whether it is a sleep in a call for a child, which a signal may have ended: it ends with nothing then, or is begun
/// again.
fn is_for_child(index: &RunIndex, row: &Row) -> bool {
    let is_of_child = matches!(index.awaits(row), Some(Awaits::Child | Awaits::Interrupt) | None);
    is_of_child && !row.is_stopped() && index.does(row, traits::WAITS_FOR_CHILD)
}
