//! Explains why slow operations were slow. docs/BLAME.md describes the rules.

mod accounting;
mod asynchronous;
mod awaited;
mod beneath;
mod builder;
mod cause;
mod chain;
mod children;
mod client_requests;
mod convoy;
mod culprits;
mod dirty_limit;
mod dirtying;
mod disks;
mod explanation;
mod holder;
mod in_scope;
mod interrupted;
mod io_limits;
mod known;
mod lanes;
mod links;
mod lock_turns;
mod losses;
mod memory_limits;
mod missing;
mod names;
mod old_requests;
mod operation_chain;
mod operations;
mod part;
mod parties;
mod path;
mod phases;
mod piece;
mod pinned;
mod queues;
mod request;
mod request_life;
mod rows;
mod rules;
mod run_index;
mod scope;
mod series;
mod served;
mod server_requests;
mod short;
mod short_waits;
mod sleep;
mod sleeps;
mod slot;
mod stacks;
mod steal;
mod tasks;
mod timeline;
mod timelines;
mod times;
mod totals;
mod turns;
mod usage;
mod user_stacks;
mod wait_graph;
mod waker_wait;
mod who;
mod wording;

#[cfg(test)]
mod tests;

pub use accounting::{Accounting, OperationAccount};
pub use builder::Blame;
pub use cause::{Cause, Evidence, EvidenceTimes};
pub use disks::knows_device;
pub use explanation::{
    CauseTime, ClassTimes, Convoy, Culprit, Explanation, Holds, Link, Part, Party, RequestLife, Scoped, Served,
    ServedTo, ShortWaits, Stall, StallCause,
};
pub use lanes::{Lanes, RequestLane, TaskLane};
pub use memory_limits::is_of_limits;
pub use missing::Losses;
pub use operations::STOPPED;
pub use piece::Piece;
pub use scope::Scope;
pub use sleep::{Sleep, Sleeps, is_for_child};
pub use steal::STEAL;
pub use user_stacks::{UserFrame, UserStack};
pub use who::Who;
