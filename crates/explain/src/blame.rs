//! Explains why slow operations were slow. docs/BLAME.md describes the rules.

mod accounting;
mod builder;
mod cause;
mod chain;
mod culprits;
mod disks;
mod explanation;
mod losses;
mod names;
mod operations;
mod phases;
mod request;
mod rows;
mod rules;
mod run_index;
mod short;
mod slot;
mod stacks;
mod tasks;
mod timeline;
mod timelines;
mod totals;
mod wording;

#[cfg(test)]
mod tests;

pub use accounting::{Accounting, OperationAccount, Piece};
pub use builder::Blame;
pub use cause::{Cause, Evidence, EvidenceTimes};
pub use explanation::{CauseTime, ClassTimes, Culprit, Explanation, Link, Losses, RequestLife, Stall, StallCause, Who};
