//! What the sleep of a row was for.

use model::stall::{Awaits, RequestRecord, StallKind};

use super::RunIndex;
use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::stacks::Stack;
use crate::blame::rule::Rule;

impl RunIndex {
    /// As a rule concluded it, else as the tracer noted it.
    pub(crate) fn intent<'a>(&'a self, row: &'a Row) -> &'a Intent {
        self.intents.of(row.at).unwrap_or(&row.noted)
    }

    /// Whether a rule is not left out.
    pub(crate) fn applies(&self, rule: &Rule) -> bool {
        self.without.is_none_or(|id| id != rule.id)
    }

    /// A rule found out of these rows what they were for.
    pub(crate) fn conclude(&mut self, rule: &'static Rule, found: Vec<(u32, Intent)>) {
        if !found.is_empty() {
            self.intents.conclude(rule, found);
            self.woken.take();
        }
    }

    /// What it was for.
    pub(crate) fn awaits(&self, row: &Row) -> Option<Awaits> {
        self.intent(row).what
    }

    /// When the request was sent whose answer it awaits, or received that it works on.
    pub(crate) fn asked_ns(&self, row: &Row) -> Option<u64> {
        self.intent(row).since_ns.get()
    }

    /// The thread that is noted to have woken it; 0: none, and any for an interrupt ([`RunIndex::waker`]).
    pub(crate) fn whom(&self, row: &Row) -> Option<u32> {
        self.intent(row).whom.get()
    }

    /// Where that thread was.
    pub(crate) fn waker_stack(&self, row: &Row) -> Option<&Stack> {
        self.stack(self.intent(row).whom_stack.get())
    }

    /// The other task that woke it; `None` where an interrupt or nobody known did.
    pub(crate) fn waker(&self, row: &Row) -> Option<u32> {
        let intent = self.intent(row);
        // What a task sends to its own machine arrives by a soft interrupt; the tracer notes whose it is.
        let by_interrupt =
            || intent.what.is_none() && self.stack(intent.whom_stack.get()).is_some_and(|stack| stack.interrupt);
        intent.whom.get().filter(|&tid| tid != 0 && tid != row.tid && !by_interrupt())
    }

    /// Whether a row is a sleep that only another task ends.
    pub(crate) fn awaits_task(&self, row: &Row) -> bool {
        let on_thread = || self.stack(row.stack.get()).is_some_and(|stack| stack.on_thread);
        row.kind == StallKind::OffCpu && (self.awaits(row).is_some() || on_thread())
    }

    /// Whether a request ended it, known or not.
    pub(crate) fn names_request(&self, row: &Row) -> bool {
        row.request.get().is_some() && !self.intent(row).not_for_request
    }

    /// The request that ended it.
    pub(crate) fn request(&self, row: &Row) -> Option<&RequestRecord> {
        self.requests.at(row.request_at.get()?).filter(|_| self.names_request(row))
    }
}
