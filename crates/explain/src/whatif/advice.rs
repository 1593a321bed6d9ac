//! Which remedies fit a run, and what each would bring.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::cause::Cause;
use model::effect::{Edge, Effect};
use model::run::RunDescription;
use remedy::{Facts, Remedies, Remedy, Target};

use super::change::{Absence, Change};
use super::spread::{Prediction, Spread, predict, recorded};
use crate::blame::{ClassTimes, Culprit, Explanation};
use crate::waits::{Behind, Waits, behind};

#[cfg(test)]
mod tests;

/// Remedies must save at least this share of the time to be named.
const LEAST: f64 = 0.01;
/// Culprits whose absence is predicted.
const CULPRITS: usize = 2;

/// What would help, the most helpful first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advice {
    /// The slow operations as recorded.
    pub recorded: Spread,
    /// What is behind their waits, the most time first.
    pub behind: Vec<Behind>,
    /// What can be changed. Remedies with the same effect are one choice.
    pub choices: Vec<Choice>,
}

/// Something to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The change.
    pub change: Change,
    /// Remedies that bring it, those of a known effect and those that can be tried live first; empty for an absent culprit.
    pub remedies: Vec<Remedy>,
    /// What they are applied to.
    pub target: Target,
    /// What the slow operations would have taken.
    pub prediction: Prediction,
}

impl Choice {
    /// Whether the prediction is a bound for every remedy: how much of it is achieved is unknown.
    pub fn is_bound(&self) -> bool {
        !self.remedies.is_empty() && self.remedies.iter().all(|remedy| remedy.effect.at_most)
    }

    /// Time saved, ns.
    pub fn saved_ns(&self) -> u64 {
        self.prediction.recorded.total_ns.saturating_sub(self.prediction.total_ns.value)
    }

    /// Share of the time of the operations that remain which it saves, 0 to 1.
    pub fn saved(&self) -> f64 {
        self.saved_ns() as f64 / self.prediction.recorded.total_ns.max(1) as f64
    }
}

