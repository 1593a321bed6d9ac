//! All that is said of a run agrees, in whichever order its rows come and whatever its tasks are called.

use std::collections::BTreeSet;

use explain::blame::{Culprit, Stall, TaskId};
use explain::waits::Step;
use model::cause::Cause;

use crate::check::Case;

impl Case {
    /// The order of rows does not matter.
    pub(crate) fn order(self, seed: u64) {
        let Case { world, naming, explanation, accounting, .. } = self;
        let shuffled = Case::of_rows(world, naming, |rows| rows.shuffle(seed));
        let waits = [&shuffled.accounting, &accounting].map(|of| of.all_waits(&explanation));
        assert_eq!(waits[0], waits[1], "{}", shuffled.world);
        assert_eq!(shuffled.explanation, explanation, "{}", shuffled.world);
    }

    /// Other ids and names of tasks change nothing but these.
    pub(crate) fn naming(&self, seed: u64) {
        let renamed = Case::of_rows(self.world.clone(), self.naming.renamed(seed), |_| {});
        assert_eq!(renamed.outline(), self.outline(), "{}", self.world);
    }

    /// All that is said of tasks, with their numbers in the world.
    fn outline(&self) -> (Vec<String>, Vec<String>) {
        let task = |task: Option<&TaskId>| task.map(|task| self.naming.task(task.tid));
        let of_stall = |stall: &Stall| {
            let causes: Vec<(Cause, u64)> = stall.causes.iter().map(|time| (time.cause, time.time_ns)).collect();
            let (of, start_ns) = (task(Some(&stall.task)), stall.start_ns);
            format!("{of:?} {} {start_ns} {causes:?} {}", stall.operation, self.steps(&stall.chain))
        };
        let of_culprit = |culprit: &Culprit| {
            let mut victims: Vec<_> = culprit.victims.iter().map(|(victim, ns)| (task(Some(victim)), ns)).collect();
            victims.sort_unstable();
            let Culprit { cause, device, time_ns, own_ns, .. } = culprit;
            format!("{:?} {cause:?} {device:?} {time_ns} {own_ns} {victims:?}", task(culprit.task.as_ref()))
        };
        let mut stalls: Vec<String> = self.explanation.stalls.iter().map(of_stall).collect();
        let mut culprits: Vec<String> = self.explanation.culprits.iter().map(of_culprit).collect();
        stalls.sort_unstable();
        culprits.sort_unstable();
        (stalls, culprits)
    }

    /// Of the task that had the lock that an operation waited for, its chain, its culprits and the waits behind it say
    /// the same, where the latter know of one task alone.
    pub(crate) fn holders(&self) {
        let by_class = self.accounting.culprits_by_class();
        let waits = self.accounting.all_waits(&self.explanation);
        for waiting in &waits.operations {
            let stall = self.stall_of(waiting);
            let holders: BTreeSet<u32> =
                waiting.pieces.iter().filter_map(|(path, _)| last_holder(&waits.paths[*path as usize])).collect();
            let mut holder = holders.iter();
            let (Some(holder), None) = (holder.next(), holder.next()) else { continue };
            let tid = |task: Option<&TaskId>| task.map(|task| task.tid);
            if stall.chain.first().is_some_and(|link| link.cause == Cause::Lock) {
                let held = stall.chain.iter().rfind(|link| link.holds.is_some());
                assert_eq!(held.and_then(|link| tid(link.task.as_ref())), Some(*holder), "{}", self.world);
            }
            let culprits = by_class.get(&stall.operation).into_iter().flatten();
            // Of other classes there may be several operations.
            let of_lock =
                culprits.filter(|culprit| culprit.cause == Cause::Lock && stall.operation.starts_with("act-"));
            for culprit in of_lock {
                assert_eq!(tid(culprit.task.as_ref()), Some(*holder), "{} {}", stall.operation, self.world);
            }
        }
    }
}

/// Who had the last lock of a path that begins with one.
fn last_holder(path: &[Step]) -> Option<u32> {
    let last = path.iter().rposition(|step| step.cause == Cause::Lock).filter(|_| path[0].cause == Cause::Lock)?;
    path.get(last + 1).map(|step| step.tid)
}
