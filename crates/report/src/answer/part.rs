//! Whose operations an answer is about.

use explain::blame::{Cause, CauseTime, ClassTimes, Culprit, Explanation, Stall, VictimGroup};
use model::system_call::{traits, traits_of};

/// Least part of a time that is named beside others.
pub(super) const LEAST: f64 = 0.05;

/// Whose operations an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerScope {
    /// Those of the recorded command, and of what `--follow` names.
    Command,
    /// Those of the load.
    Load,
    /// Those that the scope's options name.
    Selection,
    /// All of the machine.
    Machine,
}

impl AnswerScope {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AnswerScope::Command => "command",
            AnswerScope::Load => "load",
            AnswerScope::Selection => "selection",
            AnswerScope::Machine => "machine",
        }
    }
}

/// These operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) scope: AnswerScope,
    pub(super) explanation: &'a Explanation,
    pub(super) operations: u64,
    pub(super) wall_ns: u64,
    pub(super) causes: &'a [CauseTime],
    pub(super) classes: &'a [ClassTimes],
    pub(super) culprits: &'a [Culprit],
}

impl<'a> Part<'a> {
    /// All operations of the machine, or those of a scope.
    pub(super) fn all(explanation: &'a Explanation) -> Part<'a> {
        Part {
            scope: if explanation.scoped.is_some() { AnswerScope::Selection } else { AnswerScope::Machine },
            explanation,
            operations: explanation.slow_operations,
            wall_ns: explanation.wall_ns,
            causes: &explanation.causes,
            classes: &explanation.classes,
            culprits: &explanation.culprits,
        }
    }

    /// Those of the recorded command or the load, slow or not; `None` where neither was run.
    pub(super) fn of_command(explanation: &'a Explanation) -> Option<Part<'a>> {
        let command = explanation.command.as_ref()?;
        Some(Part {
            scope: if explanation.operations.is_some() { AnswerScope::Load } else { AnswerScope::Command },
            explanation,
            operations: command.operations,
            wall_ns: command.wall_ns,
            causes: &command.causes,
            classes: &command.classes,
            culprits: &command.culprits,
        })
    }

    /// Whether it is only a part of what was slow.
    fn is_command(&self) -> bool {
        matches!(self.scope, AnswerScope::Command | AnswerScope::Load)
    }

    /// Its slow operations that are described, the longest first.
    pub(super) fn stalls(&self) -> impl Iterator<Item = &'a Stall> + use<'a> {
        let is_command = self.is_command();
        self.explanation.stalls.iter().filter(move |stall| !is_command || stall.of_command != Some(false))
    }

    /// Its processes, those with the most time first.
    pub(super) fn groups(&self) -> Vec<&'a VictimGroup> {
        let is_command = self.is_command();
        let is_of_it = |group: &&VictimGroup| !is_command || group.of_command != Some(false);
        let mut groups: Vec<&VictimGroup> = self.explanation.processes.iter().filter(is_of_it).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.wall_ns));
        groups
    }

    /// Whether it did nothing but sleep or wait for children, which others that ran kept from going on: `record -- sleep 10` is about the machine.
    pub(super) fn only_slept(&self) -> bool {
        let mut large = self.classes.iter().filter(|class| self.share_of(class.wall_ns) >= LEAST);
        let sleeps =
            |class: &ClassTimes| traits_of(&class.class).has(traits::SLEEPS | traits::WAITS_FOR_CHILD | traits::VFORKS);
        let ran = |time: &CauseTime| time.cause.has(model::cause::traits::FOR_CPU | model::cause::traits::NO_WAIT);
        let others_ns = self.explanation.wall_ns - self.wall_ns.min(self.explanation.wall_ns);
        let short = &self.explanation.short_waits;
        let has_short = short.time_ns > 0 && !short.causes.first().is_some_and(ran);
        others_ns > 0 && !has_short && self.causes.first().is_some_and(ran) && large.all(sleeps)
    }

    /// Its time with a cause, ns.
    pub(super) fn time_ns(&self, cause: Cause) -> u64 {
        self.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.time_ns)
    }

    /// A time as a part of all of its time.
    pub(super) fn share_of(&self, time_ns: u64) -> f64 {
        time_ns as f64 / self.wall_ns.max(1) as f64
    }
}
