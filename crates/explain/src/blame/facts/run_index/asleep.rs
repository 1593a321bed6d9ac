//! Why a task slept, by its row, its stack and its request.

use model::stall::{Awaits, RequestRecord, StallKind};

use super::RunIndex;
use crate::blame::facts::cause::{Cause, Evidence, is_hidden};
use crate::blame::facts::rows::Row;
use crate::blame::facts::storage::request;
use crate::thresholds::TRIES_WITHIN_NS;

impl RunIndex {
    /// Why a task slept at a moment of an off-CPU row that no span covers, as far as its sources were traced.
    pub(crate) fn asleep(&self, row: &Row, at_ns: u64) -> (Cause, Evidence) {
        match self.shown_asleep(row, at_ns) {
            (cause, evidence) if self.hides_disk && is_hidden(cause, evidence) => (Cause::Unexplained, Evidence::None),
            shown => shown,
        }
    }

    /// The same as its row, stack and request show it.
    pub(crate) fn shown_asleep(&self, row: &Row, at_ns: u64) -> (Cause, Evidence) {
        let rule = self.rule(row);
        // The kernel freezes a task in its sleep, and does not say when it would have been woken.
        if row.is_stopped() || self.waker_stack(row).is_some_and(|waker| waker.thaws) {
            return (Cause::Stopped, Evidence::Event);
        }
        let announced = self.announced(row);
        if let Some(announced) = announced.filter(|announced| !announced.on_request) {
            let frozen = rule.is_some_and(|rule| rule.cause == Cause::Frozen);
            let cause = if announced.cause == Cause::Lock && frozen { Cause::Frozen } else { announced.cause };
            return (cause, Evidence::Event);
        }
        if self.is_answered(row) {
            return (Cause::NetworkFs, Evidence::Stack);
        }
        if let Some(rule) = rule.filter(|rule| !rule.on_request) {
            return (rule.cause, Evidence::Stack);
        }
        match self.request(row) {
            Some(request) => {
                if let Some(cause) = request::cause_at(request, at_ns) {
                    return (cause, Evidence::Event);
                }
                if self.submits_flush(row, request) {
                    return (Cause::IoThrottle, Evidence::Stack);
                }
            }
            None if self.names_request(row) && !self.lacks_requests => return (Cause::Device, Evidence::Event),
            None => {}
        }
        self.without_request(row)
    }

    /// Whether a thread slept to the end of the recording for another one, and nothing says what for: of a server any
    /// thread may work on a request, and this one idles as well as not.
    pub(crate) fn may_idle(&self, row: &Row) -> bool {
        let is_known = row.kind != StallKind::Blocked || !row.interruptible || self.awaits(row).is_some();
        !is_known && self.stack(row.stack.get()).is_some_and(|stack| stack.on_thread)
    }

    /// Whether its task was refused the same again, before or after.
    pub(super) fn is_tried_again(&self, row: &Row) -> bool {
        let (from_ns, to_ns) =
            (row.start_ns.saturating_sub(TRIES_WITHIN_NS), row.end_ns.saturating_add(TRIES_WITHIN_NS));
        let is_one =
            |other: &Row| other.at != row.at && other.lock.get() == row.lock.get() && other.announced.is_some();
        row.unfinished || self.rows_between(row.tid, from_ns, to_ns).any(|(_, other)| is_one(other))
    }

    /// Whether a poll saw a task that the tracer had seen stopped, or frozen, throughout: that says with which cgroup.
    pub(crate) fn is_poll_of_stop(&self, row: &Row) -> bool {
        let is_whole = |other: &Row| {
            let spans = other.start_ns <= row.start_ns && row.end_ns <= other.end_ns;
            other.kind == StallKind::Blocked && other.switched && other.is_stopped() && spans
        };
        let is_poll = row.kind == StallKind::Blocked && !row.switched;
        is_poll && self.rows_between(row.tid, row.start_ns, row.end_ns).any(|(_, other)| is_whole(other))
    }

    /// Whether a task sleeps until a flush completes that it submitted itself: nothing but a limit keeps it from being
    /// queued.
    pub(super) fn submits_flush(&self, row: &Row, request: &RequestRecord) -> bool {
        self.stack(row.stack.get()).is_some_and(|stack| stack.submitted) && request::begins_with_flush(request)
    }

    /// Whether it is known to be for the task that opens the other end of a FIFO.
    fn opens_fifo(&self, row: &Row) -> bool {
        self.awaits(row) == Some(Awaits::Room) && self.stack(row.stack.get()).is_some_and(|stack| stack.opens_fifo)
    }

    /// The same where its request is unknown.
    fn without_request(&self, row: &Row) -> (Cause, Evidence) {
        match (self.announced(row), self.rule(row)) {
            (Some(_), _) | (_, Some(_)) if self.intent(row).for_limit => (Cause::IoThrottle, Evidence::Correlation),
            (Some(announced), _) => (self.or_mapper(row, announced.cause), Evidence::Event),
            (None, Some(rule)) => (self.or_mapper(row, rule.cause), Evidence::Stack),
            // The call does not show it: a semaphore, or a poll.
            (None, None) if self.awaits(row) == Some(Awaits::Lock) => (Cause::Lock, Evidence::Event),
            (None, None) if self.opens_fifo(row) => (Cause::Peer, Evidence::Stack),
            (None, None) => (Cause::Unexplained, Evidence::None),
        }
    }
}
