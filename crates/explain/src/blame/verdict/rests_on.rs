//! Which rules an answer rests on.

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::{ANSWERED, HELD_BY_IO, RunIndex};
use crate::blame::facts::run_index::{answers, lock_turns};
use crate::blame::graph::path;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline, Via};
use crate::blame::intents::interruptions::choice;
use crate::blame::intents::interruptions::stops::children;
use crate::blame::intents::locks::{holder, newer_wakers};
use crate::blame::intents::requests::{not_received, starters};
use crate::blame::intents::workers::other_work;
use crate::blame::operations::Operation;
use crate::blame::rule::Rule;

/// Rules that were used, each once, in the order of their use.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<&'static Rule>);

impl Rules {
    /// Those that an operation's time rests on.
    pub(crate) fn of_time(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Rules {
        let mut rules = Rules(operation.known_by.into_iter().collect());
        let own = index.rows_between(operation.tid, operation.start_ns, operation.end_ns).map(|(at, _)| at);
        own.chain(operation.asynchronous).for_each(|at| rules.row(index, at));
        let mut last = (NO_ROW, NO_ROW);
        for segment in timeline.between(operation.start_ns, operation.end_ns) {
            if (segment.off, segment.by) != last {
                last = (segment.off, segment.by);
                // Its own rows are known.
                let is_others = |&at: &u32| at != NO_ROW && index.row(at).tid != operation.tid;
                [last.0, last.1].into_iter().filter(is_others).for_each(|at| rules.row(index, at));
            }
            rules.via(&segment);
        }
        rules
    }

    pub(crate) fn add(&mut self, rule: &'static Rule) {
        if !self.0.contains(&rule) {
            self.0.push(rule);
        }
    }

    /// What was concluded of a row.
    pub(crate) fn row(&mut self, index: &RunIndex, at: u32) {
        let row = index.row(at);
        if index.intents.of(at).is_some() {
            index.intents.rules_of(at).for_each(|rule| self.add(rule));
        }
        if index.is_answered(row) {
            self.add(&ANSWERED);
        }
        if index.is_unlocked_by_io(row) {
            self.add(&HELD_BY_IO);
        }
        if index.waker(row).is_some_and(|waker| newer_wakers::cannot_have_held(index, row, waker)) {
            self.add(&newer_wakers::RULE);
        }
        if children::stopped_child(index, row).is_some() {
            self.add(&children::RULE);
        }
        if other_work::is_left_out(index, row) {
            self.add(&other_work::RULE);
        }
        if let Some(waits) =
            Some(row).filter(|row| holder::is_for_lock(index, row)).and_then(|row| holder::circle(index, row))
        {
            self.add(&holder::CIRCLE);
            waits.iter().for_each(|wait| self.held(index, wait.at));
        }
    }

    /// Who held the lock that a row waited for.
    pub(crate) fn held(&mut self, index: &RunIndex, at: u32) {
        self.add(if holder::is_of_user_space(index, index.row(at)) {
            &holder::RELEASES_RULE
        } else {
            &lock_turns::RULE
        });
    }

    fn via(&mut self, segment: &Segment) {
        let Some(via) = segment.via.filter(|_| segment.cause != Cause::Unexplained) else { return };
        // Without it, there is no path.
        self.add(&path::WAKER);
        self.add(match via {
            Via::Waker => &path::WAKER,
            Via::NotReceived => &not_received::RULE,
            Via::Proxy => &answers::PROXY,
            Via::Starter => &starters::RULE,
            Via::Choice => &choice::RULE,
            Via::Holder => &path::HOLDER,
        });
    }

    pub(crate) fn into_vec(self) -> Vec<&'static Rule> {
        self.0
    }
}
