//! What `explain` says of a world. Its shares are those of the reference, and its books close.

use std::collections::BTreeMap;

use explain::blame::{Accounting, CauseTime, Explanation, Stall};
use model::cause::Cause;

use crate::naive;
use crate::plan::{Plan, Subject};
use crate::rows::{Naming, Rows, SLOW, rows};
use crate::simulation::simulate;
use crate::world::World;

/// A world, what it is called, and what is said of it.
pub(crate) struct Case {
    pub(crate) world: World,
    pub(crate) naming: Naming,
    pub(crate) explanation: Explanation,
    pub(crate) accounting: Accounting,
}

pub(crate) type Ticks<K> = BTreeMap<K, u64>;

fn sum<'a>(causes: impl IntoIterator<Item = &'a CauseTime>) -> u64 {
    causes.into_iter().inspect(|time| assert_eq!(time.evidence.total_ns(), time.time_ns)).map(|time| time.time_ns).sum()
}

impl Case {
    pub(crate) fn of(plan: &Plan) -> Case {
        let world = simulate(plan);
        let naming = Naming::plain(&world);
        Case::of_rows(world, naming, |_| {})
    }

    pub(crate) fn of_rows(world: World, naming: Naming, change: impl FnOnce(&mut Rows)) -> Case {
        let mut rows = rows(&world, &naming);
        change(&mut rows);
        let (explanation, accounting) = rows.explain();
        Case { world, naming, explanation, accounting }
    }

    pub(crate) fn without(world: World, naming: Naming, rule: &'static str) -> Case {
        Case::of_rows(world, naming, |rows| rows.without = Some(rule))
    }

    fn tick(&self, at_ns: u64) -> u64 {
        self.world.clock.tick(at_ns)
    }

    pub(crate) fn ticks(&self, ns: u64) -> u64 {
        self.world.clock.ticks(ns)
    }

    pub(crate) fn span(&self, stall: &Stall) -> (usize, (u64, u64)) {
        let task = self.naming.task(stall.task.tid);
        (task, (self.tick(stall.start_ns), self.tick(stall.start_ns + stall.duration_ns)))
    }

    /// The causes of each stall are those of the reference, tick by tick.
    pub(crate) fn shares(&self) {
        for stall in &self.explanation.stalls {
            let (task, span) = self.span(stall);
            let said: Ticks<Cause> = stall.causes.iter().map(|time| (time.cause, self.ticks(time.time_ns))).collect();
            assert_eq!(
                said,
                naive::shares(&self.world, task, span),
                "{} of {task} in {span:?}\n{}",
                stall.operation,
                self.world
            );
        }
    }

    /// Each moment of an operation has its cause in the reference.
    pub(crate) fn moments(&self) {
        self.accounting.for_each(|of| {
            let task = self.naming.task(of.tid);
            let mut now = self.tick(of.start_ns);
            for piece in of.pieces {
                assert_eq!(self.tick(piece.start_ns), now, "a gap in {task}\n{}", self.world);
                for at in now..self.tick(piece.end_ns) {
                    let cause = naive::tick(&self.world, task, at).cause;
                    assert_eq!(piece.cause, cause, "{at} of {task}\n{}", self.world);
                }
                now = self.tick(piece.end_ns);
            }
            assert_eq!(now, self.tick(of.start_ns + of.duration_ns), "the end of {task}\n{}", self.world);
        });
    }

    /// Of a part of the run, what is in it has the same causes.
    pub(crate) fn part(self, (from, to): (u64, u64)) {
        let part = Case::of_rows(self.world, self.naming, |rows| rows.window = Some((from, from + to)));
        part.shares();
        part.books();
        part.moments();
    }

    /// No slow act of the subject is missing, nor a slow wait for a server or a mutex. No two operations of a task
    /// overlap, but for requests.
    pub(crate) fn list(&self) {
        let stalls: Vec<(usize, (u64, u64))> = self.explanation.stalls.iter().map(|stall| self.span(stall)).collect();
        let is_listed = |task: usize, (start, end): (u64, u64)| {
            stalls.iter().any(|(of, (from, to))| *of == task && *from <= start && end <= *to)
        };
        for (task, life) in self.world.lives[..self.world.clients].iter().enumerate() {
            let acts = life.acts.iter().filter(|act| act.is_call || self.world.subject == Subject::Load);
            let acts = acts.map(|act| (act.start, act.end));
            let waits = life.waits.iter().filter(|wait| naive::leads_on(&self.world, wait));
            for span in acts.chain(waits.map(|wait| (wait.start, wait.end))).filter(|(start, end)| end - start >= SLOW)
            {
                assert!(is_listed(task, span), "{span:?} of {task} is not in {stalls:?}\n{}", self.world);
            }
        }
        let mut synchronous: Vec<(usize, (u64, u64))> = self
            .explanation
            .stalls
            .iter()
            .filter(|stall| stall.operation != "server_request")
            .map(|stall| self.span(stall))
            .collect();
        synchronous.sort_unstable();
        for pair in synchronous.windows(2) {
            assert!(pair[0].0 != pair[1].0 || pair[0].1.1 <= pair[1].1.0, "{pair:?}\n{}", self.world);
        }
    }

    /// Causes sum exactly to the durations, of each stall, each class and all.
    pub(crate) fn books(&self) {
        let explanation = &self.explanation;
        assert_eq!(explanation.stalls.len() as u64, explanation.slow_operations);
        for stall in &explanation.stalls {
            assert_eq!(stall.causes.iter().map(|cause| cause.time_ns).sum::<u64>(), stall.duration_ns);
        }
        let wall_ns: u64 = explanation.stalls.iter().map(|stall| stall.duration_ns).sum();
        assert_eq!((explanation.wall_ns, sum(&explanation.causes)), (wall_ns, wall_ns));
        assert_eq!(explanation.classes.iter().map(|class| class.wall_ns).sum::<u64>(), wall_ns);
        for class in &explanation.classes {
            assert_eq!(sum(&class.causes), class.wall_ns);
        }
        for cause in Cause::ALL {
            let of =
                |stall: &Stall| stall.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.time_ns);
            assert_eq!(explanation.stalls.iter().map(of).sum::<u64>(), explanation.time_ns(cause), "{cause:?}");
        }
    }
}
