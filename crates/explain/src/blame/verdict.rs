//! Findings: sums, chains and root blockers as they are given out.

pub(crate) mod accounting;
pub(crate) mod breakdown;
pub(crate) mod builder;
pub(crate) mod conclude;
pub(crate) mod convoy;
pub(crate) mod explanation;
pub(crate) mod failures;
pub(crate) mod in_scope;
pub(crate) mod lanes;
pub(crate) mod links;
pub(crate) mod lost_time;
pub(crate) mod only_slept;
pub(crate) mod operation_chain;
pub(crate) mod part;
pub(crate) mod request_life;
pub(crate) mod rests_on;
pub(crate) mod served;
pub(crate) mod set;
pub(crate) mod short_waits;
pub(crate) mod sleeps;
pub(crate) mod totals;
pub(crate) mod untraced;
pub(crate) mod wait_graph;
pub(crate) mod wording;

#[cfg(test)]
mod tests;
