//! Culprits have what was lost, and no more than the truth allows.

use std::collections::{BTreeMap, BTreeSet};

use explain::blame::{Culprit, Stall};
use model::cause::{Cause, traits};

use crate::check::{Case, Ticks};
use crate::naive::{self, Blamed};
use crate::world::World;

impl Case {
    /// Of each class, culprits have all that was lost, each as much as the truth allows.
    pub(crate) fn culprits(&self) {
        for (class, culprits) in self.accounting.culprits_by_class() {
            let spans: Vec<(usize, (u64, u64))> = self.of_class(&class).map(|stall| self.span(stall)).collect();
            let lost = Lost::of(&self.world, spans);
            let mut said: Ticks<Cause> = BTreeMap::new();
            let mut by: Ticks<(Cause, Blamed)> = BTreeMap::new();
            for culprit in &culprits {
                *said.entry(culprit.cause).or_default() += self.ticks(culprit.time_ns);
                *by.entry((culprit.cause, self.blamed(culprit))).or_default() += self.ticks(culprit.time_ns);
                let victims: u64 = culprit.victims.iter().map(|(_, ns)| ns).sum();
                let are_all = culprit.victims.len() as u64 == culprit.victims_count;
                assert!(victims <= culprit.time_ns && (victims == culprit.time_ns || !are_all), "{culprit:?}");
            }
            for key in lost.perhaps.keys().chain(by.keys()) {
                let [said, surely, perhaps] =
                    [&by, &lost.surely, &lost.perhaps].map(|of| of.get(key).copied().unwrap_or(0));
                assert!(
                    (surely..=perhaps).contains(&said),
                    "{class}: {key:?} has {said}, of {surely} to {perhaps}: {by:?}\n{}",
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
        let Some(task) = &culprit.task else { return Blamed::Nobody };
        match self.naming.task(task.tid) {
            logger if logger == self.naming.logger() => Blamed::Logger,
            hog if hog == self.naming.hog() => Blamed::Hog,
            task => Blamed::Task(task),
        }
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
    fn of(world: &World, spans: Vec<(usize, (u64, u64))>) -> Lost {
        let mut lost = Lost::default();
        for (task, (from, to)) in spans {
            let start = |task: usize, at: u64| world.wait(task, at).map(|wait| wait.start);
            let mut last = None;
            for at in from..to {
                let tick = naive::tick(world, task, at);
                // All ticks of one wait for a lock or journal have the same culprits, and these are searched through
                // all of it.
                let key = (tick, start(task, at), start(tick.mutex.unwrap_or(tick.by), at));
                let known = last.filter(|(of, _)| *of == key && tick.cause.has(traits::SHARED));
                let blamed = known.map_or_else(|| naive::blamed(world, task, at), |(_, blamed)| blamed);
                lost.add(tick.cause, &blamed);
                last = Some((key, blamed));
            }
        }
        lost
    }

    fn add(&mut self, cause: Cause, blamed: &BTreeSet<Blamed>) {
        *self.all.entry(cause).or_default() += u64::from(!blamed.is_empty());
        for one in blamed {
            *self.perhaps.entry((cause, *one)).or_default() += 1;
            *self.surely.entry((cause, *one)).or_default() += u64::from(blamed.len() == 1);
        }
        self.all.retain(|_, ticks| *ticks > 0);
    }
}
