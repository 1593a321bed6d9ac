//! Why slow operations were slow. The rules are written down in docs/BLAME.md.

mod accounting;
mod builder;
mod cause;
mod chain;
mod culprits;
mod explanation;
mod known;
mod losses;
mod operations;
mod phases;
mod request;
mod rows;
mod rules;
mod short;
mod stacks;
mod sweep;
mod timeline;
mod totals;
mod wording;

#[cfg(test)]
mod tests;

pub use accounting::{Accounting, Brief, Piece};
pub use builder::Blame;
pub use cause::{Cause, Evidence, EvidenceTimes};
pub use explanation::{CauseTime, ClassTimes, Culprit, Explanation, Link, Losses, RequestLife, Stall, StallCause, Who};
