//! Compares what `explain` says of a world with the reference.

use std::collections::{BTreeMap, BTreeSet};

use explain::blame::{Accounting, CauseTime, Culprit, Explanation, Link, Stall, Who};
use explain::waits::{Waiting, Waits};
use model::cause::Cause;

use crate::naive::{self, Blamed};
use crate::plan::Plan;
use crate::rows::{Naming, Rows, TICK_NS, rows, tick};
use crate::world::{Wait, World, play};

/// A world, what it is called, and what is said of it.
pub(crate) struct Case {
    world: World,
    naming: Naming,
    explanation: Explanation,
    accounting: Accounting,
    /// Nothing is left out of what is known to be wrong.
    is_strict: bool,
}

type Ticks<K> = BTreeMap<K, u64>;

fn ticks(ns: u64) -> u64 {
    assert_eq!(ns % TICK_NS, 0, "a part of a tick: {ns}");
    ns / TICK_NS
}

fn sum<'a>(causes: impl IntoIterator<Item = &'a CauseTime>) -> u64 {
    causes.into_iter().inspect(|time| assert_eq!(time.evidence.total_ns(), time.time_ns)).map(|time| time.time_ns).sum()
}

impl Case {
    pub(crate) fn of(plan: &Plan) -> Case {
        let world = play(plan);
        let naming = Naming::plain(&world);
        Case::of_rows(world, naming, |_| {})
    }

    fn of_rows(world: World, naming: Naming, change: impl FnOnce(&mut Rows)) -> Case {
        let mut rows = rows(&world, &naming);
        change(&mut rows);
        let (explanation, accounting) = rows.explain();
        Case { world, naming, explanation, accounting, is_strict: false }
    }

    /// Also compares what `found` has as wrong.
    pub(crate) fn strictly(plan: &Plan) -> Case {
        Case { is_strict: true, ..Case::of(plan) }
    }

    fn hops_late(&self, (task, span): (usize, (u64, u64)), deep: bool) -> bool {
        !self.is_strict && naive::hops_late_within(&self.world, task, span, deep)
    }

    fn has_old_locks(&self, (task, span): (usize, (u64, u64))) -> bool {
        !self.is_strict && naive::has_old_locks(&self.world, task, span)
    }

    fn span(&self, stall: &Stall) -> (usize, (u64, u64)) {
        let task = self.naming.task(stall.task.tid);
        (task, (tick(stall.start_ns), tick(stall.start_ns + stall.duration_ns)))
    }

    /// The causes of each stall are those of the reference, tick by tick.
    pub(crate) fn shares(&self) {
        for stall in &self.explanation.stalls {
            let (task, span) = self.span(stall);
            if self.hops_late((task, span), false) {
                continue;
            }
            let said: Ticks<Cause> = stall.causes.iter().map(|time| (time.cause, ticks(time.time_ns))).collect();
            assert_eq!(
                said,
                naive::shares(&self.world, task, span),
                "{} of {task} in {span:?}\n{}",
                stall.operation,
                self.world
            );
        }
    }

    /// The order of rows does not matter.
    pub(crate) fn order(self, seed: u64) {
        let Case { world, naming, explanation, accounting, .. } = self;
        let shuffled = Case::of_rows(world, naming, |rows| rows.shuffle(seed));
        let waits = [&shuffled.accounting, &accounting].map(|of| of.all_waits(&explanation));
        assert_eq!(waits[0], waits[1], "{}", shuffled.world);
        let outlines = [&shuffled.explanation, &explanation].map(|of| shuffled.without_ties(of.clone()));
        assert_eq!(outlines[0], outlines[1], "{}", shuffled.world);
    }

