//! Which remedies fit a run, and what each would bring.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::container::Containers;
use model::effect::Edge;
use model::run::RunDescription;
use model::wait_kind::WaitKind;
use remedy::{Remedies, Remedy, Target};

use absences::{absences, concerned};
use place::{Place, most_stalled_cgroup};

use super::change::{Absence, Change};
use super::latency::{Prediction, SlowLatencies, predict_from, recorded};
use super::memory::{change, limit_of};
use crate::blame::{ClassTimes, Explanation};
use crate::threads::map;
use crate::waits::{Behind, IoLimit, Waits, behind};

mod absences;
mod asked;
mod place;
#[cfg(test)]
mod tests;

/// Remedies must save at least this share of the time to be named.
const LEAST: f64 = 0.01;
/// What the absence of a culprit counts for in the order: its work is wanted, too.
const ABSENCE: f64 = 0.9;
/// What a bound counts for in the order: a little that is certain comes before what may help, but not before a lot that
/// may.
const BOUND: f64 = 0.25;
/// The same of what one program does, computes or holds: that it causes the waits is certain, only how much less of it
/// is possible is not.
const OF_PROGRAM: f64 = 0.5;

/// What a bound counts for beside others that says where to look rather than what to change.
const VAGUE: f64 = 0.5;

/// What it counts for to have more of what is scarce, such as a faster disk: that helps, and costs. What the time went
/// to comes first, if to change that saves two thirds as much.
const MORE: f64 = 0.6;

/// Part of all time that others must have lost beside a program whose own operations are among the slow ones.
const OTHERS: f64 = 0.05;

/// What would help, the most helpful first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advice {
    /// It is against the shorter waits of the recorded command, which cost it more than its slow operations.
    pub of_short_waits: bool,
    /// The slow operations as recorded.
    pub recorded: SlowLatencies,
    /// What is behind their waits, the most time first.
    pub behind: Vec<Behind>,
    /// Limits on disks that delayed them.
    pub limits: Vec<KnownLimit>,
    /// Whether the memory limits of the cgroups that waited are unknown, where memory or what is read again may matter.
    pub memory_limit_is_unknown: bool,
    /// Names of containers.
    pub containers: Containers,
    /// What can be changed, in the order in which it is advised ([`Choice::rank`]). Remedies with the same effect are
    /// one choice.
    pub choices: Vec<Choice>,
}

/// A limit on a disk that delayed operations, and of which the rate is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLimit {
    /// The disk.
    pub device: DeviceNumber,
    /// It is on reads, not on writes.
    pub reads: bool,
    /// Bytes per second; `None`: any number.
    pub bytes_per_s: Option<u64>,
    /// Requests per second; `None`: any number.
    pub per_s: Option<u64>,
    /// The rate is what it let pass.
    pub is_estimated: bool,
}

/// Something to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The change.
    pub change: Change,
    /// Remedies that bring it, those of a known effect and those that can be tried live first; empty for an absent
    /// culprit.
    pub remedies: Vec<Remedy>,
    /// What they are applied to.
    pub target: Target,
    /// What the slow operations would have taken.
    pub prediction: Prediction,
    /// What all slow operations took, ns: those of an absent program, too.
    pub of_ns: u64,
}

impl Choice {
    /// Whether the prediction is a bound for every remedy: how much of it is achieved is unknown.
    pub fn is_bound(&self) -> bool {
        match &self.change {
            // What a server does for itself has to be done.
            Change::Absent(absence) => absence.duty.is_some(),
            _ => !self.remedies.is_empty() && self.remedies.iter().all(|remedy| remedy.effect.at_most),
        }
    }

    /// Time saved, ns.
    pub fn saved_ns(&self) -> u64 {
        self.prediction.recorded.total_ns.saturating_sub(self.prediction.total_ns.value)
    }

