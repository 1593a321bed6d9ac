//! Stacks of a dump (a hung-task report, SysRq, crash), classified by the rules for recorded stacks.

use model::wait_kind::WaitKind;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::stack_rules::{RANKS, StackRule};

/// What a stack waits for, by the stack rules (docs/EXPLAIN.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DumpWait {
    /// The cause.
    pub cause: Cause,
    /// What exactly.
    pub kind: WaitKind,
    /// It ends with the completion of a request that has been submitted.
    pub on_request: bool,
    /// The position of the function that says so.
    pub at: usize,
}

/// Classifies functions, the innermost first: the innermost match of each rank of rules, in the order of ranks. As in
/// recorded stacks, the functions of the scheduler and of locks, which put the task to sleep, must be left out: rules
/// on the innermost function mean the caller of these.
pub fn waits_of_dump(frames: &[&str]) -> Vec<DumpWait> {
    let of_rank = |rank: &&'static [StackRule]| {
        (0..frames.len()).find_map(|at| {
            let rule = rank.iter().find(|rule| rule.matches(frames, at))?;
            Some(DumpWait { cause: rule.cause, kind: rule.kind, on_request: rule.on_request, at })
        })
    };
    RANKS.iter().filter_map(of_rank).collect()
}
