//! Tables of the functions and tracepoints that mean each cause, to be read and extended.
//!
//! The kernel omits scheduler functions from the stacks of sleeping tasks (`stack_trace_save_tsk` skips the section
//! `.sched.text`). mutex_lock, down_write, io_schedule and wait_for_completion never appear: the innermost function is
//! their caller.

mod occasions;
mod pattern;
mod stack_rule;
mod stacks;

pub(crate) use occasions::occasion;
pub(crate) use pattern::any_fits;
pub(crate) use stack_rule::StackRule;
pub(crate) use stacks::RANKS;