    /// What it counts for in the order of advice, ns: what it saves if that is known, and less where it is a bound or
    /// takes work away.
    pub fn rank(&self) -> f64 {
        let counts = match &self.change {
            Change::Absent(absence) if absence.costs_by_locks_or_work && absence.evicts.is_none() => {
                ABSENCE * OF_PROGRAM
            }
            Change::Absent(absence) if absence.duty.is_some() => OF_PROGRAM,
            Change::Absent(_) => ABSENCE,
            // While others have requests, those of a lower class stay in the queue: to the others their program is as
            // good as absent.
            Change::Edge { effect, .. } if effect.edge == Edge::SchedulerQueue && self.is_against_others() => ABSENCE,
            Change::Edge { effect, of }
                if self.is_bound() && (is_of_program(effect.edge, of) || self.is_against_own_threads()) =>
            {
                OF_PROGRAM
            }
            _ if self.is_bound() => BOUND,
            _ => 1.0,
        };
        // What is certain of it may be the vague one: a faster disk, and a bound of the same effect.
        let mut counted = self.remedies.iter().filter(|remedy| remedy.effect.at_most == self.is_bound()).peekable();
        let is_vague = counted.peek().is_some() && counted.all(|remedy| remedy.vague);
        let vague = if self.is_bound() { VAGUE } else { MORE };
        counts * if is_vague { vague } else { 1.0 } * self.counted_ns()
    }

    /// The time that it saves, ns. Where others than an absent program lost enough to matter, its absence counts as if
    /// they had lost all.
    fn counted_ns(&self) -> f64 {
        let SlowLatencies { total_ns, .. } = self.prediction.recorded;
        let matters = matches!(self.change, Change::Absent(_)) && total_ns as f64 >= OTHERS * self.of_ns as f64;
        if matters { self.saved() * self.of_ns as f64 } else { self.saved_ns() as f64 }
    }

    /// Whether a remedy is one against other programs than those that waited.
    fn is_against_others(&self) -> bool {
        self.remedies.iter().any(|remedy| remedy.requires.others == Some(true))
    }

    /// Whether those that waited kept one another waiting, and are to be fewer: what a program does to itself.
    fn is_against_own_threads(&self) -> bool {
        self.remedies.iter().any(|remedy| remedy.requires.others == Some(false))
    }

    /// Share of the time of the operations that remain which it saves, 0 to 1.
    pub fn saved(&self) -> f64 {
        self.prediction.recorded.saved(self.prediction.total_ns.value)
    }
}

/// Whether the waits of an edge are for what a program does, rather than the kernel or a disk.
fn is_of_program(edge: Edge, of: &[WaitKind]) -> bool {
    let is_of_program = |kind: &WaitKind| kind.is_programs_lock();
    matches!(edge, Edge::Work | Edge::Timer | Edge::Peer) || edge == Edge::Lock && of.iter().all(is_of_program)
}

/// Predicts what each remedy that fits would bring, and what the absence of the worst culprits would: to the slow
/// operations, or to the shorter waits where these cost the recorded command more.
pub fn advise(explanation: &Explanation, waits: &Waits, remedies: &Remedies, run: &RunDescription) -> Advice {
    let (behind, limits) = (behind(waits), known_limits(waits));
    let waits = waits.short.as_deref().unwrap_or(waits);
    let (mut choices, mut memory_limit_is_unknown) = (Vec::<Choice>::new(), false);
    let (lost, total_ns) = (lost(waits), recorded(waits).durations_ns() / waits.stands_for.max(1));
    for remedy in remedies.all() {
        let calls = |cause: &Cause| lost.get(cause).is_some_and(|ns| *ns as f64 >= LEAST * total_ns as f64);
        if !remedy.causes.iter().any(calls) {
            continue;
        }
        let place = Place::of(explanation, waits, &remedy.causes, run);
        memory_limit_is_unknown |= place.lacks_memory_limit(remedy);
        if remedy.requires.met_by(&place.facts) {
            add(&mut choices, remedy, place, waits);
        }
    }
    choices.extend(absences(explanation, waits, evictor(waits)).into_iter().map(|absence| {
        let (change, prediction) = (Change::Absent(absence), Prediction::default());
        Choice { change, remedies: Vec::new(), target: Target::default(), prediction, of_ns: 0 }
    }));
    let of_ns = recorded(waits).total_ns;
    let mut predictions = map(&choices, |choice| predict_from(waits, &choice.change, LEAST)).into_iter();
    choices.retain_mut(|choice| {
        let prediction = predictions.next().flatten();
        prediction.map(|prediction| (choice.prediction, choice.of_ns) = (prediction, of_ns)).is_some()
    });
    sort(&mut choices, concerned(explanation, waits).1.first());
    let of_short_waits = waits.are_short;
    let containers = explanation.containers.clone();
    Advice { of_short_waits, recorded: recorded(waits), behind, limits, memory_limit_is_unknown, containers, choices }
}

