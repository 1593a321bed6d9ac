//! What is known of a run: rows, tasks, stacks, requests, disks, counters.

pub(crate) mod cause;
pub(crate) mod covered;
pub(crate) mod drain;
pub(crate) mod dump_stack;
pub(crate) mod intent;
pub(crate) mod known;
pub(crate) mod losses;
pub(crate) mod maybe;
pub(crate) mod missing;
pub(crate) mod names;
pub(crate) mod phases;
pub(crate) mod releases;
pub(crate) mod rows;
pub(crate) mod run_index;
pub(crate) mod scope;
pub(crate) mod stack_rules;
pub(crate) mod stacks;
pub(crate) mod steal;
pub(crate) mod stop;
pub(crate) mod storage;
pub(crate) mod task_id;
pub(crate) mod tasks;
pub(crate) mod times;
pub(crate) mod user_stacks;
pub(crate) mod woken;

#[cfg(test)]
mod tests;
