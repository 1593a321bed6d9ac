//! Explains why slow operations were slow. docs/EXPLAIN.md describes the rules.

mod culprits;
mod facts;
mod graph;
mod intents;
mod operations;
mod rule;
mod rules;
mod timeline;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub use culprits::culprit::Culprit;
pub use facts::cause::CauseTime;
pub use facts::cause::{Cause, Evidence, EvidenceTimes};
pub use facts::dump_stack::{DumpWait, waits_of_dump};
pub use facts::missing::{Losses, Untraced};
pub use facts::scope::Scope;
pub use facts::steal::STEAL;
pub use facts::storage::disks::knows_device;
pub use facts::storage::memory_limits::is_of_limits;
pub use facts::task_id::TaskId;
pub use facts::user_stacks::{UserFrame, UserStack};
pub(crate) use operations::PAGE_FAULT;
pub use operations::STOPPED;
pub use operations::sleep::{OtherEnd, Sleep, Sleeps, TaskState, is_for_child};
pub use rule::{Example, Rule};
pub use rules::rules;
pub use timeline::piece::Piece;
pub use verdict::accounting::{Accounting, OperationAccount};
pub use verdict::builder::Blame;
pub use verdict::explanation::{
    ClassTimes, Convoy, Explanation, Holds, Link, Part, ProcessShortWaits, RequestLife, Scoped, Served, ServedTo,
    ShortWaits, Stall, StallCause, Unfinished, VictimGroup,
};
pub use verdict::failures::Failed;
pub use verdict::lanes::{Lanes, RequestLane, TaskLane};
pub use verdict::lost_time::LostTime;
pub use verdict::set::together;