fn known_limits(waits: &Waits) -> Vec<KnownLimit> {
    let known = |&IoLimit { device, reads, bytes_per_s, per_s, is_estimated, .. }: &IoLimit| KnownLimit {
        device,
        reads,
        bytes_per_s,
        per_s,
        is_estimated,
    };
    waits.limited.iter().map(known).collect()
}

/// The most helpful choice first, and of each the remedy that fits best. `main_class`: the operations that lost the
/// most time.
fn sort(choices: &mut [Choice], main_class: Option<&ClassTimes>) {
    for choice in choices.iter_mut() {
        choice.remedies.sort_by_key(|remedy| {
            let is_specific = remedy.requires.is_specific();
            let is_for_main = main_class.is_some_and(|class| remedy.requires.operation.contains(&class.class));
            // Few CPUs for the task while others are idle are an oversight.
            let is_for_pinned = remedy.requires.pinned == Some(true);
            (!is_for_pinned, !is_specific, remedy.effect.at_most, !remedy.live, !is_for_main)
        });
    }
    let is_live = |choice: &Choice| choice.remedies.iter().any(|remedy| remedy.live);
    choices.sort_by(|a, b| b.rank().total_cmp(&a.rank()).then_with(|| is_live(b).cmp(&is_live(a))));
}

/// Time by cause, also of waits behind others: a lock is held by a task that a limit delays.
fn lost(waits: &Waits) -> HashMap<Cause, u64> {
    let mut lost: HashMap<Cause, u64> = HashMap::new();
    for &(path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        let path = &waits.paths[path as usize];
        for (at, step) in path.iter().enumerate() {
            if path[..at].iter().all(|before| before.cause != step.cause) {
                *lost.entry(step.cause).or_default() += ns;
            }
        }
    }
    lost
}

/// Adds a remedy, whose effect is predicted later.
fn add(choices: &mut Vec<Choice>, remedy: &Remedy, Place { mut target, limit, .. }: Place<'_>, waits: &Waits) {
    let Some(change) = change(remedy, limit, waits.dirtying.as_ref()) else { return };
    let remedy = with_words(remedy, &target);
    if let (Edge::Memory | Edge::Refault, Some(limit)) = (remedy.effect.edge, limit) {
        target.cgroup = Some(limit.cgroup.clone());
    }
    match choices.iter_mut().find(|choice| choice.change == change) {
        Some(choice) => choice.remedies.push(remedy),
        None => {
            let prediction = Prediction::default();
            choices.push(Choice { change, remedies: vec![remedy], target, prediction, of_ns: 0 });
        }
    }
}

/// What people read of it names what it is applied to.
fn with_words(remedy: &Remedy, target: &Target) -> Remedy {
    let mut named = Remedy { title: target.words(&remedy.title), ..remedy.clone() };
    if let remedy::RemedyAction::Manual { apply, revert, .. } = &mut named.change {
        (*apply, *revert) = (target.words(apply), target.words(revert));
    }
    named
}

/// Who filled the memory cgroup of the operations that read.
fn evictor(waits: &Waits) -> Option<Absence> {
    let causes = [Cause::IoThrottle, Cause::Device, Cause::SchedulerQueue, Cause::RequestWait, Cause::PageFault];
    limit_of(waits, most_stalled_cgroup(waits, &causes).as_deref())?.evictor()
}
