//! One rule on stacks, and how it is matched.

use model::wait_kind::WaitKind;

use super::pattern::any_fits;
use crate::blame::facts::cause::Cause;

/// Stacks that mean a cause.
#[derive(Debug)]
pub(crate) struct StackRule {
    /// One of these functions is on the stack. A leading or trailing `*` matches any text.
    pub(crate) frames: &'static [&'static str],
    /// Its caller is one of these; empty: any caller.
    pub(crate) callers: &'static [&'static str],
    /// It must be the innermost function: it calls functions that stacks omit, and other functions too.
    pub(crate) innermost: bool,
    pub(crate) cause: Cause,
    /// What the wait is for.
    pub(crate) kind: WaitKind,
    /// A request's completion may end the wait. The request's lifecycle then says more.
    pub(crate) on_request: bool,
    /// Kernel versions on which it was seen.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the tables and of docs/EXPLAIN.md"))]
    pub(crate) seen_on: &'static [&'static str],
}

/// Rules of equal rank: the rule that matches the innermost function wins.
pub(crate) type Rank = &'static [StackRule];

impl StackRule {
    /// Whether it matches the function at that position of a stack.
    pub(crate) fn matches(&self, frames: &[&str], at: usize) -> bool {
        let called = || frames.get(at + 1).is_some_and(|caller| any_fits(self.callers, &[caller]));
        (at == 0 || !self.innermost) && any_fits(self.frames, &frames[at..=at]) && (self.callers.is_empty() || called())
    }
}
