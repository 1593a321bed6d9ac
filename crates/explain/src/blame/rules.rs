//! Which functions and tracepoints mean which cause: tables, to be read and extended.
//!
//! The kernel leaves functions of its scheduler out of the stacks of sleeping tasks (`stack_trace_save_tsk` skips the
//! section `.sched.text`): mutex_lock, down_write, io_schedule, wait_for_completion and the like never appear, and
//! the innermost function is the one that called them.

mod announcements;
mod pattern;
mod stack_rule;
mod stacks;

pub(super) use announcements::{ANNOUNCEMENTS, Announcement, announcement};
pub(super) use pattern::any_fits;
pub(super) use stack_rule::Rule;
pub(super) use stacks::RANKS;
