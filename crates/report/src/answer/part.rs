//! Whose operations an answer is about.

use explain::blame::{Cause, CauseTime, ClassTimes, Culprit, Explanation, Stall, VictimGroup};

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
        let is_of_it = |stall: &&Stall| !is_command || stall.of_command != Some(false);
        let mut stalls: Vec<&Stall> = self.explanation.stalls.iter().filter(is_of_it).collect();
        // Those of a recorded command come first in the list.
        stalls.sort_by_key(|stall| std::cmp::Reverse(stall.duration_ns));
        stalls.into_iter()
    }

    /// Its processes, those with the most time first.
    pub(super) fn groups(&self) -> Vec<&'a VictimGroup> {
        let is_command = self.is_command();
        let is_of_it = |group: &&VictimGroup| !is_command || group.of_command != Some(false);
        let mut groups: Vec<&VictimGroup> = self.explanation.processes.iter().filter(is_of_it).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.wall_ns));
        groups
    }

    /// The part of a group's time in which clients of this part waited for it, ns.
    pub(super) fn again_of(&self, group: &VictimGroup) -> u64 {
        if self.is_command() { group.again_within_ns } else { group.again_ns }
    }

    /// The part of its time that counts for a client as well as for its server, ns.
    pub(super) fn again_ns(&self) -> u64 {
        self.wall_ns - self.once_ns()
    }

    /// Its time, each wait counted once, ns.
    pub(super) fn once_ns(&self) -> u64 {
        self.causes.iter().map(CauseTime::once_ns).sum::<u64>().min(self.wall_ns)
    }

    /// Its time with a cause, each wait counted once, ns.
    pub(super) fn once_of(&self, cause: Cause) -> u64 {
        self.causes.iter().find(|time| time.cause == cause).map_or(0, CauseTime::once_ns)
    }

    /// A time as a part of all of its time.
    pub(super) fn share_of(&self, time_ns: u64) -> f64 {
        time_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// A time as a part of its time, where each wait counts once in both.
    pub(super) fn share_of_once(&self, once_ns: u64) -> f64 {
        once_ns as f64 / self.once_ns().max(1) as f64
    }
}