    /// Without chains of which chance decides to whom they lead: see `found`.
    fn without_ties(&self, mut explanation: Explanation) -> Explanation {
        for stall in explanation.stalls.iter_mut().filter(|_| !self.is_strict) {
            let (task, span) = self.span(stall);
            let mut others: Vec<u64> = naive::ran_for(&self.world, task, span).into_values().collect();
            others.sort_unstable();
            let is_tie = others.len() > 1 && others[others.len() - 2] == others[others.len() - 1];
            if is_tie || self.hops_late((task, span), false) {
                stall.chain.clear();
            }
        }
        explanation
    }

    /// Other ids and names of tasks change nothing but these.
    pub(crate) fn naming(&self, seed: u64) {
        let renamed = Case::of_rows(self.world.clone(), self.naming.renamed(seed), |_| {});
        assert_eq!(renamed.outline(), self.outline(), "{}", self.world);
    }

    /// All that is said of tasks, with their numbers in the world.
    fn outline(&self) -> (Vec<String>, Vec<String>) {
        let task = |who: Option<&Who>| who.map(|who| self.naming.task(who.tid));
        let of_stall = |stall: &Stall| {
            let causes: Vec<(Cause, u64)> = stall.causes.iter().map(|time| (time.cause, time.time_ns)).collect();
            let (of, start_ns) = (task(Some(&stall.task)), stall.start_ns);
            format!("{of:?} {} {start_ns} {causes:?} {}", stall.operation, self.steps(&stall.chain))
        };
        let of_culprit = |culprit: &Culprit| {
            let mut victims: Vec<_> = culprit.victims.iter().map(|(who, ns)| (task(Some(who)), ns)).collect();
            victims.sort_unstable();
            let Culprit { cause, device, time_ns, own_ns, .. } = culprit;
            format!("{:?} {cause:?} {device:?} {time_ns} {own_ns} {victims:?}", task(culprit.task.as_ref()))
        };
        let explanation = self.without_ties(self.explanation.clone());
        let mut stalls: Vec<String> = explanation.stalls.iter().map(of_stall).collect();
        let mut culprits: Vec<String> = self.explanation.culprits.iter().map(of_culprit).collect();
        stalls.sort_unstable();
        culprits.sort_unstable();
        (stalls, culprits)
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

    /// Of each class, culprits have all that was lost, each as much as the truth allows.
    pub(crate) fn culprits(&self) {
        for (class, culprits) in self.accounting.culprits_by_class() {
            let spans: Vec<(usize, (u64, u64))> = self.of_class(&class).map(|stall| self.span(stall)).collect();
            if spans.iter().any(|of| self.hops_late(*of, true)) {
                continue;
            }
            let lost = Lost::of(&self.world, spans, self.is_strict);
            let mut said: Ticks<Cause> = BTreeMap::new();
            let mut by: Ticks<(Cause, Blamed)> = BTreeMap::new();
            for culprit in &culprits {
                *said.entry(culprit.cause).or_default() += ticks(culprit.time_ns);
                *by.entry((culprit.cause, self.blamed(culprit))).or_default() += ticks(culprit.time_ns);
                let victims: u64 = culprit.victims.iter().map(|(_, ns)| ns).sum();
                let are_all = culprit.victims.len() as u64 == culprit.victims_count;
                assert!(victims <= culprit.time_ns && (victims == culprit.time_ns || !are_all), "{culprit:?}");
            }
            for key in lost.perhaps.keys().chain(by.keys()) {
                let [said, surely, perhaps] =
                    [&by, &lost.surely, &lost.perhaps].map(|of| of.get(key).copied().unwrap_or(0));
                assert!(
                    (surely..=perhaps).contains(&said),
                    "{class}: {key:?} has {said}, of {surely} to {perhaps}\n{}",
                    self.world
                );
            }
            assert_eq!(said, lost.all, "{class}\n{}", self.world);
        }
    }

    fn of_class(&self, class: &str) -> impl Iterator<Item = &Stall> {
        self.explanation.stalls.iter().filter(move |stall| stall.operation == class)
    }

    fn blamed(&self, culprit: &Culprit) -> Blamed {
        let task = culprit.task.as_ref().map(|who| self.naming.task(who.tid));
        match task.expect("a culprit") {
            logger if logger == self.naming.logger() => Blamed::Logger,
            hog if hog == self.naming.hog() => Blamed::Hog,
            task => Blamed::Task(task),
        }
    }

    /// In a chain nothing lasts longer than what it explains, and each task waits for the next.
    pub(crate) fn chains(&self) {
        for stall in &self.explanation.stalls {
            let (task, span) = self.span(stall);
            if self.hops_late((task, span), true) || self.has_old_locks((task, span)) {
                continue;
            }
            for pair in stall.chain.windows(2) {
                let is_longer = pair[1].time_ns > pair[0].time_ns && (self.is_strict || self.is_whole(&pair[0], span));
                assert!(!is_longer, "{} of {task}: {}\n{}", stall.operation, self.steps(&stall.chain), self.world);
                let tasks = [&pair[0], &pair[1]].map(|link| link.task.as_ref().map(|who| self.naming.task(who.tid)));
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

    /// Whether a step is a whole wait of its task, whichever of those of its cause it is.
    fn is_whole(&self, link: &Link, (from, to): (u64, u64)) -> bool {
        let task = link.task.as_ref().map(|who| self.naming.task(who.tid));
        let waits = task.and_then(|task| self.world.lives.get(task)).map_or(&[][..], |life| &life.waits);
        let of_time = waits.iter().filter(|wait| wait.start < to && from < wait.end);
        let of_cause: Vec<_> = of_time.filter(|wait| naive::may_cause(wait, link.cause)).collect();
        let is_it =
            |wait: &&Wait| !naive::leads_on(&self.world, wait) && wait.woken - wait.start == ticks(link.time_ns);
        !of_cause.is_empty() && of_cause.iter().all(is_it)
    }

    pub(crate) fn first_chain(&self) -> String {
        self.steps(&self.explanation.stalls[0].chain)
    }

    fn steps(&self, chain: &[Link]) -> String {
        let step = |link: &Link| {
            let task = link.task.as_ref().map(|who| self.naming.task(who.tid));
            format!("{task:?} {} {}", link.cause.name(), ticks(link.time_ns))
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
            let is_it = |stall: &&Stall| {
                let (tid, start_ns, ns) = (stall.task.tid, stall.start_ns, stall.duration_ns);
                (tid, start_ns, ns) == (waiting.tid, waiting.start_ns, waiting.duration_ns())
            };
            let stall = self.explanation.stalls.iter().find(is_it).expect("a stall of that time");
            let (task, span) = self.span(stall);
            if self.hops_late((task, span), true) {
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

    fn ends(&self, waits: &Waits, waiting: &Waiting) -> Ticks<(usize, Cause)> {
        let mut ends = BTreeMap::new();
        for (path, ns) in &waiting.pieces {
            let last = waits.paths[*path as usize].last().expect("a step");
            *ends.entry((self.naming.task(last.tid), last.cause)).or_default() += ticks(*ns);
        }
        ends
    }
}

/// What operations lost: by cause, and by whom.
#[derive(Debug, Default)]
struct Lost {
    all: Ticks<Cause>,
    surely: Ticks<(Cause, Blamed)>,
    perhaps: Ticks<(Cause, Blamed)>,
}

impl Lost {
    fn of(world: &World, spans: Vec<(usize, (u64, u64))>, is_strict: bool) -> Lost {
        let mut lost = Lost::default();
        for (task, (from, to)) in spans {
            for at in from..to {
                let blamed: BTreeSet<Blamed> = naive::blamed(world, task, at, is_strict);
                if blamed.is_empty() {
                    continue;
                }
                let cause = naive::tick(world, task, at).cause;
                *lost.all.entry(cause).or_default() += 1;
                for one in &blamed {
                    *lost.perhaps.entry((cause, *one)).or_default() += 1;
                    *lost.surely.entry((cause, *one)).or_default() += u64::from(blamed.len() == 1);
                }
            }
        }
        lost
    }
}
