//! An answer does not rest on a rule that it does not name, and the task that is to blame for an operation was waited
//! for.

use std::collections::BTreeSet;

use explain::blame::{Stall, rules};

use crate::check::Case;
use crate::naive;

impl Case {
    /// A rule that nobody knows leaves the answer as it is, and a stall names only rules that there are.
    pub(crate) fn known_rules(&self) {
        let unchanged = Case::without(self.world.clone(), self.naming.clone(), "no-such-rule");
        assert_eq!(unchanged.explanation, self.explanation, "{}", self.world);
        for stall in &self.explanation.stalls {
            let is_known = |named: &str| rules().any(|rule| rule.id == named);
            assert!(stall.rules.iter().all(|rule| is_known(rule.id)), "{:?}", stall.rules);
        }
    }

    /// Without a rule, each stall that does not name it is the same. Perhaps it is not listed, as it is a part of one
    /// that the rule finds idle.
    pub(crate) fn named_rules(&self, rule: usize) {
        let rule = rules().nth(rule % rules().count()).expect("a rule");
        let without = Case::without(self.world.clone(), self.naming.clone(), rule.id);
        for stall in self.explanation.stalls.iter().filter(|stall| !stall.rules.contains(&rule)) {
            let key = |stall: &Stall| (stall.task.tid, stall.start_ns, stall.duration_ns, stall.operation.clone());
            let Some(other) = without.explanation.stalls.iter().find(|other| key(other) == key(stall)) else {
                continue;
            };
            let is_same = (&stall.causes, &stall.chain) == (&other.causes, &other.chain);
            let (operation, task) = (&stall.operation, self.naming.task(stall.task.tid));
            let steps = [stall, other].map(|stall| self.steps(&stall.chain));
            assert!(is_same, "{operation} of {task} without {}: {steps:?}\n{}", rule.id, self.world);
        }
    }

    /// The root blocker of an operation is on its chain, where that is of all that it lost; else on a path, or had a
    /// server do something else.
    pub(crate) fn root_blockers(&self) {
        let numbers: Vec<usize> = (0..self.accounting.len()).collect();
        let stalls = self.accounting.stalls(&numbers);
        for ((_, stall), culprit) in stalls.iter().zip(self.accounting.root_blockers(&numbers)) {
            let Some(blamed) = culprit.and_then(|culprit| culprit.task) else { continue };
            let blamed = self.naming.task(blamed.tid);
            let mut known = BTreeSet::from([self.naming.logger(), self.naming.hog()]);
            known.extend(stall.chain.iter().filter_map(|link| Some(self.naming.task(link.task.as_ref()?.tid))));
            let (task, (from, to)) = self.span(stall);
            for at in from..to {
                let by = naive::tick(&self.world, task, at).by;
                known.extend(naive::clients(&self.world, by, at));
                if !self.is_all_lost(stall) {
                    known.extend(naive::path(&self.world, task, at).into_iter().map(|(task, _)| task));
                }
            }
            let (operation, steps) = (&stall.operation, self.steps(&stall.chain));
            assert!(
                known.contains(&blamed),
                "{blamed} for {operation} of {task}, not {known:?}: {steps}\n{}",
                self.world
            );
        }
    }

    /// Whether a chain begins with all that an operation lost.
    fn is_all_lost(&self, stall: &Stall) -> bool {
        let (task, (from, to)) = self.span(stall);
        let is_lost = |at: &u64| self.world.wait(task, *at).is_some();
        let lost = (from..to).filter(is_lost).count() as u64;
        stall.chain.first().is_some_and(|link| self.ticks(link.time_ns) == lost)
    }
}