/// Predicts what each remedy that fits would bring, and what the absence of the worst culprits would.
pub fn advise(explanation: &Explanation, waits: &Waits, remedies: &Remedies, run: &RunDescription) -> Advice {
    let mut choices: Vec<Choice> = Vec::new();
    let (lost, total_ns) = (lost(waits), recorded(waits).total_ns / waits.stands_for.max(1));
    for remedy in remedies.all() {
        let calls = |cause: &Cause| lost.get(cause).is_some_and(|ns| *ns as f64 >= LEAST * total_ns as f64);
        if !remedy.causes.iter().any(calls) {
            continue;
        }
        let place = Place::of(explanation, waits, &remedy.causes, run);
        if remedy.requires.met_by(&place.facts) {
            add(&mut choices, remedy, place.target, waits);
        }
    }
    choices.extend(absences(explanation, waits).into_iter().map(|absence| {
        let change = Change::Absent(absence);
        Choice { prediction: predict(waits, &change), change, remedies: Vec::new(), target: Target::default() }
    }));
    choices.retain(|choice| choice.saved() >= LEAST);
    for choice in &mut choices {
        choice
            .remedies
            .sort_by_key(|remedy| (remedy.effect.at_most, !remedy.live, !is_for_main_operation(explanation, remedy)));
    }
    let is_live = |choice: &Choice| choice.remedies.iter().any(|remedy| remedy.live);
    choices.sort_by_key(|choice| (Reverse(choice.saved_ns()), choice.is_bound(), !is_live(choice)));
    Advice { recorded: recorded(waits), behind: behind(waits), choices }
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

/// The operations whose waits are replayed ([`crate::blame::Accounting::waits`]): those of a recorded command that stalled, else
/// all. A neighbour's culprits and disks are not the command's.
fn concerned(explanation: &Explanation) -> (&[Culprit], &[ClassTimes]) {
    match explanation.command.as_ref().filter(|part| part.operations > 0) {
        Some(part) => (&part.culprits, &part.classes),
        None => (&explanation.culprits, &explanation.classes),
    }
}

/// Whether it is meant for the kind of operation that lost the most time.
fn is_for_main_operation(explanation: &Explanation, remedy: &Remedy) -> bool {
    concerned(explanation).1.first().is_some_and(|class| remedy.requires.operation.contains(&class.class))
}

fn add(choices: &mut Vec<Choice>, remedy: &Remedy, target: Target, waits: &Waits) {
    let effect = Effect { at_most: false, ..remedy.effect };
    let change = Change::Edge { effect, of: remedy.of.clone() };
    match choices.iter_mut().find(|choice| choice.change == change) {
        Some(choice) => choice.remedies.push(remedy.clone()),
        None => {
            let prediction = predict(waits, &change);
            choices.push(Choice { change, remedies: vec![remedy.clone()], target, prediction });
        }
    }
}

/// Where the time of some causes was lost, and what is known of that place.
struct Place {
    facts: Facts,
    target: Target,
}

impl Place {
    fn of(explanation: &Explanation, waits: &Waits, causes: &[Cause], run: &RunDescription) -> Place {
        let of_causes = |culprit: &&Culprit| causes.contains(&culprit.cause);
        let (all, classes) = concerned(explanation);
        let culprits = || all.iter().filter(of_causes);
        let of_waits = || {
            let mut steps = waits.paths.iter().flatten().filter(|step| causes.contains(&step.cause));
            steps.find_map(|step| step.device)
        };
        let number = culprits().find_map(|culprit| culprit.device).or_else(of_waits);
        let disk = number.and_then(|number| run.device(number));
        let file_system = culprits().find_map(|culprit| culprit.file_system.as_deref());
        let (kind, mount) = file_system.and_then(|words| words.split_once(" on ")).unzip();
        let has_cause = |times: &[crate::blame::CauseTime]| times.iter().any(|time| causes.contains(&time.cause));
        let classes = classes.iter().filter(|class| has_cause(&class.causes));
        Place {
            facts: Facts {
                scheduler: disk.and_then(|disk| disk.scheduler.clone()),
                file_system: kind.map(str::to_owned),
                rotational: disk.and_then(|disk| disk.rotational),
                cgroup_version: run.limits.cgroup_version.or(run.host.cgroup_version),
                operations: classes.map(|class| class.class.clone()).collect(),
            },
            target: Target {
                device: disk.map(|disk| disk.name.clone()),
                number: number.map(|number| format!("{}:{}", number.major(), number.minor())),
                cgroup: most_stalled_cgroup(waits, causes),
                mount: mount.map(str::to_owned),
            },
        }
    }
}

/// The cgroup whose operations lost the most time to these causes.
fn most_stalled_cgroup(waits: &Waits, causes: &[Cause]) -> Option<String> {
    let mut lost: HashMap<u32, u64> = HashMap::new();
    for operation in &waits.operations {
        let has_cause = |path: u32| waits.paths[path as usize].iter().any(|step| causes.contains(&step.cause));
        let ns: u64 = operation.pieces.iter().filter(|(path, _)| has_cause(*path)).map(|(_, ns)| ns).sum();
        if let Some(cgroup) = operation.cgroup {
            *lost.entry(cgroup).or_default() += ns;
        }
    }
    let most = lost.into_iter().filter(|(_, ns)| *ns > 0).max_by_key(|(cgroup, ns)| (*ns, Reverse(*cgroup)));
    most.and_then(|(cgroup, _)| waits.names.get(cgroup as usize).cloned())
}

/// The worst culprits, with their shares; not those that cost themselves more than others, and not what the user wants done:
/// processes of the recorded command, and servers that the victims ask. A task that stopped or froze others uses nothing: what it did is
/// to be undone.
fn absences(explanation: &Explanation, waits: &Waits) -> Vec<Absence> {
    let mut own: HashMap<&str, u64> = HashMap::new();
    for operation in &waits.operations {
        if let Some(name) = operation.task.and_then(|name| waits.names.get(name as usize)) {
            *own.entry(name).or_default() += operation.duration_ns() * waits.stands_for;
        }
    }
    let mut sums: Vec<(Absence, u64)> = Vec::new();
    let is_wanted = |culprit: &&Culprit| {
        let is_of_command = culprit.task.as_ref().is_some_and(|task| waits.command.contains(&task.tid));
        let is_server =
            culprit.task.as_ref().and_then(|task| task.name.as_ref()).is_some_and(|name| waits.servers.contains(name));
        let undoes = [Edge::Server, Edge::Stopped, Edge::Frozen].iter().any(|edge| edge.changes(culprit.cause));
        is_of_command || is_server || undoes
    };
    for culprit in concerned(explanation).0.iter().filter(|culprit| !is_wanted(culprit)) {
        let Some(name) = culprit.task.as_ref().and_then(|task| task.name.clone()) else { continue };
        let share = (culprit.cause, culprit.device, culprit.time_ns as f64 / sum(explanation, culprit).max(1) as f64);
        let same =
            |(known, _): &&mut (Absence, u64)| known.task.as_ref() == Some(&name) && known.cgroup == culprit.cgroup;
        match sums.iter_mut().find(same) {
            Some((absence, ns)) => {
                absence.shares.push(share);
                *ns += culprit.time_ns;
            }
            None => {
                let absence = Absence { task: Some(name), cgroup: culprit.cgroup.clone(), shares: vec![share] };
                sums.push((absence, culprit.time_ns));
            }
        }
    }
    let costs_others = |(absence, ns): &(Absence, u64)| {
        let name = absence.task.as_deref().unwrap_or_default();
        !is_of_kernel(name) && *ns > own.get(name).copied().unwrap_or(0)
    };
    sums.retain(costs_others);
    sums.sort_by_key(|(_, ns)| Reverse(*ns));
    sums.into_iter().take(CULPRITS).map(|(absence, _)| absence).collect()
}

/// Time of all culprits with the same cause and disk.
fn sum(explanation: &Explanation, of: &Culprit) -> u64 {
    let same = |culprit: &&Culprit| culprit.cause == of.cause && culprit.device == of.device;
    concerned(explanation).0.iter().filter(same).map(|culprit| culprit.time_ns).sum()
}

/// Threads of the kernel work for others: nobody can do without them.
fn is_of_kernel(name: &str) -> bool {
    ["kworker", "jbd2/", "xfsaild", "xfs-", "btrfs-", "kswapd", "ksoftirqd", "loop"]
        .iter()
        .any(|kernel| name.starts_with(kernel))
}
