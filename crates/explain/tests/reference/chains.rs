//! Chains, and what is behind each wait, lead to whom the truth leads.

use std::collections::BTreeMap;

use explain::blame::{Link, Stall};
use explain::waits::{Waiting, Waits};
use model::cause::Cause;

use crate::check::{Case, Ticks};
use crate::left_out;
use crate::naive;

impl Case {
    /// In a chain nothing lasts longer than what it explains, and each task waits for the next.
    pub(crate) fn chains(&self) {
        for stall in &self.explanation.stalls {
            let (task, span) = self.span(stall);
            for pair in stall.chain.windows(2) {
                let is_longer = pair[1].time_ns > pair[0].time_ns;
                assert!(!is_longer, "{} of {task}: {}\n{}", stall.operation, self.steps(&stall.chain), self.world);
                let tasks = [&pair[0], &pair[1]].map(|link| link.task.as_ref().map(|task| self.naming.task(task.tid)));
                let [Some(waits), Some(by)] = tasks else { continue };
                assert!(
                    self.is_for(waits, by, span),
                    "{waits} for {by} in {span:?}: {}\n{}",
                    self.steps(&stall.chain),
                    self.world
                );
            }
        }
    }

    pub(crate) fn first_chain(&self) -> String {
        self.steps(&self.explanation.stalls[0].chain)
    }

    pub(crate) fn steps(&self, chain: &[Link]) -> String {
        let step = |link: &Link| {
            let task = link.task.as_ref().map(|task| self.naming.task(task.tid));
            format!("{task:?} {} {}", link.cause.name(), self.ticks(link.time_ns))
        };
        chain.iter().map(step).collect::<Vec<_>>().join(" < ")
    }

    /// Whether a task waits for another one, perhaps through others.
    fn is_for(&self, task: usize, by: usize, (from, to): (u64, u64)) -> bool {
        let is_on_path = |at: u64| naive::path(&self.world, task, at).iter().any(|(of, _)| *of == by);
        by == self.naming.logger() || by == self.naming.hog() || (from..to).any(is_on_path)
    }

    /// What is behind each operation leads to the last tasks of the truth.
    pub(crate) fn graph(&self) {
        let waits = self.accounting.all_waits(&self.explanation);
        assert_eq!(waits.stands_for, 1);
        for waiting in &waits.operations {
            let stall = self.stall_of(waiting);
            let (task, span) = self.span(stall);
            if left_out::has_stolen_turns(&self.world, task, span) || left_out::has_lost_turns(&self.world, task, span)
            {
                continue;
            }
            let said = self.ends(&waits, waiting);
            assert_eq!(
                said,
                naive::ends(&self.world, task, span),
                "{} of {task} in {span:?}\n{}",
                stall.operation,
                self.world
            );
        }
    }

    pub(crate) fn stall_of(&self, waiting: &Waiting) -> &Stall {
        let is_it = |stall: &&Stall| {
            let (tid, start_ns, ns) = (stall.task.tid, stall.start_ns, stall.duration_ns);
            (tid, start_ns, ns) == (waiting.tid, waiting.start_ns, waiting.duration_ns())
        };
        self.explanation.stalls.iter().find(is_it).expect("a stall of that time")
    }

    fn ends(&self, waits: &Waits, waiting: &Waiting) -> Ticks<(usize, Cause)> {
        let mut ends = BTreeMap::new();
        for (path, ns) in &waiting.pieces {
            let last = waits.paths[*path as usize].last().expect("a step");
            *ends.entry((self.naming.task(last.tid), last.cause)).or_default() += self.ticks(*ns);
        }
        ends
    }
}
